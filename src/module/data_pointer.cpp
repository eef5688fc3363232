#include "module/data_pointer.h"

#include <string>

namespace sheaf::module {
namespace {

using Flag = bool c10::StorageImpl::*;

Flag throws_on_access();

// LibTorch can set this flag and not clear it. An explicit instantiation may name what is private.
template <Flag kFlag>
struct Named {
  friend Flag throws_on_access() { return kFlag; }
};
template struct Named<&c10::StorageImpl::throw_on_immutable_data_ptr_>;

}  // namespace

void forbid_data_pointer(c10::StorageImpl& storage, const char* message) {
  storage.release_data_and_set_meta_custom_data_ptr_error_msg_(std::string(message));
}

void allow_data_pointer(c10::StorageImpl& storage, c10::DataPtr memory) {
  storage.*throws_on_access() = false;
  storage.set_data_ptr_noswap(std::move(memory));
}

}  // namespace sheaf::module
