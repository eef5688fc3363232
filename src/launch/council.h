#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

#include "launch/failure.h"
#include "launch/messages.h"
#include "launch/roster.h"

namespace sheaf::launch {

// Note [Generations]: a job runs in generations. The ranks of one start together, with a number
// that all know (SHEAF_GENERATION, and TORCHELASTIC_RESTART_COUNT, which is part of every name in
// the store, so that a rank of an older one meets nobody), and end together: by themselves, because
// one of them or a node failed, or because they were asked to make way for another number of ranks.
//
// The launcher of node 0 decides who takes part (the roster) and what follows a generation: another
// one, or the end. The others have one key each in the store, in which they say that they live and
// how many ranks they can start. Of a generation G the store has, below sheaf/launch/:
//   roster        the newest roster, by node 0
//   failure/G     the first failure of any node, by whoever has it
//   regroup/G     node 0 asks all ranks to save and end
//   ended/G/NODE  no rank of that node is left, and how that went
//   verdict       no other generation follows, by node 0
//   gone/NODE     that launcher has read the verdict
// A launcher whose key stands still has gone: its node's ranks have failed.

/// What follows a generation: another one, or the end of the job.
struct Next {
  std::optional<Roster> roster{};
  /// The code that the launcher exits with; the sentence, where it has one, is news.
  Failure verdict{};
};

/// What this node's launcher hears from the others, and tells them.
class Council {
 public:
  virtual ~Council() = default;

  /// Adds what can be read when there may be news.
  virtual void add_to(std::vector<pollfd>& entries) const = 0;
  /// Takes the news in. Does not block.
  virtual void look() = 0;
  /// Whether look() must be called now and then although nothing can be read.
  [[nodiscard]] virtual bool has_deadlines() const = 0;

  /// Why the generation has to end here, too; nothing while it need not.
  [[nodiscard]] virtual const std::optional<Failure>& failure() const = 0;
  /// Whether the ranks shall save and make way for another generation.
  [[nodiscard]] virtual bool wants_regroup() const = 0;
  /// Tells the others why this generation ends.
  virtual void report_failure(const Failure& failure) = 0;
  /// Tells the others that no rank of this node is left.
  virtual void report_end(const NodeEnd& end) = 0;

  /// Returns what comes next as soon as that is known. Of a verdict it is the last word.
  [[nodiscard]] virtual std::optional<Next> next() = 0;
  /// The job ends on this node, whatever the others do.
  virtual void leave(const Failure& why) = 0;
  /// Whether nobody has to be waited for any more, once the verdict is known.
  [[nodiscard]] virtual bool is_settled() = 0;
};

}  // namespace sheaf::launch
