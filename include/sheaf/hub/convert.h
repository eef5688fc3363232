#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "sheaf/base/options.h"
#include "sheaf/base/units.h"
#include "sheaf/hub/folder_writer.h"

namespace sheaf::hub {

/// Type of written weights; `keep`: the one that each of them has.
enum class WeightType { keep, fp32, bf16, fp16 };

constexpr auto enum_names(WeightType) {
  return std::array{EnumName{"keep", WeightType::keep},
                    EnumName{"fp32", WeightType::fp32},
                    EnumName{"bf16", WeightType::bf16},
                    EnumName{"fp16", WeightType::fp16}};
}

/// Returns the type that is named; nothing for `keep`.
[[nodiscard]] std::optional<at::ScalarType> scalar_type_of(WeightType type);

struct ConvertOptions {
  std::string from;
  std::string to;
  WeightType dtype = WeightType::keep;
  Bytes shard_size = kShardSize;
  bool overwrite = false;
};

struct Converted {
  std::size_t tensors = 0;
  std::size_t files = 0;
  Bytes bytes;
};

/// Reads a model's folder and writes it anew, a small piece at a time. Unknown fields of
/// config.json stay; the tokenizer goes along. Throws UsageError, IoError; then `to` is as it was.
Converted convert(const ConvertOptions& options);

}  // namespace sheaf::hub
