#include "one_gpu_backend.h"

#include <ATen/cuda/CUDAContext.h>
#include <fmt/format.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cstdlib>

#include "../reduce_kernel.h"
#include "../shared/common_segment.h"
#include "elements.h"
#include "kernels.h"
#include "marks.h"
#include "sheaf/base/error.h"

namespace sheaf::comm::one_gpu {
namespace {

// Up to here every rank adds up everything itself: more is read, but streams meet once instead of
// twice, and meetings are dear where ranks take turns on the GPU.
constexpr std::int64_t kAtOnceBytes = std::int64_t{256} << 10;
constexpr int kAtOnceRanks = 4;
// What is broadcast is large at the start of a run only, which is not worth large slots.
constexpr std::int64_t kBroadcastSlot = std::int64_t{2} << 20;

std::byte* data_of(const at::Tensor& tensor) { return static_cast<std::byte*>(tensor.data_ptr()); }

std::int64_t bytes_of(const at::Tensor& tensor) {
  return static_cast<std::int64_t>(tensor.nbytes());
}

/// Calls `piece(begin, count)` for runs of at most `most` out of `count`, each in a turn of its
/// own.
template <class Piece>
void in_turns(Turns& turns, std::int64_t count, std::int64_t most, Piece piece) {
  for (std::int64_t begin = 0; begin < count; begin += most) {
    piece(begin, std::min(most, count - begin));
    turns.swap_slots();
  }
}

/// On Hopper LibTorch gives cuBLAS 32 MiB for each thread that multiplies, so twice for every rank:
/// forward and backward. Ranks that share a card get what LibTorch gives on all cards before it. It
/// is read at the first product; who has set the variable knows why.
void take_small_workspaces() {
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:2:16:8", /*overwrite=*/0);
}

std::shared_ptr<Words> make_words(Backend& host, const Members& members) {
  check_marks();
  return std::make_shared<Words>(
      shared::common_segment(
          host, members, {shared::Ranks::processes, Words::bytes(members.size()), /*creator=*/0}),
      members.size());
}

}  // namespace

OneGpuBackend::OneGpuBackend(std::shared_ptr<Backend> host, JoinOptions options)
    : host_(std::move(host)),
      options_(std::move(options)),
      words_(make_words(*host_, options_.members)),
      watch_(words_, options_.members, options_.peers, options_.timeout),
      turns_(*host_, options_.members, options_.device, words_, watch_),
      channels_(*host_, options_.members, options_.device, words_, watch_) {}

OneGpuBackend::~OneGpuBackend() = default;

void OneGpuBackend::check_device(const at::Tensor& tensor) const {
  if (tensor.device() == options_.device) return;
  throw UsageError(fmt::format("the one_gpu backend moves tensors on {}, got one on {}",
                               options_.device.str(),
                               tensor.device().str()));
}

void OneGpuBackend::all_reduce(const at::Tensor& tensor, Reduce how) {
  check_device(tensor);
  check_reducible(tensor.scalar_type());
  turns_.begin(Kind::all_reduce, bytes_of(tensor));
  if (size() <= kAtOnceRanks || bytes_of(tensor) <= kAtOnceBytes) {
    all_reduce_at_once(tensor, how);
  } else {
    all_reduce_in_shares(tensor, how);
  }
  turns_.end();
}

void OneGpuBackend::all_reduce_at_once(const at::Tensor& tensor, Reduce how) {
  const auto width = static_cast<std::int64_t>(tensor.element_size());
  const auto most = static_cast<std::int64_t>(turns_.slot_bytes()) / width;
  in_turns(turns_, tensor.numel(), most, [&](std::int64_t begin, std::int64_t count) {
    std::byte* const data = data_of(tensor) + begin * width;
    Copies shown;
    shown.add({data, turns_.slot(rank()), count * width});
    launch_copies(shown, turns_.stream());
    turns_.arrive();
    Inputs inputs{.count = size()};
    for (int r = 0; r < size(); ++r) inputs.of[r] = turns_.slot(r);
    launch_reduce({data, count, element_of(tensor)}, inputs, rule_of(how, size()), turns_.stream());
  });
}

/// Each rank adds up a share, in its own slot, where no peer reads that share; then all collect the
/// shares.
void OneGpuBackend::all_reduce_in_shares(const at::Tensor& tensor, Reduce how) {
  const auto width = static_cast<std::int64_t>(tensor.element_size());
  const auto most = static_cast<std::int64_t>(turns_.slot_bytes()) / width;
  in_turns(turns_, tensor.numel(), most, [&](std::int64_t begin, std::int64_t count) {
    std::byte* const data = data_of(tensor) + begin * width;
    Copies shown;
    shown.add({data, turns_.slot(rank()), count * width});
    launch_copies(shown, turns_.stream());
    turns_.arrive();
    const auto share = [&](int r) { return share_of(count, size(), r); };
    Inputs inputs{.count = size()};
    for (int r = 0; r < size(); ++r) inputs.of[r] = turns_.slot(r) + share(rank()).begin * width;
    launch_reduce({turns_.slot(rank()) + share(rank()).begin * width,
                   share(rank()).count,
                   element_of(tensor)},
                  inputs,
                  rule_of(how, size()),
                  turns_.stream());
    turns_.arrive();
    Copies collected;
    for (int r = 0; r < size(); ++r) {
      const std::int64_t at = share(r).begin * width;
      collected.add({turns_.slot(r) + at, data + at, share(r).count * width});
    }
    launch_copies(collected, turns_.stream());
  });
}

void OneGpuBackend::all_gather(const at::Tensor& output, const at::Tensor& input) {
  check_device(output);
  const std::int64_t part = bytes_of(input);
  turns_.begin(Kind::all_gather, part);
  const auto most = static_cast<std::int64_t>(turns_.slot_bytes());
  in_turns(turns_, part, most, [&](std::int64_t begin, std::int64_t bytes) {
    Copies shown;
    shown.add({data_of(input) + begin, turns_.slot(rank()), bytes});
    shown.add({data_of(input) + begin, data_of(output) + rank() * part + begin, bytes});
    launch_copies(shown, turns_.stream());
    turns_.arrive();
    Copies collected;
    for (int r = 0; r < size(); ++r) {
      if (r != rank()) collected.add({turns_.slot(r), data_of(output) + r * part + begin, bytes});
    }
    launch_copies(collected, turns_.stream());
  });
  turns_.end();
}

/// A slot holds a piece for every rank; one's own piece need not go through it.
void OneGpuBackend::reduce_scatter(const at::Tensor& output, const at::Tensor& input, Reduce how) {
  check_device(output);
  check_reducible(output.scalar_type());
  turns_.begin(Kind::reduce_scatter, bytes_of(input));
  const auto width = static_cast<std::int64_t>(output.element_size());
  const std::int64_t part = bytes_of(output);
  const std::int64_t room = aligned_part(static_cast<std::int64_t>(turns_.slot_bytes()), size());
  in_turns(turns_, output.numel(), room / width, [&](std::int64_t begin, std::int64_t count) {
    Copies shown;
    Inputs inputs{.count = size()};
    for (int r = 0; r < size(); ++r) {
      const std::byte* const piece = data_of(input) + r * part + begin * width;
      if (r != rank()) shown.add({piece, turns_.slot(rank()) + r * room, count * width});
      inputs.of[r] = r == rank() ? piece : turns_.slot(r) + rank() * room;
    }
    launch_copies(shown, turns_.stream());
    turns_.arrive();
    launch_reduce({data_of(output) + begin * width, count, element_of(output)},
                  inputs,
                  rule_of(how, size()),
                  turns_.stream());
  });
  turns_.end();
}

void OneGpuBackend::broadcast(const at::Tensor& tensor, int root) {
  check_device(tensor);
  turns_.begin(Kind::broadcast, std::min(bytes_of(tensor), kBroadcastSlot));
  const auto most = static_cast<std::int64_t>(turns_.slot_bytes());
  in_turns(turns_, bytes_of(tensor), most, [&](std::int64_t begin, std::int64_t bytes) {
    Copies shown;
    Copies collected;
    if (rank() == root) {
      shown.add({data_of(tensor) + begin, turns_.slot(root), bytes});
    } else {
      collected.add({turns_.slot(root), data_of(tensor) + begin, bytes});
    }
    launch_copies(shown, turns_.stream());
    turns_.arrive();
    launch_copies(collected, turns_.stream());
  });
  turns_.end();
}

/// Only the two ranks of a pair know how much goes between them, but all must take the same number
/// of turns.
std::int64_t OneGpuBackend::longest_run(const Splits& splits) const {
  const std::int64_t own = *std::max_element(splits.input.begin(), splits.input.end());
  const at::Tensor longest = at::full({1}, own, at::kLong);
  host_->all_reduce(longest, {.reduction = Reduction::max});
  return *longest.const_data_ptr<std::int64_t>();
}

void OneGpuBackend::all_to_all(const at::Tensor& output,
                               const at::Tensor& input,
                               const Splits& splits) {
  check_device(output);
  const auto width = static_cast<std::int64_t>(output.element_size());
  const std::int64_t longest = longest_run(splits) * width;
  turns_.begin(Kind::all_to_all, longest * size());
  const std::int64_t room = aligned_part(static_cast<std::int64_t>(turns_.slot_bytes()), size());
  in_turns(turns_, longest, room, [&](std::int64_t begin, std::int64_t most) {
    Copies shown;
    Copies collected;
    std::int64_t to = 0;
    std::int64_t from = 0;
    for (int r = 0; r < size(); ++r) {
      const auto rest = [&](const std::vector<std::int64_t>& runs) {
        const std::int64_t run = runs[static_cast<std::size_t>(r)] * width;
        return std::clamp<std::int64_t>(run - begin, 0, most);
      };
      shown.add({data_of(input) + to + begin, turns_.slot(rank()) + r * room, rest(splits.input)});
      collected.add(
          {turns_.slot(r) + rank() * room, data_of(output) + from + begin, rest(splits.output)});
      to += splits.input[static_cast<std::size_t>(r)] * width;
      from += splits.output[static_cast<std::size_t>(r)] * width;
    }
    launch_copies(shown, turns_.stream());
    turns_.arrive();
    launch_copies(collected, turns_.stream());
  });
  turns_.end();
}

void OneGpuBackend::send(const at::Tensor& tensor, int to, int /*tag*/) {
  check_device(tensor);
  channels_.send(tensor, to);
}

void OneGpuBackend::recv(const at::Tensor& tensor, int from, int /*tag*/) {
  check_device(tensor);
  channels_.recv(tensor, from);
}

/// Everybody has arrived when the host goes on, as with the other backends.
void OneGpuBackend::barrier() {
  at::cuda::getCurrentCUDAStream(options_.device.index()).synchronize();
  watch_.check();
  host_->barrier();
}

at::Tensor OneGpuBackend::shared_empty(std::int64_t numel, at::ScalarType dtype) {
  return at::empty({numel}, at::TensorOptions(options_.device).dtype(dtype));
}

std::unique_ptr<Backend> OneGpuBackend::split(const Members& members, const std::string& name) {
  JoinOptions options = options_;
  options.members = members;
  return join(host_->split(members, name), options);
}

void OneGpuBackend::leave() noexcept {
  watch_.leave();
  host_->leave();
}

std::unique_ptr<Backend> join(std::unique_ptr<Backend> host, const JoinOptions& options) {
  if (options.members.size() > kMaxRanks) {
    throw UsageError(
        fmt::format("one_gpu connects up to {} ranks, got {}", kMaxRanks, options.members.size()));
  }
  if (options.members.size() > 1) take_small_workspaces();
  const std::shared_ptr<Backend> kept = std::move(host);
  try {
    return std::make_unique<OneGpuBackend>(kept, options);
  } catch (...) {
    kept->leave();
    throw;
  }
}

}  // namespace sheaf::comm::one_gpu
