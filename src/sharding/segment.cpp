#include "segment.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "flat_memory.h"
#include "sheaf/memory/holders.h"
#include "sheaf/module/deferred.h"

namespace sheaf::sharding {
namespace {

SegmentType type_of(const ParameterInfo& parameter) {
  return {parameter.tensor.scalar_type(), parameter.trainable};
}

at::ScalarType compute_type(const Context& context, const SegmentType& type) {
  const bool floating = c10::isFloatingType(type.stored);
  return floating ? context.options.precision.compute.value_or(type.stored) : type.stored;
}

at::ScalarType master_type(const Context& context, const SegmentType& type) {
  if (!type.trainable) return type.stored;
  return type.stored == at::kDouble ? at::kDouble : context.options.precision.master;
}

layout::FlatLayout layout_of(const Context& context,
                             const std::vector<std::size_t>& parameters,
                             const Inventory& inventory) {
  std::vector<std::int64_t> numels;
  for (const std::size_t p : parameters) numels.push_back(inventory.parameters[p].tensor.numel());
  return {numels, {.num_shards = context.num_shards(), .alignment = layout::kParameterAlignment}};
}

Bytes size_of(const at::Tensor& tensor) {
  return {tensor.numel() * static_cast<std::int64_t>(tensor.element_size())};
}

/// For whoever looks for parameters that are spread, when nobody watches any more.
std::string spread_over_ranks(const std::string& owner) {
  return fmt::format(
      "the parameters of unit \"{}\" are spread over the ranks, and nothing here gathers them: "
      "call its module by sheaf::forward, hold it by state.summon(module), or shard with wake = "
      "touch",
      owner);
}

}  // namespace

Segment::Segment(const Context& context,
                 std::string owner,
                 std::vector<std::size_t> parameters,
                 const Inventory& inventory)
    : owner_(std::move(owner)),
      parameters_(std::move(parameters)),
      layout_(layout_of(context, parameters_, inventory)),
      type_(type_of(inventory.parameters[parameters_.front()])),
      compute_(compute_type(context, type_)),
      master_type_(master_type(context, type_)),
      own_(layout_.shard(context.shard_index())),
      why_freed_(spread_over_ranks(owner_)) {
  const at::NoGradGuard no_grad;
  const memory::HeldFor parameters_of_unit(memory::Purpose::parameters, owner_);
  if (context.options.starts_blank) {
    place_blank(context);
  } else {
    place_memory(context, starting_values(context, inventory));
  }
  master_in_flat_ = master_.is_alias_of(flat_);
  adopt(inventory);
  if (context.cuts_parameters()) free();
}

/// Returns the parameters' values end to end, in the master's type.
at::Tensor Segment::starting_values(const Context& context, const Inventory& inventory) {
  const bool in_flat = !context.cuts_parameters() && type_.trainable && compute_ == master_type_;
  const auto options = at::TensorOptions(context.device).dtype(master_type_);
  at::Tensor values = in_flat ? context.whole_parameters(layout_.size(), master_type_).zero_()
                              : at::zeros({layout_.size()}, options);
  bool same_everywhere = true;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const ParameterInfo& info = inventory.parameters[parameters_[i]];
    const at::Tensor target =
        values.narrow(0, place(i).begin, place(i).size).view(info.tensor.sizes());
    if (!module::is_deferred(info.tensor)) {
      target.copy_(info.tensor);
      same_everywhere = false;
      continue;
    }
    const bool direct = info.tensor.scalar_type() == master_type_;
    const at::Tensor filled = direct ? target : at::empty_like(info.tensor);
    module::fill_deferred(info.tensor, filled, context.options.seed, info.name);
    if (!direct) target.copy_(filled);
  }
  if (context.options.broadcast_start && !same_everywhere) {
    context.world.broadcast(values, 0, {.purpose = comm::Purpose::parameters}).wait();
  }
  return values;
}

void Segment::charge(const Context& context, const at::Tensor& tensor) {
  memory::Ledger ledger = context.options.ledger;
  charges_.push_back(ledger.charge(memory::Purpose::parameters, owner_, size_of(tensor)));
}

/// The same memory as place_memory() gives, filled with zeros.
void Segment::place_blank(const Context& context) {
  const auto options = at::TensorOptions(context.device);
  if (context.cuts_parameters()) {
    master_ = context.lasting_empty(own_.size, master_type_).zero_();
    charge(context, master_);
    // Nobody writes to it before it is taken away, so the system never provides it.
    flat_ = at::empty({layout_.size()}, options.dtype(compute_));
    return;
  }
  flat_ = context.whole_parameters(layout_.size(), compute_).zero_();
  charge(context, flat_);
  master_ =
      compute_ == master_type_ ? own_part() : at::zeros({own_.size}, options.dtype(master_type_));
  if (!master_in_flat()) charge(context, master_);
}

void Segment::place_memory(const Context& context, const at::Tensor& values) {
  const auto options = at::TensorOptions(context.device).dtype(compute_);
  if (context.cuts_parameters()) {
    master_ = context.lasting_empty(own_.size, master_type_);
    master_.copy_(values.narrow(0, own_.begin, own_.size));
    charge(context, master_);
    flat_ = compute_ == master_type_ ? values : at::empty({layout_.size()}, options);
    return;
  }
  if (compute_ == master_type_) {
    flat_ = values;
    master_ = own_part();
    charge(context, flat_);
    return;
  }
  flat_ = context.whole_parameters(layout_.size(), compute_);
  flat_.copy_(values);
  master_ = values.narrow(0, own_.begin, own_.size).clone();
  charge(context, flat_);
  charge(context, master_);
}

/// Makes the model's own parameters views of the flat buffer. set_data keeps the handles that
/// modules hold, and each parameter keeps a version counter of its own.
void Segment::adopt(const Inventory& inventory) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor parameter = inventory.parameters[parameters_[i]].tensor;
    parameter.set_data(flat_.narrow(0, place(i).begin, place(i).size).view(parameter.sizes()));
  }
}

at::Tensor Segment::own_part() const { return flat_.narrow(0, own_.begin, own_.size); }

layout::Range Segment::local_part(std::size_t member) const {
  return layout::intersect(place(member), own_);
}

at::Tensor Segment::part_of(const at::Tensor& like_master, std::size_t member) const {
  const layout::Range part = local_part(member);
  return like_master.narrow(0, part.size == 0 ? 0 : part.begin - own_.begin, part.size);
}

Pending Segment::start_gather(const Context& context) {
  const at::NoGradGuard no_grad;
  const memory::HeldFor gathered(memory::Purpose::gathered, owner_);
  give_memory(flat_);
  memory::Ledger ledger = context.options.ledger;
  gathered_ = ledger.charge(memory::Purpose::gathered, owner_, size_of(flat_));
  return context.issue([&] {
    at::Tensor input = master_;
    if (compute_ != master_type_) {
      input = own_part();
      input.copy_(master_);
    }
    return context.shard.all_gather(
        flat_, input, {.purpose = comm::Purpose::parameters, .unit = owner_});
  });
}

void Segment::free() {
  take_memory(flat_, why_freed_);
  gathered_ = {};
}

void Segment::give_zeros() {
  const at::NoGradGuard no_grad;
  if (!has_memory(flat_)) give_memory(flat_);
  flat_.zero_();
}

Pending Segment::start_refresh(const Context& context, bool copied) {
  const at::NoGradGuard no_grad;
  return context.issue([&] {
    if (!copied && !master_in_flat()) own_part().copy_(master_);
    if (!context.cuts_state()) return comm::Work();
    return context.shard.all_gather(
        flat_, own_part(), {.purpose = comm::Purpose::parameters, .unit = owner_});
  });
}

void Segment::take_over() {
  const at::NoGradGuard no_grad;
  if (master_in_flat()) return;
  // Where nobody wrote, the master keeps the digits that the flat buffer has no room for.
  const at::Tensor written = own_part().ne(master_.to(compute_));
  master_.copy_(at::where(written, own_part().to(master_type_), master_));
}

std::vector<std::vector<std::size_t>> split_by_type(const std::vector<std::size_t>& parameters,
                                                    const Inventory& inventory) {
  std::vector<std::vector<std::size_t>> groups;
  std::map<SegmentType, std::size_t> known;
  for (const std::size_t p : parameters) {
    const auto [place, is_new] = known.emplace(type_of(inventory.parameters[p]), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(p);
  }
  return groups;
}

}  // namespace sheaf::sharding
