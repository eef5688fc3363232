#include "rank_file.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace sheaf::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kBetween{1};

std::string text_of(const StepRecord& step, int rank) {
  const PhaseTimes& phases = step.phases;
  const Json object = {{"rank", rank},
                       {"step", step.step},
                       {"seconds", step.time.count()},
                       {"forward", phases.forward.count()},
                       {"backward", phases.backward.count()},
                       {"exposed_communication", phases.exposed_communication.count()},
                       {"optimizer", phases.optimizer.count()},
                       {"data_wait", phases.data_wait.count()},
                       {"idle", phases.idle.count()},
                       {"allocated", step.memory.allocated.count},
                       {"peak_allocated", step.memory.peak_allocated.count},
                       {"resident", step.memory.resident.count}};
  return object.dump() + "\n";
}

}  // namespace

RankFile::RankFile(const std::string& folder, int rank) : rank_(rank) {
  if (folder.empty()) return;
  std::error_code error;
  fs::create_directories(fs::path(folder) / "ranks", error);
  if (!error) path_ = fs::path(folder) / "ranks" / fmt::format("rank_{}.json", rank);
}

void RankFile::write(const StepRecord& step) {
  const Clock::time_point now = Clock::now();
  if (path_.empty() || now < due_) return;
  due_ = now + kBetween;
  const fs::path unfinished = path_.string() + ".part";
  std::ofstream(unfinished) << text_of(step, rank_);
  std::error_code ignored;
  fs::rename(unfinished, path_, ignored);
}

}  // namespace sheaf::train
