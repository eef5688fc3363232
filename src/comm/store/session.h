#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "greeting.h"

namespace sheaf::comm::store {

/// One connection as the store sees it; see Note [Greeting]. Never blocks.
class Session {
 public:
  enum class State {
    unknown,  // has said nothing yet
    greeted,  // has said hello, the proof is to come
    member,
    refused,  // does not know the secret, or does not speak this protocol
    ended,
  };

  Session(FileDescriptor socket, const Secret& secret);

  /// Reads what has come; returns the requests of a member that are whole.
  [[nodiscard]] std::vector<std::string> receive();
  /// Queues an answer to a member.
  void answer(std::string_view text);
  /// Writes as much as goes.
  void flush();
  void end() { state_ = State::ended; }

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool is_stranger() const {
    return state_ == State::unknown || state_ == State::greeted;
  }
  [[nodiscard]] bool is_over() const { return state_ == State::refused || state_ == State::ended; }
  [[nodiscard]] bool has_output() const { return !output_.empty(); }
  [[nodiscard]] const FileDescriptor& socket() const { return socket_; }
  [[nodiscard]] std::chrono::steady_clock::time_point since() const { return since_; }

  /// Who it is, once it has said so.
  std::string name;

 private:
  [[nodiscard]] std::size_t readable_bytes() const;
  void read_input();
  void greet();
  void check_proof();

  FileDescriptor socket_;
  const Secret& secret_;
  State state_ = State::unknown;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::string input_;
  std::string output_;
  std::optional<Greeting> greeting_;
  std::optional<Seal> requests_;
  std::optional<Seal> answers_;
};

}  // namespace sheaf::comm::store
