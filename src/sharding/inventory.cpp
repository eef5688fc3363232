#include "inventory.h"

#include <torch/nn/module.h>

#include <unordered_map>

namespace sheaf::sharding {
namespace {

class Walk {
 public:
  explicit Walk(Inventory& inventory) : inventory_(inventory) {}

  void visit(const torch::nn::Module& module, const std::string& name, std::size_t parent) {
    const std::size_t self = inventory_.modules.size();
    inventory_.modules.push_back({name, &module, module.name(), parent});
    const std::string prefix = name.empty() ? "" : name + ".";
    for (const auto& item : module.named_parameters(/*recurse=*/false)) {
      add_parameter(prefix + item.key(), item.value(), self);
    }
    for (const auto& item : module.named_buffers(/*recurse=*/false)) {
      const bool is_new = buffers_.emplace(item.value().unsafeGetTensorImpl(), 0).second;
      if (is_new) inventory_.buffers.push_back({prefix + item.key(), item.value()});
    }
    for (const auto& child : module.named_children()) {
      visit(*child.value(), prefix + child.key(), self);
    }
  }

 private:
  void add_parameter(const std::string& name, const at::Tensor& tensor, std::size_t owner) {
    const auto [place, is_new] =
        parameters_.emplace(tensor.unsafeGetTensorImpl(), inventory_.parameters.size());
    if (is_new) {
      inventory_.parameters.push_back({name, {}, tensor, {owner}, tensor.requires_grad()});
      return;
    }
    ParameterInfo& known = inventory_.parameters[place->second];
    known.aliases.push_back(name);
    known.owners.push_back(owner);
  }

  Inventory& inventory_;
  std::unordered_map<const void*, std::size_t> parameters_;
  std::unordered_map<const void*, std::size_t> buffers_;
};

}  // namespace

Inventory take_inventory(const torch::nn::Module& root) {
  Inventory inventory;
  Walk(inventory).visit(root, "", 0);
  return inventory;
}

bool lies_in(const Inventory& inventory, std::size_t inner, std::size_t outer) {
  while (inner != outer && inner != 0) inner = inventory.modules[inner].parent;
  return inner == outer;
}

}  // namespace sheaf::sharding
