#include "module/deferred_rules.h"

#include <ATen/ops/clone.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace sheaf::module {
namespace {

using Names = std::unordered_set<std::string_view>;

const Names kConstantFills{"aten::fill_", "aten::zero_"};

const Names kRandomFills{"aten::uniform_",
                         "aten::normal_",
                         "aten::random_",
                         "aten::bernoulli_",
                         "aten::exponential_",
                         "aten::log_normal_",
                         "aten::cauchy_",
                         "aten::geometric_"};

// Element by element; the name of the operator that returns a new tensor has no underscore.
const Names kChanges{"aten::mul_",
                     "aten::div_",
                     "aten::add_",
                     "aten::sub_",
                     "aten::neg_",
                     "aten::abs_",
                     "aten::pow_",
                     "aten::exp_",
                     "aten::log_",
                     "aten::sqrt_",
                     "aten::clamp_",
                     "aten::clamp_min_",
                     "aten::clamp_max_",
                     "aten::erf_",
                     "aten::erfinv_",
                     "aten::tanh_",
                     "aten::tril_",
                     "aten::triu_"};

enum class FactoryFill { kNone, kZero, kOne, kValue, kUniform, kNormal };

const std::unordered_map<c10::OperatorName, FactoryFill> kFactories{
    {{"aten::empty", "memory_format"}, FactoryFill::kNone},
    {{"aten::empty_like", ""}, FactoryFill::kNone},
    {{"aten::empty_strided", ""}, FactoryFill::kNone},
    {{"aten::new_empty", ""}, FactoryFill::kNone},
    {{"aten::new_empty_strided", ""}, FactoryFill::kNone},
    {{"aten::zeros", ""}, FactoryFill::kZero},
    {{"aten::zeros_like", ""}, FactoryFill::kZero},
    {{"aten::new_zeros", ""}, FactoryFill::kZero},
    {{"aten::ones", ""}, FactoryFill::kOne},
    {{"aten::ones_like", ""}, FactoryFill::kOne},
    {{"aten::new_ones", ""}, FactoryFill::kOne},
    {{"aten::full", ""}, FactoryFill::kValue},
    {{"aten::full_like", ""}, FactoryFill::kValue},
    {{"aten::new_full", ""}, FactoryFill::kValue},
    {{"aten::rand", ""}, FactoryFill::kUniform},
    {{"aten::rand_like", ""}, FactoryFill::kUniform},
    {{"aten::randn", ""}, FactoryFill::kNormal},
    {{"aten::randn_like", ""}, FactoryFill::kNormal},
};

c10::OperatorHandle operator_named(const char* name, const char* overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
}

// Single numbers are kept as copies, since the caller may change his. Other tensors are not kept.
bool keep_numbers(Fill& fill) {
  for (auto& argument : fill.arguments) {
    if (argument.isTensorList() || argument.isGenerator()) return false;
    if (!argument.isTensor()) continue;
    const auto& tensor = argument.toTensor();
    if (!tensor.defined() || tensor.dim() != 0 || tensor.is_complex() || waits(tensor)) {
      return false;
    }
    argument = tensor.detach().clone();
  }
  return true;
}

std::optional<Fill> fill_with(const c10::OperatorHandle& op, const torch::jit::Stack& arguments) {
  Fill fill{op, {arguments.begin() + 1, arguments.end()}};
  if (!keep_numbers(fill)) return std::nullopt;
  return fill;
}

bool is_arithmetic(const std::string& name) {
  return kChanges.contains(name) && name != "aten::tril_" && name != "aten::triu_";
}

}  // namespace

std::optional<Fill> as_fill(const c10::OperatorHandle& op, const torch::jit::Stack& arguments) {
  const auto& name = op.operator_name().name;
  const bool known =
      kConstantFills.contains(name) || kRandomFills.contains(name) || kChanges.contains(name);
  if (!known || !arguments.front().isTensor()) return std::nullopt;
  const auto& self = arguments.front().toTensor();
  // Elsewhere the other operand has a say in the type of the result.
  if (is_arithmetic(name) && !(self.is_floating_point() && self.dim() > 0)) return std::nullopt;
  return fill_with(op, arguments);
}

Effect effect_of(const Fill& fill) {
  const auto& name = fill.op.operator_name().name;
  if (kConstantFills.contains(name)) return Effect::kConstant;
  return kRandomFills.contains(name) ? Effect::kRandom : Effect::kChange;
}

std::optional<Fill> as_fill_of_copy(const c10::OperatorHandle& op,
                                    const torch::jit::Stack& arguments) {
  auto name = op.operator_name();
  name.name += '_';
  if (!kChanges.contains(name.name)) return std::nullopt;
  const auto in_place = c10::Dispatcher::singleton().findSchema(name);
  return in_place ? as_fill(*in_place, arguments) : std::nullopt;
}

bool is_factory(const c10::OperatorHandle& op) { return kFactories.contains(op.operator_name()); }

std::optional<Fill> fill_of_factory(const c10::OperatorHandle& op,
                                    const torch::jit::Stack& arguments) {
  static const auto zero = operator_named("aten::zero_", "");
  static const auto fill = operator_named("aten::fill_", "Scalar");
  static const auto uniform = operator_named("aten::uniform_", "");
  static const auto normal = operator_named("aten::normal_", "");
  switch (kFactories.at(op.operator_name())) {
    case FactoryFill::kNone:
      return std::nullopt;
    case FactoryFill::kZero:
      return Fill{zero, {}};
    case FactoryFill::kOne:
      return Fill{fill, {at::Scalar(1)}};
    case FactoryFill::kValue:
      return Fill{fill, {*argument(op, arguments, "fill_value")}};
    case FactoryFill::kUniform:
      return Fill{uniform, {0.0, 1.0, c10::IValue()}};
    case FactoryFill::kNormal:
      return Fill{normal, {0.0, 1.0, c10::IValue()}};
  }
  return std::nullopt;
}

bool is_composite(const c10::OperatorHandle& op) {
  // Below autograd these two are empty() and copy_().
  const auto& name = op.operator_name().name;
  if (name == "aten::clone" || name == "aten::_to_copy") return true;
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
         !op.hasKernelForDispatchKey(c10::DispatchKey::CPU);
}

bool reads(const c10::OperatorHandle& op) {
  if (is_factory(op)) return false;
  const auto& results = op.schema().returns();
  const bool views = !results.empty() && std::ranges::all_of(results, [](const auto& result) {
    return result.alias_info() != nullptr && !result.alias_info()->isWrite();
  });
  return !views;
}

const c10::IValue* argument(const c10::OperatorHandle& op,
                            const torch::jit::Stack& arguments,
                            const std::string& name) {
  const auto index = op.schema().argumentIndexWithName(name);
  return index ? &arguments.at(*index) : nullptr;
}

}  // namespace sheaf::module
