#include "same_tensors.h"

#include <ATen/ATen.h>

#include "on_ranks.h"
#include "sheaf/checkpoint/reader.h"

namespace sheaf::testing {

void require_same_tensors(const std::string& actual, const std::string& expected) {
  const checkpoint::Reader a(actual);
  const checkpoint::Reader b(expected);
  require(a.manifest().tensors.size() == b.manifest().tensors.size(), "another number of tensors");
  for (const auto& [tensor, file, offset, pieces] : b.manifest().tensors) {
    const at::Tensor got = at::empty({tensor.numel()}, tensor.dtype);
    const at::Tensor wanted = at::empty({tensor.numel()}, tensor.dtype);
    a.read(tensor.name, 0, got);
    b.read(tensor.name, 0, wanted);
    require_equal(got, wanted, tensor.name);
  }
}

}  // namespace sheaf::testing
