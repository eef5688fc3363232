#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace sheaf::comm {

/// Where a rank runs.
struct Identity {
  std::string host;
  /// Equal for processes that can see each other's process ids: same boot, same pid namespace.
  std::string pid_space;
  pid_t pid = 0;

  [[nodiscard]] static Identity own();
  [[nodiscard]] std::string str() const;
  /// Writes "rank 3 (pid 4242 on host)".
  [[nodiscard]] std::string describe(int world_rank) const;
  /// Reads what str() wrote.
  [[nodiscard]] static Identity parse(const std::string& text);
};

/// Knows which ranks of the world have ended: processes by handles of the kernel (no signals, no
/// messages), threads because they say so.
class Peers {
 public:
  /// For processes, in world-rank order. Ranks that cannot be seen (other hosts) never look ended.
  explicit Peers(std::vector<Identity> identities);
  /// For ranks that are threads of this process.
  explicit Peers(int num_threads);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(identities_.size()); }
  [[nodiscard]] const Identity& identity(int world_rank) const {
    return identities_[static_cast<std::size_t>(world_rank)];
  }
  /// Tells whether a rank is another process of this host.
  [[nodiscard]] bool is_near(int world_rank) const {
    return handles_[static_cast<std::size_t>(world_rank)] >= 0;
  }
  /// Tells whether all ranks run where processes can see each other.
  [[nodiscard]] bool one_host() const;
  /// Says that the thread which was `world_rank` has ended.
  void set_ended(int world_rank);
  /// Returns the first of `world_ranks` that has ended; waits up to `patience` for a process to do
  /// so.
  [[nodiscard]] std::optional<int> find_ended(const std::vector<int>& world_ranks,
                                              std::chrono::milliseconds patience = {}) const;
  /// Writes "rank 3 (pid 4242 on host)", or "rank 3" for a thread.
  [[nodiscard]] std::string describe(int world_rank) const;

 private:
  std::vector<Identity> identities_;
  /// Process handles; -1 for a rank that cannot be watched.
  std::vector<int> handles_;
  std::vector<std::atomic<bool>> ended_;
};

}  // namespace sheaf::comm
