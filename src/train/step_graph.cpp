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

/// A full global batch has the same share for each rank, so all ranks agree.
bool same_shape(const data::Batch& a, const data::Batch& b) {
  return same_shape(a.inputs, b.inputs) && same_shape(a.targets, b.targets) &&
         same_shape(a.positions, b.positions);
}

at::Tensor room_for(const at::Tensor& tensor) {
  return tensor.defined() ? at::empty_like(tensor) : at::Tensor();
}

StepInputs room_for(const StepInputs& inputs) {
  StepInputs room{.batch = inputs.batch, .counts = room_for(inputs.counts)};
  room.batch.inputs = room_for(inputs.batch.inputs);
  room.batch.targets = room_for(inputs.batch.targets);
  room.batch.positions = room_for(inputs.batch.positions);
  return room;
}

void copy_to(const at::Tensor& to, const at::Tensor& from) {
  if (to.defined()) to.copy_(from, /*non_blocking=*/true);
}

void copy_to(const StepInputs& to, const StepInputs& from) {
  copy_to(to.batch.inputs, from.batch.inputs);
  copy_to(to.batch.targets, from.batch.targets);
  copy_to(to.batch.positions, from.batch.positions);
  copy_to(to.counts, from.counts);
}

}  // namespace

StepGraph::StepGraph(StepGraphOptions options)
    : options_(std::move(options)), recorder_(options_.group.recorder()) {}

bool StepGraph::prepare(const StepInputs& inputs, const Body& body, const Cleanup& cleanup) {
  if (has_given_up_ || inputs.batch.global_samples != options_.global_batch) return false;
  if (steps_before_ < kWarmUpSteps) {
    ++steps_before_;
    return false;
  }
  if (!next().graph) record(next(), inputs, body, cleanup);
  if (has_given_up_ || !same_shape(next().inputs.batch, inputs.batch)) return false;
  copy_to(next().inputs, inputs);
  return true;
}

void StepGraph::record(Take& take,
                       const StepInputs& inputs,
                       const Body& body,
                       const Cleanup& cleanup) {
  take.inputs = room_for(inputs);
  std::string reason;
  try {
    capture(take, body);
  } catch (const std::exception& error) {
    reason = error.what();
    // Nobody will ever reach their stamps.
    static_cast<void>(recorder_.take_unread());
    cleanup();
  }
  const bool here = reason.empty();
  if (all_recorded(here)) {
    const bool is_first = !other().graph;
    if (is_first && options_.group.rank() == 0) {
      log::info(kArea, "from now on steps are one CUDA graph");
    }
    return;
  }
  has_given_up_ = true;
  takes_ = {};
  if (options_.group.rank() != 0 && here) return;
  log::warning(kArea,
               fmt::format("no CUDA graph, steps run as before: {}",
                           here ? "another rank could not record its step" : reason));
}

void StepGraph::capture(Take& take, const Body& body) {
  take.update = options_.optimizer->new_recording();
  take.graph = std::make_unique<CudaGraph>(options_.device, other().graph.get());
  // What is heard from here on is of the step that is recorded, not of this one.
  const std::vector<DeviceSpan> heard = recorder_.take_unread();
  const PhaseMark mark = [&](Phase phase) {
    take.marks.push_back({phase, comm::stamp_now(comm::current_stream(options_.device))});
  };
  const comm::Traffic before = options_.group.traffic();
  take.graph->record([&] { take.outputs = body(take.inputs, take.update, mark); });
  take.traffic = options_.group.traffic() - before;
  take.spans = recorder_.take_unread();
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
  Take& take = next();
  turn_ = 1 - turn_;
  options_.optimizer->replay(take.update, learning_rate_factor);
  take.graph->replay();
  // Recording has counted the first one.
  if (take.num_replays > 0) options_.group.count_again(take.traffic);
  for (const DeviceSpan& each : take.spans) {
    Span span = each.span;
    span.call += take.num_replays << kBitsOfCalls;
    recorder_.add(span, each.begin, each.end);
  }
  for (const Mark& mark : take.marks) clock.mark(mark.phase, mark.stamp);
  ++take.num_replays;
  return take.outputs;
}

}  // namespace sheaf::train
