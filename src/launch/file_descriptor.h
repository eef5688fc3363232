#pragma once

#include "base/file_descriptor.h"

namespace sheaf::launch {

using sheaf::FileDescriptor;

}  // namespace sheaf::launch
