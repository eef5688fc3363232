#pragma once

#include <cstdint>
#include <optional>

#include "launch/failure.h"

namespace sheaf::launch {

struct RestartOptions {
  /// Failed generations that are followed by another.
  int max_restarts = 0;
  /// Failed generations in a row that may end without a new step; 0: any number.
  int max_fruitless = 3;
};

/// Decides whether a failed generation is followed by another. Pure bookkeeping.
class RestartPolicy {
 public:
  explicit RestartPolicy(RestartOptions options) : options_(options) {}

  /// A generation failed after its ranks had come to `furthest` (-1: they do not tell). Returns
  /// nothing where another one shall follow, or how the job ends; a sentence is added where the
  /// failure alone does not explain that.
  [[nodiscard]] std::optional<Failure> after(const Failure& failure, std::int64_t furthest);

  /// Whether the same slot has now failed for the second time without a new step in between.
  [[nodiscard]] bool slot_is_bad() const { return deaths_of_slot_ >= 2; }

 private:
  void note_progress(std::int64_t furthest);
  void note_slot(const Failure& failure);

  RestartOptions options_;
  int restarts_ = 0;
  int fruitless_ = 0;
  std::int64_t best_ = -1;
  Failure last_;
  int deaths_of_slot_ = 0;
};

}  // namespace sheaf::launch
