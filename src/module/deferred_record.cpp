#include "module/deferred_record.h"

#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty.h>

#include "module/deferred_seed.h"

namespace sheaf::module {
namespace {

void apply(const Step& step, const at::Tensor& flat, const at::Generator& generator) {
  const auto offset = flat.storage_offset() + step.offset;
  step.fill.run(flat.as_strided(step.sizes, step.strides, offset), generator);
}

}  // namespace

std::optional<int> Fill::generator_index() const {
  return op.schema().argumentIndexWithName("generator");
}

void Fill::run(const at::Tensor& self, const at::Generator& generator) const {
  torch::jit::Stack stack{self};
  stack.insert(stack.end(), arguments.begin(), arguments.end());
  if (generator.defined()) stack.at(generator_index().value()) = generator;
  op.callBoxed(stack);
}

Step::Step(Fill what, const at::Tensor& self, DrawPtr random)
    : fill(std::move(what)),
      type(self.scalar_type()),
      sizes(self.sizes().vec()),
      strides(self.strides().vec()),
      offset(self.storage_offset()),
      draw(std::move(random)) {}

void Record::restart(at::ScalarType type) {
  type_ = type;
  steps_.clear();
}

void Record::replay(const at::Tensor& flat, std::optional<Owner> owner) const {
  auto values = flat;
  if (steps_.front().type != type_) {
    values = at::empty(flat.sizes(), flat.options().dtype(steps_.front().type));
  }
  std::size_t num_draws = 0;
  for (const auto& step : steps_) {
    values = values.to(step.type);
    at::Generator generator;
    if (step.draw) generator = generator_from(key_of(*step.draw, num_draws++, owner));
    apply(step, values, generator);
  }
  if (!values.is_same(flat)) flat.copy_(values);
}

}  // namespace sheaf::module
