#include "buffers.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <map>

#include "sheaf/memory/holders.h"
#include "sheaf/module/deferred.h"

namespace sheaf::sharding {
namespace {

void fill_if_deferred(const Context& context, const BufferInfo& info) {
  if (!module::is_deferred(info.tensor)) return;
  const at::Tensor values = at::empty(info.tensor.sizes(), info.tensor.options());
  module::fill_deferred(info.tensor, values, context.options.seed, info.name);
  at::Tensor buffer = info.tensor;
  buffer.set_data(values);
}

}  // namespace

Buffers::Buffers(const Context& context, const std::vector<BufferInfo>& buffers)
    : context_(context) {
  const at::NoGradGuard no_grad;
  std::map<at::ScalarType, std::size_t> pack_of;
  for (const BufferInfo& info : buffers) {
    fill_if_deferred(context, info);
    at::Tensor buffer = info.tensor;
    if (buffer.device() != context.device) buffer.set_data(buffer.to(context.device));
    if (context.options.precision.buffers && buffer.is_floating_point()) {
      buffer.set_data(buffer.to(*context.options.precision.buffers));
    }
    const auto [place, is_new] = pack_of.emplace(buffer.scalar_type(), packs_.size());
    if (is_new) packs_.emplace_back();
    packs_[place->second].buffers.push_back(buffer);
  }
  if (context.options.broadcast_start) broadcast();
  if (context.options.buffer_sync != BufferSync::none) return;
  for (Pack& pack : packs_) {
    pack.flat.reset();
    pack.charge = {};
  }
}

void Buffers::take_memory(Pack& pack) const {
  if (pack.flat.defined()) return;
  constexpr const char* kOwner = "(buffers)";
  std::int64_t numel = 0;
  for (const at::Tensor& buffer : pack.buffers) numel += buffer.numel();
  const memory::HeldFor exchange(memory::Purpose::communication, kOwner);
  pack.flat = at::empty({numel}, pack.buffers.front().options());
  memory::Ledger ledger = context_.options.ledger;
  pack.charge = ledger.charge(
      memory::Purpose::communication, kOwner, {static_cast<std::int64_t>(pack.flat.nbytes())});
}

void Buffers::broadcast() { exchange(/*average=*/false); }

void Buffers::end_pass() {
  if (context_.options.buffer_sync == BufferSync::none) return;
  exchange(context_.options.buffer_sync == BufferSync::average);
}

void Buffers::exchange(bool average) {
  if (context_.world.size() == 1) return;
  const at::NoGradGuard no_grad;
  for (Pack& pack : packs_) {
    take_memory(pack);
    std::int64_t begin = 0;
    for (const at::Tensor& buffer : pack.buffers) {
      pack.flat.narrow(0, begin, buffer.numel()).view(buffer.sizes()).copy_(buffer);
      begin += buffer.numel();
    }
    if (average && pack.flat.is_floating_point()) {
      context_.world
          .all_reduce(pack.flat,
                      {.reduction = comm::Reduction::average, .purpose = comm::Purpose::buffers})
          .wait();
    } else {
      context_.world.broadcast(pack.flat, 0, {.purpose = comm::Purpose::buffers}).wait();
    }
    begin = 0;
    for (at::Tensor& buffer : pack.buffers) {
      buffer.copy_(pack.flat.narrow(0, begin, buffer.numel()).view(buffer.sizes()));
      begin += buffer.numel();
    }
  }
}

}  // namespace sheaf::sharding
