#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sheaf::launch {

/// Text on its way to the launcher's stdout or stderr. Writes only what the reader takes at once,
/// so that a terminal or pipe which stands still never keeps the launcher from its signals.
class OutputStream {
 public:
  enum class State {
    open,
    /// The reader went away; text is dropped from then on.
    broken,
    /// Writing failed otherwise (a full disk, no such descriptor); dropped as well.
    failed,
  };

  /// Does not own `fd`.
  explicit OutputStream(int fd);

  void append(std::string_view text);
  /// Writes what can be written without blocking.
  void flush();

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool is_empty() const { return written_ == pending_.size(); }
  /// More should not be read from ranks until some of this is written.
  [[nodiscard]] bool is_full() const { return pending_.size() - written_ > kFull; }

 private:
  static constexpr std::size_t kFull = 1 << 20;

  [[nodiscard]] bool can_write() const;
  [[nodiscard]] std::string_view next_chunk() const;
  void drop(State state);

  int fd_;
  bool is_file_;
  State state_ = State::open;
  std::string pending_;
  std::size_t written_ = 0;
};

}  // namespace sheaf::launch
