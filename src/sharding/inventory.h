#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>
#include <vector>

namespace torch::nn {
class Module;
}

namespace sheaf::sharding {

struct ModuleInfo {
  /// Its path in the model; empty for the root.
  std::string name;
  const torch::nn::Module* module = nullptr;
  /// Its C++ type, such as "torch::nn::LinearImpl".
  std::string type;
  /// Index of the module around it; the root's is its own.
  std::size_t parent = 0;
};

struct ParameterInfo {
  /// The first name it is registered under.
  std::string name;
  /// Other names of the same tensor: it is tied.
  std::vector<std::string> aliases;
  at::Tensor tensor;
  /// Indices of the modules it is registered in.
  std::vector<std::size_t> owners;
  bool trainable = true;
};

struct BufferInfo {
  std::string name;
  at::Tensor tensor;
};

/// What a model consists of: modules before those inside them, all else in order of registration,
/// every tensor once.
struct Inventory {
  std::vector<ModuleInfo> modules;
  std::vector<ParameterInfo> parameters;
  std::vector<BufferInfo> buffers;
};

[[nodiscard]] Inventory take_inventory(const torch::nn::Module& root);

/// Tells whether `inner` lies in `outer` or is it.
[[nodiscard]] bool lies_in(const Inventory& inventory, std::size_t inner, std::size_t outer);

}  // namespace sheaf::sharding
