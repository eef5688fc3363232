#include "memory_labels.h"

#include <string>
#include <utility>

#include "sheaf/memory/holders.h"

namespace sheaf::train {
namespace {

/// Runs a module's forward with its name on what it makes.
class Label final : public module::Claim {
 public:
  explicit Label(std::string owner) : owner_(std::move(owner)) {}

  module::Tensors run(
      const module::Tensors& inputs,
      const std::function<module::Tensors(const module::Tensors&)>& forward) override {
    const memory::HeldFor activations(memory::Purpose::activations, owner_);
    return forward(inputs);
  }

 private:
  std::string owner_;
};

}  // namespace

std::vector<module::ClaimHandle> label_memory(const models::Model& model) {
  std::vector<module::ClaimHandle> handles;
  handles.push_back(module::claim(model, std::make_shared<Label>(kOutsideOfBlocks)));
  const auto modules = model.named_modules();
  for (const std::string& block : model.blocks()) {
    handles.push_back(module::claim(*modules[block], std::make_shared<Label>(block)));
  }
  return handles;
}

}  // namespace sheaf::train
