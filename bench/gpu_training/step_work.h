#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernel_classes.h"
#include "rows.h"

namespace sheaf::bench {

/// A linear layer: three products of the same size, forward and for both gradients.
struct Linear {
  std::string name;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  /// How many of them a step has.
  std::int64_t calls = 1;
};

/// Causal attention of one layer.
struct AttentionWork {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t length = 1;
  std::int64_t head_size = 1;
  std::int64_t calls = 1;
};

/// What nobody who takes a step can leave out.
struct StepWork {
  std::int64_t tokens = 0;
  /// By the rule of MFU: 6N + 12 L d T for each token.
  double rule_flops = 0;
  std::vector<Linear> linears;
  AttentionWork attention;
  /// Bytes that have to be read and written outside of products and attention.
  std::map<KernelClass, double> bytes;

  /// Returns what the products take, those inside attention not counted.
  [[nodiscard]] double product_flops() const;
};

[[nodiscard]] StepWork work_of(const Row& row);

}  // namespace sheaf::bench
