#include "cli/checkpoint_verify_command.h"

#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/checkpoint/find.h"
#include "cli/option_set.h"
#include "sheaf/base/units.h"
#include "sheaf/checkpoint/damaged.h"
#include "sheaf/checkpoint/reader.h"

namespace sheaf::cli {
namespace {

/// Returns all that is wrong with a checkpoint.
std::vector<std::string> problems_of(const std::string& path) {
  std::vector<std::string> problems;
  try {
    checkpoint::open_step(path).verify([&](const std::string& text) { problems.push_back(text); });
  } catch (const checkpoint::Damaged& damaged) {
    problems.emplace_back(damaged.what());
  } catch (const checkpoint::UnknownVersion& version) {
    problems.emplace_back(version.what());
  }
  return problems;
}

}  // namespace

void CheckpointVerifyCommand::declare(OptionSet& options) {
  options.positional("path", path_, "a checkpoint, or a run's folder of them");
  options.flag("json", json_, "print JSON");
}

int CheckpointVerifyCommand::run(Console& console) {
  nlohmann::json list = nlohmann::json::array();
  bool is_good = true;
  for (const std::string& path : find_checkpoints(path_)) {
    const std::vector<std::string> problems = problems_of(path);
    is_good = is_good && problems.empty();
    list.push_back({{"path", path}, {"problems", problems}});
    if (json_) continue;
    for (const std::string& problem : problems) console.out << "problem: " << problem << "\n";
    if (problems.empty()) console.out << path << ": every checksum is right\n";
  }
  if (json_) console.out << list.dump(2) << "\n";
  return is_good ? 0 : 1;
}

}  // namespace sheaf::cli
