#include "sheaf/checkpoint/restore.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>
#include <vector>

#include "checkpoint/disk.h"
#include "sheaf/base/log.h"
#include "sheaf/checkpoint/agree.h"
#include "sheaf/checkpoint/damaged.h"
#include "sheaf/checkpoint/folder.h"

namespace sheaf::checkpoint {
namespace {

/// Returns the steps that rank 0 sees, on all ranks.
std::vector<std::int64_t> agreed_steps(const std::string& folder, const comm::Group& group) {
  std::vector<std::int64_t> own;
  together(group, [&] {
    if (group.rank() == 0) own = steps_in(folder);
  });
  std::istringstream text(broadcast_text(group, fmt::format("{}", fmt::join(own, " "))));
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 0; text >> step;) steps.push_back(step);
  return steps;
}

/// A folder may have been renamed.
void check_step(const Reader& reader, std::int64_t step) {
  if (reader.manifest().step == step) return;
  throw Damaged(fmt::format("{}: it was saved at step {}", reader.path(), reader.manifest().step));
}

class Restoring {
 public:
  Restoring(const std::string& folder,
            const comm::Group& group,
            const std::function<void(const Reader&)>& load)
      : folder_(folder), group_(group), load_(load) {}

  std::optional<std::int64_t> run() {
    const std::vector<std::int64_t> steps = agreed_steps(folder_, group_);
    if (steps.empty()) return std::nullopt;
    warn_of_latest();
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      if (!try_step(*step)) continue;
      together(group_, [&] { set_aside(); });
      return *step;
    }
    throw Error(
        fmt::format("none of the {} checkpoints in {} can be loaded: move them away to start anew; "
                    "the newest: {}",
                    steps.size(),
                    folder_,
                    first_problem_));
  }

 private:
  [[nodiscard]] bool is_first() const { return group_.rank() == 0; }

  void warn_of_latest() const {
    if (!is_first()) return;
    const std::string problem = problem_with_latest(folder_);
    if (!problem.empty()) log::warning("checkpoint", problem);
  }

  bool try_step(std::int64_t step) {
    try {
      std::optional<Reader> reader;
      together(group_, [&] {
        reader.emplace(path_of_step(folder_, step));
        check_step(*reader, step);
      });
      together(group_, [&] { load_(*reader); });
      return true;
    } catch (const Damaged& damaged) {
      damaged_.push_back(step);
      pass_over(step, damaged.what());
    } catch (const IoError& error) {
      pass_over(step, error.what());
    }
    return false;
  }

  void pass_over(std::int64_t step, const std::string& problem) {
    if (first_problem_.empty()) first_problem_ = problem;
    if (!is_first()) return;
    log::warning(
        "checkpoint",
        fmt::format(
            "{} cannot be loaded, going back to the one before: {}", name_of_step(step), problem));
  }

  void set_aside() const {
    if (!is_first()) return;
    Disk disk;
    for (const std::int64_t step : damaged_) {
      const std::string path = path_of_step(folder_, step);
      disk.remove(path + std::string(kSetAside));
      disk.rename(path, path + std::string(kSetAside));
    }
  }

  const std::string& folder_;
  const comm::Group& group_;
  const std::function<void(const Reader&)>& load_;
  std::vector<std::int64_t> damaged_;
  std::string first_problem_;
};

}  // namespace

std::optional<std::int64_t> restore_newest(const std::string& folder,
                                           const comm::Group& group,
                                           const std::function<void(const Reader&)>& load) {
  return Restoring(folder, group, load).run();
}

}  // namespace sheaf::checkpoint
