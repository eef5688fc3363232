#include "plan/ends.h"

#include <algorithm>
#include <utility>

#include "plan/layers.h"
#include "plan/parameter_places.h"

namespace sheaf::plan {
namespace {

std::int64_t head_numbers(const Pass& pass) { return pass.model.vocabulary * pass.model.width; }

/// As in nn::linear_cross_entropy.
std::int64_t chunk_rows(const Pass& pass) {
  const bool on_cpu = pass.setting.device == Device::cpu;
  constexpr std::int64_t kFewest = 64;
  const std::int64_t elements = on_cpu ? std::int64_t{1} << 21 : std::int64_t{1} << 27;
  const std::int64_t fitting = elements / pass.model.vocabulary / kFewest * kFewest;
  const std::int64_t few = pass.is_narrow() ? pass.model.width : pass.model.width / 3;
  const std::int64_t most = on_cpu ? fitting : std::max(pass.rows() / 4, few) / kFewest * kFewest;
  return std::min(std::max(std::min(fitting, most), kFewest), pass.rows());
}

/// The logits of one chunk, and what becomes of them.
void walk_chunk(const Pass& pass) {
  if (pass.setting.device == Device::gpu) {
    constexpr std::int64_t kColumns = 128;
    const std::int64_t stride = (pass.model.vocabulary + kColumns - 1) / kColumns * kColumns;
    pass.made(chunk_rows(pass) * stride * pass.element()).reset();
    return;
  }
  const std::int64_t numbers = chunk_rows(pass) * pass.model.vocabulary;
  const std::int64_t width = chunk_rows(pass) * pass.model.width;
  Held logits = pass.made(numbers * pass.element());
  Held gradient = logits;
  if (pass.is_narrow()) {
    const Held wide = pass.made(4 * numbers);
    gradient = pass.made(numbers * pass.element());
  }
  logits.reset();
  pass.made(width * pass.element()).reset();  // a part of the hidden gradient
  if (!pass.is_narrow()) return;
  const Held wide = pass.made(4 * (numbers + width));
  const Held product = pass.made(4 * head_numbers(pass));
}

std::size_t last_norm(const Pass& pass) { return first_of_block(pass.model, pass.model.layers); }

std::size_t head(const Pass& pass) {
  if (!pass.model.tied_embeddings) return last_norm(pass) + 1;
  return pass.model.family == Family::gpt2 ? std::size_t{gpt2::kTokens}
                                           : std::size_t{llama::kTokens};
}

}  // namespace

Held embed(const Pass& pass) {
  pass.walk.enter("embedding");
  Held tokens = pass.made(pass.width());
  if (pass.model.family == Family::llama) return tokens;
  Held sum = pass.made(pass.width());
  return dropout_forward(pass, std::move(sum), pass.model.width);
}

LossSaved loss_forward(const Pass& pass, Held x) {
  pass.walk.enter("loss");
  LossSaved saved{.x = std::move(x)};
  const Held hidden = pass.model.family == Family::gpt2 ? layer_norm_forward(pass, saved.statistics)
                                                        : rms_norm_forward(pass, saved.statistics);
  saved.of_hidden = pass.made(pass.width());
  if (!pass.engine.lend(head(pass), pass.exchanged)) {
    saved.of_weight = pass.made(4 * head_numbers(pass));
  }
  walk_chunk(pass);
  return saved;
}

LossGradients loss_backward(const Pass& pass, LossSaved saved) {
  pass.walk.enter("backward of the loss");
  if (pass.engine.takes_gradients_directly(pass.exchanged)) {
    saved.of_weight.reset();
  } else if (pass.is_narrow()) {
    saved.of_weight = pass.temporary(head_numbers(pass) * pass.element());
  }
  LossGradients out{.tokens = std::move(saved.of_weight)};
  if (!pass.model.tied_embeddings) {
    pass.gradient(last_norm(pass) + 1);
    out.tokens.reset();
  }
  out.x = pass.model.family == Family::gpt2
              ? layer_norm_backward(pass, std::move(saved.of_hidden), last_norm(pass))
              : rms_norm_backward(pass, std::move(saved.of_hidden), last_norm(pass));
  return out;
}

void embed_backward(const Pass& pass, Held gradient, Held of_tokens) {
  pass.walk.enter("backward of the embedding");
  const std::int64_t d = pass.model.width;
  Held whole;
  const bool is_placed =
      pass.setting.device == Device::gpu && pass.engine.takes_gradients_directly(pass.exchanged);
  if (pass.is_narrow() && !is_placed) {
    whole = pass.temporary(head_numbers(pass) * pass.element());
    // Added to the head's part in fp32.
    const bool is_widened = pass.setting.reduce != pass.setting.compute;
    if (pass.model.tied_embeddings && is_widened) pass.temporary(4 * head_numbers(pass)).reset();
  }
  if (pass.model.family == Family::llama) return pass.gradient(llama::kTokens);
  gradient = dropout_backward(pass, std::move(gradient), d);
  const Held summed = pass.temporary(pass.sequence() * d * pass.element());
  pass.gradient(gpt2::kTokens);
  of_tokens.reset();
  whole.reset();
  const Held padded = pass.temporary(pass.model.context * d * pass.element());
  pass.gradient(gpt2::kPositions);
}

}  // namespace sheaf::plan
