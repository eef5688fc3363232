#include "checkpoint/sample_checkpoint.h"

#include <ATen/ATen.h>

#include "sheaf/checkpoint/folder.h"
#include "sheaf/checkpoint/restore.h"
#include "sheaf/comm/run_ranks.h"
#include "support/on_ranks.h"

namespace sheaf::testing {

using checkpoint::Contents;
using checkpoint::Part;
using checkpoint::TensorSpec;

Contents sample_contents(std::int64_t step) {
  return {.step = step,
          .weights = {{"embedding", at::kFloat, {37, 5}},
                      {"layer.weight", at::kFloat, {11, 7}},
                      {"layer.bias", at::kBFloat16, {7}},
                      {"scalar", at::kDouble, {}}},
          .state = {{"optimizer/exp_avg/embedding", at::kFloat, {37, 5}},
                    {"optimizer/exp_avg/layer.weight", at::kFloat, {11, 7}},
                    {"buffer/count", at::kLong, {3}},
                    {"empty", at::kFloat, {0, 4}}},
          .texts = {{"config.json", R"({"mine": 1})"}, {"tokenizer.json", "{}"}},
          .mesh = {{"replicate", 1}, {"shard", 1}},
          .run = R"({"note":"a run"})"};
}

at::Tensor sample_values(const TensorSpec& tensor, std::int64_t step) {
  const auto first = static_cast<std::int64_t>(std::hash<std::string>()(tensor.name) % 50);
  return at::arange(tensor.numel(), at::kLong)
      .add_(first + 3 * step)
      .remainder_(127)
      .to(tensor.dtype);
}

std::vector<Part> sample_parts(const Contents& contents, int rank, int ranks) {
  std::vector<Part> parts;
  for (const auto* tensors : {&contents.weights, &contents.state}) {
    for (const TensorSpec& tensor : *tensors) {
      const std::int64_t first = tensor.numel() * rank / ranks;
      const std::int64_t last = tensor.numel() * (rank + 1) / ranks;
      const at::Tensor values = sample_values(tensor, contents.step);
      parts.push_back({tensor.name, first, values.narrow(0, first, last - first)});
    }
  }
  return parts;
}

checkpoint::SaverOptions sample_options(const std::string& folder, const comm::Group& group) {
  return {.folder = folder, .group = group, .smallest_file = Bytes{400}};
}

void save_sample(const checkpoint::SaverOptions& options, std::int64_t step) {
  const Contents contents = sample_contents(step);
  checkpoint::Saver saver(options);
  saver.start(contents, sample_parts(contents, options.group.rank(), options.group.size()));
  require(saver.wait().has_value(), "nothing was saved");
}

void save_sample(const std::string& folder, std::int64_t step, int ranks) {
  comm::run_ranks(
      ranks, [&](const comm::Group& group) { save_sample(sample_options(folder, group), step); });
}

void require_sample(const checkpoint::Reader& reader, std::int64_t step) {
  const Contents contents = sample_contents(step);
  require(reader.manifest().step == step, "the checkpoint is of another step");
  for (const auto* tensors : {&contents.weights, &contents.state}) {
    for (const TensorSpec& tensor : *tensors) {
      const at::Tensor values = at::empty({tensor.numel()}, tensor.dtype);
      reader.read(tensor.name, 0, values);
      require_equal(values, sample_values(tensor, step), tensor.name);
    }
  }
}

std::int64_t restored_sample(const std::string& folder) {
  std::int64_t step = -1;
  comm::run_ranks(1, [&](const comm::Group& group) {
    const checkpoint::FolderLock lock(folder);
    checkpoint::remove_leftovers(folder);
    const auto restored =
        checkpoint::restore_newest(folder, group, [](const checkpoint::Reader& reader) {
          require_sample(reader, reader.manifest().step);
        });
    step = restored.value_or(-1);
  });
  return step;
}

}  // namespace sheaf::testing
