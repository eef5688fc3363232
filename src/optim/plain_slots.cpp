#include "sheaf/optim/plain_slots.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/quoting.h"
#include "elements_of.h"
#include "sheaf/base/error.h"

namespace sheaf::optim {
namespace {

using NamedParameter = std::pair<std::string, at::Tensor>;

void check_parameter(const NamedParameter& parameter) {
  const auto& [name, tensor] = parameter;
  if (!tensor.defined()) throw UsageError("parameter " + in_quotes(name) + " is undefined");
  if (type_of(tensor) == Type::none) {
    throw UsageError(
        fmt::format("parameter {} must be fp16, bf16, fp32 or fp64 to be stepped, got {}",
                    in_quotes(name),
                    c10::toString(tensor.scalar_type())));
  }
  if (!tensor.is_contiguous()) {
    throw UsageError("parameter " + in_quotes(name) + " must be contiguous to be stepped");
  }
}

/// Returns the parameters without repeated tensors.
std::vector<NamedParameter> checked(std::vector<NamedParameter> parameters) {
  std::vector<NamedParameter> kept;
  for (NamedParameter& parameter : parameters) {
    check_parameter(parameter);
    const auto same_tensor = [&](const auto& other) {
      return other.second.is_same(parameter.second);
    };
    if (std::ranges::any_of(kept, same_tensor)) continue;
    const auto same_name = [&](const auto& other) { return other.first == parameter.first; };
    if (std::ranges::any_of(kept, same_name)) {
      throw UsageError("two parameters have the name " + in_quotes(parameter.first));
    }
    kept.push_back(std::move(parameter));
  }
  return kept;
}

Segment segment_of(const NamedParameter& parameter) {
  const auto& [name, tensor] = parameter;
  const at::Tensor flat = tensor.detach().view({-1});
  const Type type = type_of(flat);
  const bool is_low = type == Type::fp16 || type == Type::bf16;
  return {.master = is_low ? flat.to(at::kFloat) : flat,
          .copy = is_low ? flat : at::Tensor(),
          .slots = {{.name = name, .shape = tensor.sizes().vec(), .size = tensor.numel()}}};
}

class PlainSlots final : public SlotSource {
 public:
  explicit PlainSlots(std::vector<NamedParameter> parameters) : parameters_(std::move(parameters)) {
    for (const NamedParameter& parameter : parameters_) segments_.push_back(segment_of(parameter));
  }

  const std::vector<Segment>& segments() const override { return segments_; }
  at::Tensor new_state(std::size_t segment,
                       std::string_view /*what*/,
                       at::ScalarType type) override {
    return at::zeros_like(segments_[segment].master, type);
  }

  void begin_step() override {
    for (const auto& [name, tensor] : parameters_) {
      if (!tensor.grad().defined() || tensor.grad().layout() == at::kStrided) continue;
      throw UsageError("the gradient of parameter " + in_quotes(name) +
                       " is sparse, which is not stepped");
    }
  }
  at::Tensor gradient(std::size_t segment) override {
    const at::Tensor& grad = parameters_[segment].second.grad();
    if (!grad.defined()) return {};
    return grad.detach().to(segments_[segment].master.scalar_type()).contiguous().view({-1});
  }
  bool takes_part(std::size_t segment, std::size_t /*slot*/) const override {
    return parameters_[segment].second.grad().defined();
  }
  void stepped(std::size_t segment) override {
    // The kernels write past autograd, which must not use values it saved before.
    if (takes_part(segment, 0)) parameters_[segment].second.unsafeGetTensorImpl()->bump_version();
  }
  void end_step() override {
    for (auto& [name, tensor] : parameters_) tensor.mutable_grad().reset();
  }

 private:
  std::vector<NamedParameter> parameters_;
  std::vector<Segment> segments_;
};

}  // namespace

Slots plain_slots(std::vector<NamedParameter> named_parameters) {
  return std::make_shared<PlainSlots>(checked(std::move(named_parameters)));
}

}  // namespace sheaf::optim
