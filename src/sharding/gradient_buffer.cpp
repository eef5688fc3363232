#include "gradient_buffer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <fmt/format.h>

#include <algorithm>

#include "finite.h"
#include "sheaf/base/error.h"
#include "sheaf/memory/holders.h"

namespace sheaf::sharding {
namespace {

Bytes size_of(const at::Tensor& tensor) { return {static_cast<std::int64_t>(tensor.nbytes())}; }

/// The exchange that is used when nobody asked for another.
comm::Work plain_exchange(const GradientExchange& exchange, const comm::Group& group) {
  const comm::ReduceOptions how{
      .scale = exchange.scale, .purpose = comm::Purpose::gradients, .unit = exchange.unit};
  if (!exchange.sharded()) return group.all_reduce(exchange.local, how);
  return group.reduce_scatter(exchange.result, exchange.local, how);
}

}  // namespace

GradientBuffer::GradientBuffer(const Context& context, const Segment& segment)
    : context_(context),
      segment_(segment),
      contributed_(segment.parameters().size(), false),
      non_finite_(segment.parameters().size(), false) {
  if (context.device.is_cpu()) take_lasting();
}

void GradientBuffer::take_lasting() {
  if (lasting_.defined()) return;
  const bool whole = !context_.cuts_gradients();
  const std::int64_t numel = whole ? segment_.layout().size() : segment_.layout().shard_size();
  const memory::HeldFor gradients(memory::Purpose::gradients, segment_.owner());
  lasting_ = context_.lasting_empty(numel, master_type());
  if (whole) clear_gaps(lasting_);
  const layout::Range own = segment_.layout().shard(context_.shard_index());
  result_ = whole ? lasting_.narrow(0, own.begin, own.size) : lasting_;
  memory::Ledger ledger = context_.options.ledger;
  charge_ = ledger.charge(memory::Purpose::gradients, segment_.owner(), size_of(lasting_));
}

/// See Note [Kept as sent].
bool GradientBuffer::keeps_as_sent() const {
  return !context_.device.is_cpu() && !widens_ && !segment_.master_in_flat() && !has_result_ &&
         !lasting_.defined() && wire_type() == at::kBFloat16 && master_type() != at::kBFloat16;
}

void GradientBuffer::keep_as_sent(const at::Tensor& sum) {
  result_ = sum;
  memory::Ledger ledger = context_.options.ledger;
  charge_ = ledger.charge(memory::Purpose::gradients, segment_.owner(), size_of(sum));
}

/// Makes room for a second exchange, which is added in the master's type.
void GradientBuffer::widen_result() {
  if (!has_result_ || result_.scalar_type() == master_type()) return;
  const at::Tensor sent = result_;
  take_lasting();
  result_.copy_(sent);
}

void GradientBuffer::release_lasting() {
  if (context_.device.is_cpu() || has_result_ || local_.defined()) return;
  lasting_.reset();
  result_.reset();
  charge_ = {};
}

at::ScalarType GradientBuffer::wire_type() const {
  return master_type() == at::kDouble ? at::kDouble : context_.options.precision.reduce;
}

at::Tensor GradientBuffer::transient(std::int64_t numel,
                                     at::ScalarType dtype,
                                     std::vector<memory::Charge>& charges) const {
  const memory::HeldFor exchange(memory::Purpose::communication, segment_.owner());
  at::Tensor tensor = at::empty({numel}, at::TensorOptions(context_.device).dtype(dtype));
  memory::Ledger ledger = context_.options.ledger;
  charges.push_back(
      ledger.charge(memory::Purpose::communication, segment_.owner(), size_of(tensor)));
  return tensor;
}

/// Padding travels with the rest, so it must have values.
void GradientBuffer::clear_gaps(const at::Tensor& whole) const {
  std::int64_t covered = 0;
  for (const layout::Range& place : segment_.layout().params()) {
    if (place.begin > covered) whole.narrow(0, covered, place.begin - covered).zero_();
    covered = place.end();
  }
  if (covered < whole.numel()) whole.narrow(0, covered, whole.numel() - covered).zero_();
}

void GradientBuffer::open_local(bool exchanged) {
  // Sums over several passes want the master's precision; a single pass can go as it travels.
  const at::ScalarType dtype = exchanged ? wire_type() : master_type();
  const std::int64_t numel = segment_.layout().size();
  if (!has_result_ && dtype == master_type() && !context_.cuts_gradients()) {
    take_lasting();
    local_ = lasting_;
    return;
  }
  local_ = transient(numel, dtype, local_charges_);
  clear_gaps(local_);
}

void GradientBuffer::add(std::size_t member, const at::Tensor& gradient, bool exchanged) {
  const at::NoGradGuard no_grad;
  call_back(member);
  if (!local_.defined()) open_local(exchanged);
  const at::Tensor target = place_of(member, gradient.sizes());
  if (contributed_[member]) {
    target.add_(gradient);
  } else {
    target.copy_(gradient);
  }
  contributed_[member] = true;
}

module::GradientTarget GradientBuffer::open(std::size_t member,
                                            at::IntArrayRef shape,
                                            at::ScalarType type,
                                            bool exchanged) {
  call_back(member);
  if (!local_.defined()) open_local(exchanged);
  if (local_.scalar_type() != type) return {};
  const bool is_new = !contributed_[member];
  contributed_[member] = true;
  return {place_of(member, shape), is_new};
}

at::Tensor GradientBuffer::place_of(std::size_t member, at::IntArrayRef shape) const {
  const layout::Range place = segment_.place(member);
  return local_.narrow(0, place.begin, place.size).view(shape);
}

module::EarlyGradientPtr GradientBuffer::lend(std::size_t member,
                                              at::IntArrayRef shape,
                                              at::ScalarType type,
                                              bool exchanged) {
  const at::NoGradGuard no_grad;
  const auto lent = lent_.find(member);
  if (contributed_[member] || (lent != lent_.end() && lent->second.lock())) return {};
  if (!local_.defined()) open_local(exchanged);
  if (local_.scalar_type() != type) return {};
  auto gradient =
      std::make_shared<module::EarlyGradient>(place_of(member, shape), /*in_place=*/true);
  lent_.insert_or_assign(member, gradient);
  return gradient;
}

bool GradientBuffer::settle(std::size_t member, const module::EarlyGradient& gradient) {
  const auto lent = lent_.find(member);
  if (lent == lent_.end() || lent->second.lock().get() != &gradient) return false;
  lent_.erase(lent);
  contributed_[member] = true;
  return true;
}

/// Takes the place back; who has it keeps a copy.
void GradientBuffer::call_back(std::size_t member) {
  const auto lent = lent_.find(member);
  if (lent == lent_.end()) return;
  if (const auto gradient = lent->second.lock()) gradient->move_out();
  lent_.erase(lent);
}

void GradientBuffer::call_back_all() {
  while (!lent_.empty()) call_back(lent_.begin()->first);
}

bool GradientBuffer::has_any() const {
  return std::find(contributed_.begin(), contributed_.end(), true) != contributed_.end();
}

void GradientBuffer::fill_missing() {
  if (!local_.defined()) open_local(/*exchanged=*/true);
  for (std::size_t i = 0; i < contributed_.size(); ++i) {
    if (contributed_[i]) continue;
    local_.narrow(0, segment_.place(i).begin, segment_.place(i).size).zero_();
  }
}

void GradientBuffer::note_non_finite() {
  for (std::size_t i = 0; i < contributed_.size(); ++i) {
    const layout::Range& place = segment_.place(i);
    if (!contributed_[i] || is_finite(local_.narrow(0, place.begin, place.size))) continue;
    non_finite_[i] = true;
  }
}

/// Tells so of a flight that is about to leave; where states are cut, what travels is given back
/// when it has arrived.
bool GradientBuffer::stays(const GradientFlight& flight) const {
  if (context_.device.is_cpu() || context_.options.reduce_hook) return false;
  const at::Tensor& sum = flight.exchange.result;
  return sum.is_same(local_) && (flight.keeps || sum.is_same(lasting_));
}

GradientFlight GradientBuffer::start_exchange(SideStream& beside) {
  const at::NoGradGuard no_grad;
  if (used_up_) {
    throw Error(fmt::format(
        "unit \"{}\" got gradients again after it was stepped within backward: call step() before "
        "the next pass, and do without step_in_backward() where passes are nested",
        segment_.owner()));
  }
  call_back_all();
  if (context_.options.trace_non_finite) {
    beside.join();
    note_non_finite();
  }
  fill_missing();
  widen_result();
  const bool keeps = keeps_as_sent();
  if (!keeps) take_lasting();
  GradientFlight flight;
  flight.charges = std::move(local_charges_);
  flight.exchange = {.unit = segment_.owner(),
                     .local = local_,
                     .result = {},
                     .scale = context_.options.gradient_scale};
  if (local_.scalar_type() != wire_type()) {
    beside.join();
    flight.exchange.local = transient(local_.numel(), wire_type(), flight.charges);
    flight.exchange.local.copy_(local_);
  }
  const bool into_result = !has_result_ && wire_type() == master_type();
  if (!context_.cuts_state()) {
    flight.exchange.result = flight.exchange.local;
  } else if (into_result) {
    flight.exchange.result = result_;
  } else {
    flight.exchange.result = transient(segment_.layout().shard_size(), wire_type(), flight.charges);
  }
  flight.pending = context_.issue([&] {
    beside.precede_current();
    const auto& hook = context_.options.reduce_hook;
    if (!hook) return plain_exchange(flight.exchange, context_.shard);
    return hook->start(flight.exchange, context_.shard, flight.hook_memory);
  });
  flight.adds = has_result_;
  flight.keeps = keeps;
  flight.stays = stays(flight);
  has_result_ = true;
  local_.reset();
  std::fill(contributed_.begin(), contributed_.end(), false);
  return flight;
}

void GradientBuffer::replicate(GradientFlight& flight) {
  if (flight.replicated) return;
  flight.replicated = true;
  flight.pending.wait();
  if (context_.options.reduce_hook) {
    context_.options.reduce_hook->finish(flight.exchange, flight.hook_memory);
  }
  if (!context_.replicate) return;
  flight.pending = context_.issue([&] {
    return context_.replicate->all_reduce(
        flight.exchange.result,
        {.purpose = comm::Purpose::gradients, .unit = flight.exchange.unit});
  });
}

void GradientBuffer::finish_exchange(GradientFlight& flight) {
  const at::NoGradGuard no_grad;
  replicate(flight);
  flight.pending.wait();
  const at::Tensor& sum = flight.exchange.result;
  if (flight.keeps) return keep_as_sent(sum);
  if (sum.is_alias_of(result_)) return;
  flight.adds ? result_.add_(sum) : result_.copy_(sum);
}

void GradientBuffer::forget_result() {
  has_result_ = false;
  used_up_ = false;
  std::fill(non_finite_.begin(), non_finite_.end(), false);
  release_lasting();
}

void GradientBuffer::forget_local() {
  call_back_all();
  local_.reset();
  local_charges_.clear();
  std::fill(contributed_.begin(), contributed_.end(), false);
  release_lasting();
}

}  // namespace sheaf::sharding
