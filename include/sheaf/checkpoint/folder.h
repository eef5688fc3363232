#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// A run's folder of checkpoints holds one folder per checkpoint, step-00001000 and so on, and the
// link `latest` to the newest. Names with something behind the number are none of them: .unfinished
// is being written, .removed is being removed, .damaged was found to be damaged, and .unreadable
// could not be read when a run wanted to go on.

namespace sheaf::checkpoint {

class Disk;

inline constexpr std::string_view kLatestName = "latest";
inline constexpr std::string_view kUnfinished = ".unfinished";
inline constexpr std::string_view kRemoved = ".removed";
inline constexpr std::string_view kDamaged = ".damaged";
inline constexpr std::string_view kUnreadable = ".unreadable";

/// Returns "step-00001000".
[[nodiscard]] std::string name_of_step(std::int64_t step);
/// Returns the step that such a name has; nothing for any other name.
[[nodiscard]] std::optional<std::int64_t> step_of_name(std::string_view name);
[[nodiscard]] std::string path_of_step(const std::string& folder, std::int64_t step);

/// Returns the steps of all checkpoints, the oldest first, whether they are whole or not; none
/// where there is no such folder. Throws IoError.
[[nodiscard]] std::vector<std::int64_t> steps_in(const std::string& folder);

/// Returns whether the link `latest` leads to the checkpoint of this step.
[[nodiscard]] bool latest_leads_to(const std::string& folder, std::int64_t step);

/// Says what is wrong with the link `latest`; empty if it leads to the newest checkpoint, or if
/// there is neither.
[[nodiscard]] std::string problem_with_latest(const std::string& folder);

/// Which checkpoints are kept, besides the newest, which always is.
struct KeepOptions {
  /// The newest ones; 0: all.
  std::int64_t last = 0;
  /// All whose step is a multiple of this; 0: none.
  std::int64_t every = 0;
  /// The one with the lowest score.
  bool best = false;
};

struct Scored {
  std::int64_t step = 0;
  /// Such as the loss of an evaluation; unset where there was none.
  std::optional<double> score;
};

/// Returns the steps that are not kept; `all` is sorted by step.
[[nodiscard]] std::vector<std::int64_t> steps_to_remove(const std::vector<Scored>& all,
                                                        const KeepOptions& options);

/// Keeps others from writing checkpoints to a folder while it lives, also when it dies.
class FolderLock {
 public:
  /// Makes the folder where there is none. Throws UsageError if another process has it, IoError.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
};

/// Lets the link `latest` lead to a checkpoint. Throws IoError, and leaves it as it was then.
void point_latest(const std::string& folder, std::int64_t step, Disk& disk);

/// Gives a checkpoint a name that no run takes it by any more: `ending` behind its own, and a
/// number where there is such a one already. Throws IoError.
void set_aside(const std::string& folder, std::int64_t step, std::string_view ending, Disk& disk);

/// Removes a checkpoint. It stops being one first, so that it is never there in part. Throws
/// IoError.
void remove_checkpoint(const std::string& folder, std::int64_t step, Disk& disk);

/// Removes what a run left that was killed while it saved or removed. Whoever calls it holds the
/// lock. Throws IoError.
void remove_leftovers(const std::string& folder);

}  // namespace sheaf::checkpoint
