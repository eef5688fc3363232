#include "checkpoint/folder_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/quoting.h"
#include "checkpoint/dtypes.h"
#include "sheaf/base/error.h"
#include "sheaf/checkpoint/weights.h"

namespace sheaf::checkpoint {

FolderPlan::FolderPlan(const Contents& contents, int ranks, Bytes smallest_file) {
  add(contents.weights, "model", ranks, smallest_file);
  num_weight_files_ = files_.size();
  add(contents.state, "state", ranks, smallest_file);
}

void FolderPlan::add(const std::vector<TensorSpec>& tensors,
                     std::string_view stem,
                     int ranks,
                     Bytes smallest_file) {
  if (tensors.empty()) return;
  std::int64_t total = 0;
  for (const TensorSpec& tensor : tensors) total += tensor.numel() * dtype_size(tensor.dtype);
  const Bytes limit{std::max(smallest_file.count, (total + ranks - 1) / ranks)};
  for (WeightFile& file : split_weights(tensors, limit, stem)) {
    // transformers does not read a file that has no format.
    SafetensorsPlan plan(std::move(file.tensors), {{"format", "pt"}});
    for (const TensorEntry& entry : plan.tensors()) add(entry);
    const int owner = static_cast<int>(files_.size()) % ranks;
    files_.push_back({std::move(file.name), std::move(plan), owner});
  }
}

void FolderPlan::add(const TensorEntry& entry) {
  if (!by_name_.emplace(entry.tensor.name, tensors_.size()).second) {
    throw UsageError(
        fmt::format("a checkpoint cannot hold two tensors named {}", in_quotes(entry.tensor.name)));
  }
  tensors_.push_back({files_.size(), entry});
}

std::size_t FolderPlan::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return found->second;
  throw UsageError(fmt::format("the checkpoint is to hold no tensor {}", in_quotes(name)));
}

std::string FolderPlan::index() const {
  if (num_weight_files_ < 2) return "";
  WeightMap map;
  std::int64_t total = 0;
  for (const PlannedTensor& tensor : tensors_) {
    if (tensor.file >= num_weight_files_) continue;
    map[tensor.entry.tensor.name] = files_[tensor.file].name;
    total += static_cast<std::int64_t>(tensor.entry.size);
  }
  return format_index(map, {total});
}

Bytes FolderPlan::bytes() const {
  std::uint64_t sum = 0;
  for (const PlannedFile& file : files_) sum += file.plan.size();
  return {static_cast<std::int64_t>(sum)};
}

}  // namespace sheaf::checkpoint
