#include "cli/commands.h"

#include "cli/collectives_command.h"
#include "cli/convert_command.h"
#include "cli/data_inspect_command.h"
#include "cli/data_pack_command.h"
#include "cli/data_tokenizer_train_command.h"
#include "cli/doctor_command.h"
#include "cli/generate_command.h"
#include "cli/launch_command.h"
#include "cli/memory_command.h"
#include "cli/plan_command.h"
#include "cli/train_command.h"

namespace sheaf::cli {

CommandList commands() {
  CommandList list;
  list.push_back(std::make_unique<TrainCommand>());
  list.push_back(std::make_unique<GenerateCommand>());
  list.push_back(std::make_unique<PlanCommand>());
  list.push_back(std::make_unique<MemoryCommand>());
  list.push_back(std::make_unique<ConvertCommand>());
  list.push_back(std::make_unique<DataPackCommand>());
  list.push_back(std::make_unique<DataInspectCommand>());
  list.push_back(std::make_unique<DataTokenizerTrainCommand>());
  list.push_back(std::make_unique<LaunchCommand>());
  list.push_back(std::make_unique<CollectivesCommand>());
  list.push_back(std::make_unique<DoctorCommand>());
  return list;
}

}  // namespace sheaf::cli
