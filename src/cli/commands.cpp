#include "cli/commands.h"

#include "cli/bench_command.h"
#include "cli/checkpoint_diff_command.h"
#include "cli/checkpoint_export_command.h"
#include "cli/checkpoint_inspect_command.h"
#include "cli/checkpoint_prune_command.h"
#include "cli/checkpoint_verify_command.h"
#include "cli/collectives_command.h"
#include "cli/compare_command.h"
#include "cli/convert_command.h"
#include "cli/data_inspect_command.h"
#include "cli/data_pack_command.h"
#include "cli/data_tokenizer_train_command.h"
#include "cli/doctor_command.h"
#include "cli/generate_command.h"
#include "cli/launch_command.h"
#include "cli/memory_command.h"
#include "cli/plan_command.h"
#include "cli/study_command.h"
#include "cli/sweep_command.h"
#include "cli/trace_command.h"
#include "cli/train_command.h"
#include "cli/watch_command.h"

namespace sheaf::cli {

CommandList commands() {
  CommandList list;
  list.push_back(std::make_unique<TrainCommand>());
  list.push_back(std::make_unique<GenerateCommand>());
  list.push_back(std::make_unique<PlanCommand>());
  list.push_back(std::make_unique<MemoryCommand>());
  list.push_back(std::make_unique<TraceCommand>());
  list.push_back(std::make_unique<BenchCommand>());
  list.push_back(std::make_unique<SweepCommand>());
  list.push_back(std::make_unique<StudyCommand>());
  list.push_back(std::make_unique<CompareCommand>());
  list.push_back(std::make_unique<WatchCommand>());
  list.push_back(std::make_unique<ConvertCommand>());
  list.push_back(std::make_unique<CheckpointInspectCommand>());
  list.push_back(std::make_unique<CheckpointVerifyCommand>());
  list.push_back(std::make_unique<CheckpointDiffCommand>());
  list.push_back(std::make_unique<CheckpointExportCommand>());
  list.push_back(std::make_unique<CheckpointPruneCommand>());
  list.push_back(std::make_unique<DataPackCommand>());
  list.push_back(std::make_unique<DataInspectCommand>());
  list.push_back(std::make_unique<DataTokenizerTrainCommand>());
  list.push_back(std::make_unique<LaunchCommand>());
  list.push_back(std::make_unique<CollectivesCommand>());
  list.push_back(std::make_unique<DoctorCommand>());
  return list;
}

}  // namespace sheaf::cli
