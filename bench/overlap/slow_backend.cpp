#include "slow_backend.h"

#include <thread>

#include "comm/group_state.h"

namespace sheaf::bench {

void SlowBackend::sleep() {
  const std::int64_t delay = slowness_->delay_ms;
  if (delay == 0) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(delay));
  ++slowness_->sleeps;
}

void SlowBackend::all_reduce(const at::Tensor& tensor, comm::Reduce reduce) {
  sleep();
  group_.all_reduce(tensor, {.reduction = reduce.reduction, .scale = reduce.scale}).wait();
}

void SlowBackend::all_gather(const at::Tensor& output, const at::Tensor& input) {
  sleep();
  group_.all_gather(output, input).wait();
}

void SlowBackend::reduce_scatter(const at::Tensor& output,
                                 const at::Tensor& input,
                                 comm::Reduce reduce) {
  sleep();
  group_.reduce_scatter(output, input, {.reduction = reduce.reduction, .scale = reduce.scale})
      .wait();
}

void SlowBackend::broadcast(const at::Tensor& tensor, int root) {
  sleep();
  group_.broadcast(tensor, root).wait();
}

void SlowBackend::all_to_all(const at::Tensor& output,
                             const at::Tensor& input,
                             const comm::Splits& splits) {
  sleep();
  group_.all_to_all(output, input, {.input_splits = splits.input, .output_splits = splits.output})
      .wait();
}

void SlowBackend::send(const at::Tensor& tensor, int to, int tag) {
  group_.send(tensor, to, {.tag = tag}).wait();
}

void SlowBackend::recv(const at::Tensor& tensor, int from, int tag) {
  group_.recv(tensor, from, {.tag = tag}).wait();
}

void SlowBackend::barrier() { group_.barrier().wait(); }

at::Tensor SlowBackend::shared_empty(std::int64_t numel, at::ScalarType dtype) {
  return group_.shared_empty(numel, dtype);
}

std::unique_ptr<comm::Backend> SlowBackend::split(const comm::Members& members,
                                                  const std::string& /*name*/) {
  return std::make_unique<SlowBackend>(group_.split(members.world_ranks.front()), slowness_);
}

comm::Group slow_group(const comm::Group& group, std::shared_ptr<Slowness> slowness) {
  return comm::Group(std::make_shared<comm::GroupState>(
      comm::Members{.rank = group.rank(), .world_ranks = group.world_ranks()},
      std::make_unique<SlowBackend>(group, std::move(slowness))));
}

}  // namespace sheaf::bench
