#include "sheaf/hub/convert.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/place_of.h"
#include "sheaf/base/error.h"
#include "sheaf/hub/model_folder.h"

namespace sheaf::hub {
namespace {

constexpr std::int64_t kPiece = 1 << 20;
constexpr double kLargestHalf = 65504;

void check_range(const at::Tensor& values, const std::string& name) {
  const auto largest = values.abs().max().item<double>();
  if (!(largest > kLargestHalf)) return;
  throw UsageError(fmt::format("{} has values beyond the {} that fp16 can hold: take bf16, got {}",
                               name,
                               kLargestHalf,
                               largest));
}

void copy_tensor(const ModelFolder& from,
                 const checkpoint::TensorSpec& tensor,
                 at::ScalarType to_type,
                 FolderWriter& to) {
  const bool narrows = to_type == at::kHalf && tensor.dtype != at::kHalf;
  for (std::int64_t done = 0; done < tensor.numel(); done += kPiece) {
    const at::Tensor piece = at::empty({std::min(kPiece, tensor.numel() - done)}, tensor.dtype);
    from.read(tensor.name, done, piece);
    if (narrows) check_range(piece, tensor.name);
    to.write(tensor.name, done, piece);
  }
}

void check_names(const ConvertOptions& options) {
  if (options.from.empty() || options.to.empty()) {
    throw UsageError("convert needs two folders: --from DIR and --to DIR");
  }
  const std::filesystem::path from = place_of(options.from);
  const std::filesystem::path to = place_of(options.to);
  const auto [a, b] = std::mismatch(from.begin(), from.end(), to.begin(), to.end());
  if (a == from.end() || b == to.end()) {
    throw UsageError("--to must be another folder than --from, and neither inside the other, got " +
                     options.to);
  }
  check_target(options.to, options.overwrite);
}

}  // namespace

std::optional<at::ScalarType> scalar_type_of(WeightType type) {
  switch (type) {
    case WeightType::fp32:
      return at::kFloat;
    case WeightType::bf16:
      return at::kBFloat16;
    case WeightType::fp16:
      return at::kHalf;
    case WeightType::keep:
      break;
  }
  return std::nullopt;
}

Converted convert(const ConvertOptions& options) {
  check_names(options);
  const ModelFolder from(options.from);
  const std::optional<at::ScalarType> type = scalar_type_of(options.dtype);
  FolderContents contents{
      .config = type ? with_dtype(from.config_text(), *type) : from.config_text(),
      .parameters = from.parameters(),
      .companions_from = options.from};
  for (checkpoint::TensorSpec& tensor : contents.parameters) {
    tensor.dtype = type.value_or(tensor.dtype);
  }
  FolderWriter to(
      options.to, contents, {.shard_size = options.shard_size, .overwrite = options.overwrite});
  for (const checkpoint::TensorSpec& tensor : from.parameters()) {
    copy_tensor(from, tensor, type.value_or(tensor.dtype), to);
  }
  to.finish();
  return {.tensors = contents.parameters.size(), .files = to.num_files(), .bytes = to.total()};
}

}  // namespace sheaf::hub
