#include "step_graph.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <fmt/format.h>

#include "comm/device_stamp.h"
#include "sheaf/base/log.h"

namespace sheaf::train {
namespace {

constexpr const char* kArea = "train";
constexpr int kWarmUpSteps = 3;

/// Calls of one replay are numbered apart from those of the next.
constexpr int kBitsOfCalls = 32;

bool same_shape(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() == b.defined() && (!a.defined() || a.sizes() == b.sizes());
}

void copy_to(const at::Tensor& to, const at::Tensor& from) {
  if (to.defined()) to.copy_(from, /*non_blocking=*/true);
}

at::Tensor room_for(const at::Tensor& tensor) {
  return tensor.defined() ? at::empty_like(tensor) : at::Tensor();
}

}  // namespace

StepGraph::StepGraph(StepGraphOptions options)
    : options_(std::move(options)), recorder_(options_.group.recorder()) {}

bool StepGraph::prepare(const StepInputs& inputs, const Body& body, const Cleanup& cleanup) {
  if (stage_ == Stage::given_up || inputs.batch.global_samples != options_.global_batch) {
    return false;
  }
  if (stage_ == Stage::warming_up) {
    if (steps_before_++ < kWarmUpSteps) return false;
    record(inputs, body, cleanup);
  }
  if (stage_ != Stage::recorded || !fits(inputs.batch)) return false;
  take_inputs(inputs);
  return true;
}

/// A full global batch has the same share for each rank, so all ranks agree.
bool StepGraph::fits(const data::Batch& batch) const {
  return same_shape(batch.inputs, inputs_.batch.inputs) &&
         same_shape(batch.targets, inputs_.batch.targets) &&
         same_shape(batch.positions, inputs_.batch.positions);
}

void StepGraph::take_inputs(const StepInputs& inputs) {
  copy_to(inputs_.batch.inputs, inputs.batch.inputs);
  copy_to(inputs_.batch.targets, inputs.batch.targets);
  copy_to(inputs_.batch.positions, inputs.batch.positions);
  copy_to(inputs_.counts, inputs.counts);
}

void StepGraph::record(const StepInputs& inputs, const Body& body, const Cleanup& cleanup) {
  inputs_ = {.batch = inputs.batch, .counts = room_for(inputs.counts)};
  inputs_.batch.inputs = room_for(inputs.batch.inputs);
  inputs_.batch.targets = room_for(inputs.batch.targets);
  inputs_.batch.positions = room_for(inputs.batch.positions);
  std::string reason;
  try {
    capture(body);
  } catch (const std::exception& error) {
    reason = error.what();
    outputs_ = {};
    graph_.reset();
    // Nobody will ever reach their stamps.
    static_cast<void>(recorder_.take_unread());
    cleanup();
  }
  const bool here = reason.empty();
  stage_ = all_recorded(here) ? Stage::recorded : Stage::given_up;
  if (stage_ == Stage::recorded) {
    if (options_.group.rank() == 0) log::info(kArea, "from now on steps are one CUDA graph");
    return;
  }
  graph_.reset();
  if (options_.group.rank() != 0 && here) return;
  log::warning(kArea,
               fmt::format("no CUDA graph, steps run as before: {}",
                           here ? "another rank could not record its step" : reason));
}

void StepGraph::capture(const Body& body) {
  update_ = options_.optimizer->new_recording();
  graph_ = std::make_unique<CudaGraph>(options_.device);
  // What is heard from here on is of the step that is recorded, not of this one.
  const std::vector<DeviceSpan> heard = recorder_.take_unread();
  marks_.clear();
  const PhaseMark mark = [this](Phase phase) {
    marks_.push_back({phase, comm::stamp_now(comm::current_stream(options_.device))});
  };
  const comm::Traffic before = options_.group.traffic();
  graph_->record([&] { outputs_ = body(inputs_, update_, mark); });
  traffic_ = options_.group.traffic() - before;
  spans_ = recorder_.take_unread();
  for (const DeviceSpan& each : heard) recorder_.add(each.span, each.begin, each.end);
}

bool StepGraph::all_recorded(bool here) const {
  const at::Tensor count =
      at::full({1}, here ? 1 : 0, at::TensorOptions(options_.device).dtype(at::kFloat));
  options_.group
      .all_reduce(count, {.reduction = comm::Reduction::min, .purpose = comm::Purpose::control})
      .wait();
  return count.item<float>() == 1;
}

const StepOutputs& StepGraph::replay(double learning_rate_factor, PhaseClock& clock) {
  options_.optimizer->replay(update_, learning_rate_factor);
  graph_->replay();
  // Recording has counted the first one.
  if (num_replays_ > 0) options_.group.count_again(traffic_);
  for (const DeviceSpan& each : spans_) {
    Span span = each.span;
    span.call += num_replays_ << kBitsOfCalls;
    recorder_.add(span, each.begin, each.end);
  }
  for (const Mark& mark : marks_) clock.mark(mark.phase, mark.stamp);
  ++num_replays_;
  return outputs_;
}

}  // namespace sheaf::train
