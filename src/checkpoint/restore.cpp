#include "sheaf/checkpoint/restore.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>
#include <vector>

#include "checkpoint/disk.h"
#include "comm/texts.h"
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
  std::istringstream text(comm::broadcast_text(group, fmt::format("{}", fmt::join(own, " "))));
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 0; text >> step;) steps.push_back(step);
  return steps;
}

/// A checkpoint that is not to be taken again, and what is put behind its name.
struct PassedOver {
  std::int64_t step = 0;
  std::string_view ending;
};

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
      together(group_, [&] {
        if (is_first()) tidy_up(*step);
      });
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
      together(group_, [&] { reader.emplace(open_step(path_of_step(folder_, step))); });
      together(group_, [&] { load_(*reader); });
      return true;
    } catch (const Damaged& damaged) {
      passed_over_.push_back({step, kDamaged});
      warn(step, "cannot be loaded, going back to the one before", damaged.what());
    } catch (const IoError& error) {
      passed_over_.push_back({step, kUnreadable});
      warn(step, "cannot be loaded, going back to the one before", error.what());
    } catch (const UnknownVersion& version) {
      warn(step, "stays as it is, going back to the one before", version.what());
    }
    return false;
  }

  void warn(std::int64_t step, const char* what, const std::string& problem) {
    if (first_problem_.empty()) first_problem_ = problem;
    if (!is_first()) return;
    log::warning("checkpoint", fmt::format("{} {}: {}", name_of_step(step), what, problem));
  }

  /// Makes room for steps that are taken again, and leaves a link to what was loaded. Where that
  /// fails, a step cannot be saved or a link is wrong, and the run goes on.
  void tidy_up(std::int64_t loaded) const {
    Disk disk;
    for (const PassedOver& each : passed_over_) {
      try {
        set_aside(folder_, each.step, each.ending, disk);
      } catch (const IoError& error) {
        log::warning("checkpoint",
                     fmt::format("{} keeps its name: {}", name_of_step(each.step), error.what()));
      }
    }
    if (latest_leads_to(folder_, loaded)) return;
    try {
      point_latest(folder_, loaded, disk);
    } catch (const IoError& error) {
      log::warning("checkpoint", error.what());
    }
  }

  const std::string& folder_;
  const comm::Group& group_;
  const std::function<void(const Reader&)>& load_;
  std::vector<PassedOver> passed_over_;
  std::string first_problem_;
};

}  // namespace

std::optional<std::int64_t> restore_newest(const std::string& folder,
                                           const comm::Group& group,
                                           const std::function<void(const Reader&)>& load) {
  return Restoring(folder, group, load).run();
}

}  // namespace sheaf::checkpoint
