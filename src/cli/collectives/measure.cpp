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

/// Returns the work of one call of `kind` on tensors that were made once.
std::function<comm::Work()> make_call(const Group& group,
                                      Kind kind,
                                      const MeasureOptions& options) {
  const std::int64_t part = std::max<std::int64_t>(1, options.size.count / 4 / group.size());
  const std::int64_t whole = part * group.size();
  const at::Tensor tensor = options.shared_tensors ? group.shared_empty(whole, at::kFloat)
                                                   : at::empty({whole}, at::kFloat);
  tensor.fill_(1.0);
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

Seconds measure(const Group& group, int repeats, const std::function<void()>& call) {
  std::vector<double> times;
  for (int i = -kWarmUps; i < repeats; ++i) {
    group.barrier().wait();
    const auto start = std::chrono::steady_clock::now();
    call();
    const Seconds passed = std::chrono::steady_clock::now() - start;
    const at::Tensor slowest = at::full({1}, passed.count(), at::kDouble);
    group.all_reduce(slowest, {.reduction = comm::Reduction::max}).wait();
    if (i >= 0) times.push_back(slowest.item<double>());
  }
  std::sort(times.begin(), times.end());
  return Seconds(times[times.size() / 2]);
}

Seconds measure(const Group& group, Kind kind, const MeasureOptions& options) {
  const auto call = make_call(group, kind, options);
  return measure(group, options.repeats, [&] { call().wait(); });
}

}  // namespace sheaf::cli
