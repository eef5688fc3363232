#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "session.h"
#include "table.h"

namespace sheaf::comm::store {

/// A request that is answered once all keys are there, or at the limit.
struct Waiting {
  std::vector<std::string> keys;
  std::chrono::steady_clock::time_point limit;
  /// Answers with the first key's value.
  bool wants_value = false;
};

/// What members ask of a store, and who of them is lost.
class Requests {
 public:
  /// Answers a request of a member, or returns for what it waits. One that makes no sense ends the
  /// member's session.
  std::optional<Waiting> take(const std::string& request, Session& session);
  /// Answers if it can be; returns whether it did.
  bool try_to_answer(const Waiting& waiting, Session& session) const;
  /// A member that goes without a word is lost until it comes back.
  void on_end(const Session& session);

 private:
  void introduce(const std::string& name, Session& session);
  [[nodiscard]] std::string answer_of(const std::string& request, Session& session);

  Table table_;
  std::set<std::string> lost_;
};

}  // namespace sheaf::comm::store
