#include "sheaf/train/evaluate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "models/evaluation_mode.h"
#include "sheaf/data/loader.h"
#include "sheaf/module/forward.h"
#include "sheaf/nn/linear_cross_entropy.h"

namespace sheaf::train {
namespace {

/// Has each part drawn from by its size, so that every sample comes once.
std::vector<data::DataPart> by_size(std::vector<data::DataPart> parts) {
  for (data::DataPart& part : parts) part.weight = static_cast<double>(part.size);
  return parts;
}

/// The beginning of a dataset, with samples of all its parts.
class FirstSamples final : public data::Dataset {
 public:
  FirstSamples(std::shared_ptr<const data::Dataset> all, std::int64_t size)
      : all_(std::move(all)),
        order_(by_size(all_->parts()), /*seed=*/0, /*shuffle=*/false),
        size_(size) {}

  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] std::int64_t targets_per_sample() const override {
    return all_->targets_per_sample();
  }
  [[nodiscard]] data::Rows make_batch(std::int64_t count) const override {
    return all_->make_batch(count);
  }
  void fill(std::int64_t index, std::int64_t row, const data::Rows& rows) const override {
    all_->fill(order_.at(/*epoch=*/0, index), row, rows);
  }

 private:
  std::shared_ptr<const data::Dataset> all_;
  data::Order order_;
  std::int64_t size_;
};

struct Sums {
  double loss = 0;
  double targets = 0;
  double correct = 0;
};

void add_texts(models::Model& model, const data::Batch& batch, Sums& sums) {
  const models::Pass pass{.positions = batch.positions};
  const at::Tensor loss = sheaf::forward(model, batch.inputs, batch.targets, pass);
  sums.loss += loss.item<double>();
}

void add_images(models::Model& model, const data::Batch& batch, Sums& sums) {
  const at::Tensor logits =
      sheaf::forward(model, batch.inputs, at::Tensor(), models::Pass{}).to(at::kFloat);
  if (batch.samples.empty()) return;
  sums.loss += at::cross_entropy_loss(logits, batch.targets, {}, at::Reduction::Sum).item<double>();
  sums.correct += (logits.argmax(1) == batch.targets).sum().item<double>();
}

Sums summed_over(const comm::Group& group, const Sums& sums, at::Device device) {
  const at::Tensor all =
      at::tensor({sums.loss, sums.targets, sums.correct}, at::kDouble).to(device);
  group.all_reduce(all, {.purpose = comm::Purpose::loss}).wait();
  const at::Tensor result = all.cpu();
  return {result[0].item<double>(), result[1].item<double>(), result[2].item<double>()};
}

}  // namespace

EvaluationRecord evaluate(models::Model& model,
                          const std::shared_ptr<const data::Dataset>& dataset,
                          const comm::Group& group,
                          const EvaluateOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  const at::NoGradGuard no_grad;
  const models::EvaluationMode mode(model);
  const std::int64_t size =
      options.samples > 0 ? std::min(options.samples, dataset->size()) : dataset->size();
  data::Loader loader(std::make_shared<FirstSamples>(dataset, size),
                      {.rank = group.rank(),
                       .ranks = group.size(),
                       .global_batch = options.micro_batch * group.size(),
                       .partial_batches = true,
                       .shuffle = false,
                       .device = options.device});
  Sums sums;
  for (std::int64_t done = 0; done < size;) {
    const data::Batch batch = loader.next();
    done += batch.global_samples;
    sums.targets += (batch.targets != nn::kIgnoredTarget).sum().item<double>();
    options.classify ? add_images(model, batch, sums) : add_texts(model, batch, sums);
  }
  const Sums all = summed_over(group, sums, options.device);
  const double targets = std::max(all.targets, 1.0);
  return {.loss = all.loss / targets,
          .accuracy = options.classify ? std::optional(all.correct / targets) : std::nullopt,
          .items = static_cast<std::int64_t>(all.targets),
          .time = std::chrono::steady_clock::now() - began};
}

}  // namespace sheaf::train
