#include "sheaf/comm/group.h"

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "group_state.h"
#include "sheaf/base/error.h"

namespace sheaf::comm {
namespace {

Bytes size_of(const at::Tensor& tensor) { return {static_cast<std::int64_t>(tensor.nbytes())}; }

void check_tensor(Kind kind, std::string_view what, const at::Tensor& tensor) {
  if (!tensor.defined())
    throw UsageError(fmt::format("{}: the {} is not defined", name(kind), what));
  if (!tensor.is_contiguous()) {
    throw UsageError(
        fmt::format("{}: the {} must be contiguous; call contiguous() first", name(kind), what));
  }
}

void check_pair(Kind kind, const at::Tensor& output, const at::Tensor& input) {
  check_tensor(kind, "output", output);
  check_tensor(kind, "input", input);
  if (output.scalar_type() != input.scalar_type()) {
    throw UsageError(fmt::format("{}: output and input must have one type, got {} and {}",
                                 name(kind),
                                 c10::toString(output.scalar_type()),
                                 c10::toString(input.scalar_type())));
  }
  if (output.device() != input.device()) {
    throw UsageError(fmt::format("{}: output and input must be on one device, got {} and {}",
                                 name(kind),
                                 output.device().str(),
                                 input.device().str()));
  }
}

void check_whole(Kind kind, const at::Tensor& whole, const at::Tensor& part, int size) {
  if (whole.numel() != part.numel() * size) {
    throw UsageError(
        fmt::format("{}: the whole must have {} times the part's elements, got {} and {}",
                    name(kind),
                    size,
                    whole.numel(),
                    part.numel()));
  }
}

void check_rank(Kind kind, std::string_view what, int rank, int size) {
  if (rank < 0 || rank >= size) {
    throw UsageError(fmt::format(
        "{}: the {} must be a rank from 0 to {}, got {}", name(kind), what, size - 1, rank));
  }
}

void check_peer(Kind kind, std::string_view what, int peer, const Members& members) {
  check_rank(kind, what, peer, members.size());
  if (peer == members.rank) {
    throw UsageError(fmt::format("{}: the {} is this rank itself: {}", name(kind), what, peer));
  }
}

void check_reduce(Kind kind, const at::Tensor& tensor, const ReduceOptions& options) {
  if (options.scale != 1.0 && options.reduction != Reduction::sum) {
    throw UsageError(
        fmt::format("{}: only a sum can be scaled, got scale {}", name(kind), options.scale));
  }
  const bool whole_numbers = c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/true);
  if (whole_numbers && (options.scale != 1.0 || options.reduction == Reduction::average)) {
    throw UsageError(
        fmt::format("{}: averages and scaled sums need a floating-point tensor, got {}",
                    name(kind),
                    c10::toString(tensor.scalar_type())));
  }
}

/// Returns the given splits, checked, or equal parts.
std::vector<std::int64_t> checked_splits(std::string_view what,
                                         const std::vector<std::int64_t>& given,
                                         const at::Tensor& tensor,
                                         int size) {
  if (given.empty()) {
    if (tensor.numel() % size != 0) {
      throw UsageError(fmt::format(
          "all_to_all: the {} has {} elements, which do not divide among {} ranks; give splits",
          what,
          tensor.numel(),
          size));
    }
    return std::vector<std::int64_t>(static_cast<std::size_t>(size), tensor.numel() / size);
  }
  const std::int64_t sum = std::accumulate(given.begin(), given.end(), std::int64_t{0});
  const bool negative =
      std::any_of(given.begin(), given.end(), [](std::int64_t n) { return n < 0; });
  if (static_cast<int>(given.size()) != size || sum != tensor.numel() || negative) {
    throw UsageError(
        fmt::format("all_to_all: the {} splits must be {} counts that add up to {} elements, got "
                    "{} that add up to {}",
                    what,
                    size,
                    tensor.numel(),
                    given.size(),
                    sum));
  }
  return given;
}

/// Makes `body` run on the CUDA stream that is current now, whichever thread runs it.
template <class Body>
std::function<void(Backend&)> on_this_stream(const at::Tensor& tensor, Body body) {
  if (tensor.device().is_cpu()) return body;
  const c10::Stream stream =
      c10::impl::VirtualGuardImpl(tensor.device().type()).getStream(tensor.device());
  return [stream, body](Backend& backend) {
    const c10::StreamGuard guard(stream);
    body(backend);
  };
}

}  // namespace

Group::Group(std::shared_ptr<GroupState> state) : state_(std::move(state)) {}

int Group::rank() const { return state_->members().rank; }

int Group::size() const { return state_->members().size(); }

std::string_view Group::backend() const { return state_->backend().name(); }

at::Device Group::device() const { return state_->backend().device(); }

const std::vector<int>& Group::world_ranks() const { return state_->members().world_ranks; }

Work Group::all_reduce(const at::Tensor& tensor, const ReduceOptions& options) const {
  check_tensor(Kind::all_reduce, "tensor", tensor);
  check_reduce(Kind::all_reduce, tensor, options);
  const Reduce reduce{options.reduction, options.scale};
  return state_->submit(
      {Kind::all_reduce, options.purpose, size_of(tensor), tensor.scalar_type(), options.unit},
      on_this_stream(tensor, [=](Backend& backend) { backend.all_reduce(tensor, reduce); }));
}

Work Group::all_gather(const at::Tensor& output,
                       const at::Tensor& input,
                       const MoveOptions& options) const {
  check_pair(Kind::all_gather, output, input);
  check_whole(Kind::all_gather, output, input, size());
  return state_->submit(
      {Kind::all_gather, options.purpose, size_of(output), output.scalar_type(), options.unit},
      on_this_stream(output, [=](Backend& backend) { backend.all_gather(output, input); }));
}

Work Group::reduce_scatter(const at::Tensor& output,
                           const at::Tensor& input,
                           const ReduceOptions& options) const {
  check_pair(Kind::reduce_scatter, output, input);
  check_whole(Kind::reduce_scatter, input, output, size());
  check_reduce(Kind::reduce_scatter, input, options);
  const Reduce reduce{options.reduction, options.scale};
  return state_->submit(
      {Kind::reduce_scatter, options.purpose, size_of(input), input.scalar_type(), options.unit},
      on_this_stream(output,
                     [=](Backend& backend) { backend.reduce_scatter(output, input, reduce); }));
}

Work Group::broadcast(const at::Tensor& tensor, int root, const MoveOptions& options) const {
  check_tensor(Kind::broadcast, "tensor", tensor);
  check_rank(Kind::broadcast, "root", root, size());
  return state_->submit(
      {.kind = Kind::broadcast,
       .purpose = options.purpose,
       .bytes = size_of(tensor),
       .dtype = tensor.scalar_type(),
       .unit = options.unit,
       .root = root},
      on_this_stream(tensor, [=](Backend& backend) { backend.broadcast(tensor, root); }));
}

Work Group::all_to_all(const at::Tensor& output,
                       const at::Tensor& input,
                       const AllToAllOptions& options) const {
  check_pair(Kind::all_to_all, output, input);
  Splits splits{checked_splits("input", options.input_splits, input, size()),
                checked_splits("output", options.output_splits, output, size())};
  return state_->submit({Kind::all_to_all, options.purpose, size_of(input), input.scalar_type()},
                        on_this_stream(output, [=, splits = std::move(splits)](Backend& backend) {
                          backend.all_to_all(output, input, splits);
                        }));
}

Work Group::send(const at::Tensor& tensor, int to, const MessageOptions& options) const {
  check_tensor(Kind::send, "tensor", tensor);
  check_peer(Kind::send, "receiver", to, state_->members());
  return state_->submit(
      {Kind::send, options.purpose, size_of(tensor), tensor.scalar_type(), {}, to},
      on_this_stream(tensor,
                     [=, tag = options.tag](Backend& backend) { backend.send(tensor, to, tag); }));
}

Work Group::recv(const at::Tensor& tensor, int from, const MessageOptions& options) const {
  check_tensor(Kind::recv, "tensor", tensor);
  check_peer(Kind::recv, "sender", from, state_->members());
  return state_->submit(
      {Kind::recv, options.purpose, size_of(tensor), tensor.scalar_type(), {}, from},
      on_this_stream(
          tensor, [=, tag = options.tag](Backend& backend) { backend.recv(tensor, from, tag); }));
}

Work Group::barrier() const {
  return state_->submit({Kind::barrier, Purpose::control, Bytes{}},
                        [](Backend& backend) { backend.barrier(); });
}

Group Group::split(int color) const {
  const auto options = at::TensorOptions(state_->backend().device()).dtype(at::kLong);
  const at::Tensor gathered = at::empty({size()}, options);
  all_gather(gathered, at::full({1}, color, options), {.purpose = Purpose::control}).wait();
  const at::Tensor colors = gathered.cpu();
  const std::int64_t* values = colors.const_data_ptr<std::int64_t>();
  return split(std::vector<int>(values, values + size()));
}

Group Group::split(const std::vector<int>& colors) const {
  if (static_cast<int>(colors.size()) != size()) {
    throw UsageError(
        fmt::format("split needs one color per rank, {} in all, got {}", size(), colors.size()));
  }
  const int own = colors[static_cast<std::size_t>(rank())];
  Members members;
  for (int i = 0; i < size(); ++i) {
    if (colors[static_cast<std::size_t>(i)] != own) continue;
    if (i == rank()) members.rank = members.size();
    members.world_ranks.push_back(world_ranks()[static_cast<std::size_t>(i)]);
  }
  std::unique_ptr<Backend> backend;
  const std::string name = state_->next_split_name(own);
  state_
      ->submit({Kind::barrier, Purpose::control, Bytes{}},
               [&](Backend& parent) { backend = parent.split(members, name); })
      .wait();
  const Observers& own_observers = state_->observers();
  return Group(std::make_shared<GroupState>(
      std::move(members),
      std::move(backend),
      Observers{.traffic = std::make_shared<TrafficCounter>(own_observers.traffic),
                .recorder = own_observers.recorder,
                .name = own_observers.name + "/" + name,
                .lookout = own_observers.lookout,
                .interference = own_observers.interference}));
}

at::Tensor Group::shared_empty(std::int64_t numel, at::ScalarType dtype) const {
  if (numel < 0)
    throw UsageError(
        fmt::format("shared_empty: the number of elements must not be negative, got {}", numel));
  at::Tensor tensor;
  state_
      ->submit({Kind::barrier, Purpose::control, Bytes{}},
               [&](Backend& backend) { tensor = backend.shared_empty(numel, dtype); })
      .wait();
  return tensor;
}

Traffic Group::traffic() const { return state_->observers().traffic->read(); }

void Group::count_again(const Traffic& repeated) const {
  for (std::size_t k = 0; k < kNumKinds; ++k) {
    for (std::size_t p = 0; p < kNumPurposes; ++p) {
      const auto kind = static_cast<Kind>(k);
      const auto purpose = static_cast<Purpose>(p);
      const Tally& tally = repeated.of(kind, purpose);
      if (tally.calls > 0) state_->observers().traffic->add(kind, purpose, tally);
    }
  }
}

Recorder Group::recorder() const { return state_->observers().recorder; }

}  // namespace sheaf::comm
