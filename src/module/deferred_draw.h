#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace sheaf::module {

/// One random fill that was written down. Note [Whose random numbers]
///
/// The numbers of a fill belong to the tensor it is written down for and follow from the seed and
/// that tensor's name. A copy made while everything is still deferred, such as the layers that a
/// Transformer clones, must get the same numbers though it has another name: if at the end of
/// construction two living tensors hold a draw, its numbers follow from the seed and from how many
/// draws came before it. If one of them was read before, from the latter alone, since there was no
/// seed yet. None of this depends on the rank.
class Draw {
 public:
  explicit Draw(std::uint64_t index) : index_(index) {}

  void share() { shared_ = true; }
  void fix() { fixed_ = true; }
  /// Returns what the generator starts from; `own` is used as long as the draw is not shared.
  [[nodiscard]] std::uint64_t key(std::uint64_t seed, std::uint64_t own) const;

 private:
  std::uint64_t index_;
  std::atomic<bool> shared_ = false;
  std::atomic<bool> fixed_ = false;
};

using DrawPtr = std::shared_ptr<Draw>;

/// Seed and name of the tensor that a replay is for; none when an operator reads it.
struct Owner {
  std::uint64_t seed = 0;
  std::string_view name;
};

/// Returns the key of the draw that is number `position` of its tensor, and remembers if it can no
/// longer become another one.
[[nodiscard]] std::uint64_t key_of(Draw& draw, std::size_t position, std::optional<Owner> owner);

/// What this thread is constructing; empty outside of DeferredConstruction.
class ConstructionScope {
 public:
  [[nodiscard]] static ConstructionScope& of_this_thread();

  [[nodiscard]] bool active() const { return depth_ > 0; }
  /// Returns whether this is the outermost of nested scopes.
  bool enter() { return depth_++ == 0; }
  /// Returns whether the outermost scope has ended.
  bool leave();

  [[nodiscard]] DrawPtr new_draw() { return std::make_shared<Draw>(num_draws_++); }
  /// Is to be told of draws that a second tensor has taken over.
  void was_copied(const DrawPtr& draw) { copied_.push_back(draw); }

 private:
  int depth_ = 0;
  std::uint64_t num_draws_ = 0;
  std::vector<std::weak_ptr<Draw>> copied_;
};

}  // namespace sheaf::module
