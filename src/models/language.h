#pragma once

#include <ATen/core/Tensor.h>

#include "sheaf/models/model.h"
#include "sheaf/models/options.h"

// What all language models do before their first block and after their last.

namespace sheaf::models {

/// Throws UsageError unless inputs are texts that the model can read, and targets, where defined,
/// have their shape. On the CPU tokens are checked, too; elsewhere that would mean to wait.
void check_texts(const at::Tensor& inputs, const at::Tensor& targets, const Shape& shape);

/// Throws UsageError unless positions, where defined, have the shape of the inputs and, on the CPU,
/// are places in texts of that length.
void check_positions(const at::Tensor& inputs, const at::Tensor& positions);
/// Throws UsageError unless the pass has counts for these texts, or none, and a cache that they fit
/// into, or none.
void check_pass(const at::Tensor& inputs, const at::Tensor& targets, const Pass& pass);

/// Returns the part of [texts, length, width] that the head needs: all of it for a loss and for all
/// logits, else [texts, width] of the last tokens that count.
[[nodiscard]] at::Tensor part_for_head(const at::Tensor& x,
                                       const at::Tensor& targets,
                                       const Pass& pass);

/// Tells the cache, where the pass has one, that its tokens have been read.
void end_pass(const at::Tensor& inputs, const Pass& pass);

/// Returns the sum of the losses, or logits where there are no targets. `weight` is the head's,
/// [vocabulary, width]. Unless `fused`, all logits exist at once.
[[nodiscard]] at::Tensor loss_or_logits(const at::Tensor& x,
                                        const at::Tensor& weight,
                                        const at::Tensor& targets,
                                        bool fused);

/// Returns the names of `count` blocks: `prefix` and their number.
[[nodiscard]] std::vector<std::string> block_names(std::string_view prefix, std::size_t count);

}  // namespace sheaf::models
