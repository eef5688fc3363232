#include "flat_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/StorageImpl.h>

#include "module/data_pointer.h"

namespace sheaf::sharding {
namespace {

c10::StorageImpl& storage_of(const at::Tensor& tensor) {
  return *tensor.storage().unsafeGetStorageImpl();
}

}  // namespace

void take_memory(const at::Tensor& tensor, const std::string& why) {
  c10::StorageImpl& storage = storage_of(tensor);
  storage.set_data_ptr_noswap(at::DataPtr(nullptr, tensor.device()));
  storage.set_nbytes(0);
  module::forbid_data_pointer(storage, why.c_str());
}

void give_memory(const at::Tensor& tensor) {
  const auto bytes = static_cast<std::size_t>(tensor.numel()) * tensor.element_size();
  c10::StorageImpl& storage = storage_of(tensor);
  module::allow_data_pointer(storage, c10::GetAllocator(tensor.device().type())->allocate(bytes));
  storage.set_nbytes(bytes);
}

bool has_memory(const at::Tensor& tensor) { return storage_of(tensor).nbytes() > 0; }

}  // namespace sheaf::sharding
