#include "cli/collectives/measure.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace sheaf::cli {
namespace {

using comm::Group;
using comm::Kind;

constexpr std::array kKinds = {
    Kind::all_reduce, Kind::all_gather, Kind::reduce_scatter, Kind::broadcast};
constexpr int kWarmUps = 2;

at::Tensor make_tensor(const Group& group, std::int64_t numel, const MeasureOptions& options) {
  if (options.shared_tensors && options.device.is_cpu())
    return group.shared_empty(numel, at::kFloat);
  return at::empty({numel}, at::TensorOptions(options.device).dtype(at::kFloat));
}

std::function<comm::Work()> make_call(const Group& group, Kind kind, const at::Tensor& tensor) {
  const std::int64_t part = tensor.numel() / group.size();
  const at::Tensor own = tensor.narrow(0, part * group.rank(), part);
  switch (kind) {
    case Kind::all_gather:
      return [=] { return group.all_gather(tensor, own); };
    case Kind::reduce_scatter:
      return [=] { return group.reduce_scatter(own, tensor); };
    case Kind::broadcast:
      return [=] { return group.broadcast(tensor, 0); };
    default:
      return [=] { return group.all_reduce(tensor); };
  }
}

}  // namespace

std::span<const Kind> measured_kinds() { return kKinds; }

Seconds measure(const Group& group, const Trial& trial) {
  std::vector<double> times;
  for (int i = -kWarmUps; i < trial.repeats; ++i) {
    group.barrier().wait();
    const auto start = std::chrono::steady_clock::now();
    trial.call();
    const Seconds passed = std::chrono::steady_clock::now() - start;
    const at::Tensor slowest =
        at::full({1}, passed.count(), at::TensorOptions(trial.device).dtype(at::kDouble));
    group.all_reduce(slowest, {.reduction = comm::Reduction::max}).wait();
    if (i >= 0) times.push_back(slowest.item<double>());
  }
  std::sort(times.begin(), times.end());
  return Seconds(times[times.size() / 2]);
}

Seconds measure(const Group& group, Kind kind, const MeasureOptions& options) {
  const std::int64_t part = std::max<std::int64_t>(1, options.size.count / 4 / group.size());
  const at::Tensor tensor = make_tensor(group, part * group.size(), options).fill_(1.0);
  const auto begin = make_call(group, kind, tensor);
  const auto call = [&] {
    begin().wait();
    // On CUDA the result may still be under way on the stream.
    if (tensor.is_cuda()) static_cast<void>(tensor.select(0, 0).item());
  };
  return measure(group, {.repeats = options.repeats, .call = call, .device = options.device});
}

}  // namespace sheaf::cli
