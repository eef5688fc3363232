#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sheaf::plan {

enum class Family { gpt2, llama };

/// The sizes of a language model that decide what it costs.
struct Architecture {
  Family family = Family::gpt2;
  std::int64_t layers = 0;
  std::int64_t width = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;
  /// Width inside the feed-forward part.
  std::int64_t hidden = 0;
  std::int64_t vocabulary = 0;
  /// Longest text in tokens.
  std::int64_t context = 0;
  double dropout = 0;
  /// Above 0 the weights of attention are made one by one, and kept.
  double attention_dropout = 0;
  /// Every so many layers one goes without rotary positions; 0: all have them.
  std::int64_t no_rope_interval = 0;
  bool tied_embeddings = true;
};

/// Stands for what is in no block.
inline constexpr int kNoBlock = -1;

struct Parameter {
  std::string name;
  std::int64_t numel = 0;
  int block = kNoBlock;
};

/// Returns the parameters in the order in which the model registers them.
[[nodiscard]] std::vector<Parameter> parameters_of(const Architecture& model);

[[nodiscard]] std::int64_t num_parameters(const Architecture& model);

}  // namespace sheaf::plan
