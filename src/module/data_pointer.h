#pragma once

#include <c10/core/StorageImpl.h>

namespace sheaf::module {

/// Makes every look at a storage's data pointer an error that says `message`.
void forbid_data_pointer(c10::StorageImpl& storage, const char* message);

/// Puts memory into a storage and makes its data pointer an ordinary one again.
void allow_data_pointer(c10::StorageImpl& storage, c10::DataPtr memory);

}  // namespace sheaf::module
