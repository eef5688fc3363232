#pragma once

#include "sheaf/plan/architecture.h"

namespace sheaf::plan::testing {

inline Architecture small_gpt2() {
  return {.family = Family::gpt2,
          .layers = 4,
          .width = 64,
          .heads = 4,
          .kv_heads = 4,
          .head_size = 16,
          .hidden = 256,
          .vocabulary = 512,
          .context = 128};
}

inline Architecture small_llama() {
  return {.family = Family::llama,
          .layers = 4,
          .width = 64,
          .heads = 4,
          .kv_heads = 2,
          .head_size = 16,
          .hidden = 160,
          .vocabulary = 512,
          .context = 128,
          .no_rope_interval = 4,
          .tied_embeddings = false};
}

/// As published.
inline Architecture gpt2_large() {
  return {.family = Family::gpt2,
          .layers = 36,
          .width = 1280,
          .heads = 20,
          .kv_heads = 20,
          .head_size = 64,
          .hidden = 5120,
          .vocabulary = 50257,
          .context = 1024};
}

}  // namespace sheaf::plan::testing
