#include "support/safetensors.h"

#include <ATen/ops/empty.h>

#include <vector>

#include "sheaf/checkpoint/safetensors_writer.h"

namespace sheaf::testing {

void write_safetensors(const std::string& path, const TensorFile& tensors) {
  std::vector<checkpoint::TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) {
    specs.push_back({name, tensor.scalar_type(), tensor.sizes().vec()});
  }
  checkpoint::SafetensorsWriter writer(path, checkpoint::SafetensorsPlan(specs));
  for (const auto& [name, tensor] : tensors) writer.write(name, 0, tensor);
  writer.finish();
}

TensorFile read_safetensors(const std::string& path) {
  const checkpoint::SafetensorsFile file(path);
  TensorFile tensors;
  for (const checkpoint::TensorEntry& entry : file.tensors()) {
    const at::Tensor tensor = at::empty(entry.tensor.shape, entry.tensor.dtype);
    file.read(entry, 0, tensor.view(-1));
    tensors[entry.tensor.name] = tensor;
  }
  return tensors;
}

}  // namespace sheaf::testing
