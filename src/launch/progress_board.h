#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "launch/file_descriptor.h"

namespace sheaf::launch {

/// Memory in which the ranks of this node leave their steps. What a rank has written is there also
/// when it was killed right after. It has no name in any folder: ranks inherit the descriptor.
class ProgressBoard {
 public:
  /// Throws IoError.
  explicit ProgressBoard(int ranks);
  ~ProgressBoard();
  ProgressBoard(const ProgressBoard&) = delete;
  ProgressBoard& operator=(const ProgressBoard&) = delete;

  /// What the variable SHEAF_PROGRESS of one rank says: descriptor and place.
  [[nodiscard]] std::string ticket(int index) const;
  [[nodiscard]] int fd() const { return file_.get(); }
  /// Returns what that rank reported last; nothing where it did not.
  [[nodiscard]] std::optional<std::int64_t> step(int index) const;
  /// Returns the furthest step of all; -1: nobody reported any.
  [[nodiscard]] std::int64_t furthest() const;

 private:
  int ranks_;
  FileDescriptor file_;
  std::byte* memory_ = nullptr;
};

/// How the memory is laid out: a mark, then one number per rank, which is its step + 1, or 0.
struct BoardLayout {
  static constexpr std::uint64_t kMark = 0x7368656166626472;  // "sheafbdr"
  static constexpr std::size_t bytes(int ranks) {
    return sizeof(std::uint64_t) + static_cast<std::size_t>(ranks) * sizeof(std::int64_t);
  }
  static std::atomic<std::int64_t>* entry(std::byte* memory, int index) {
    static_assert(sizeof(std::atomic<std::int64_t>) == sizeof(std::int64_t) &&
                      std::atomic<std::int64_t>::is_always_lock_free,
                  "processes share these numbers");
    return reinterpret_cast<std::atomic<std::int64_t>*>(memory + bytes(index));
  }
};

}  // namespace sheaf::launch
