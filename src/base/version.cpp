#include "sheaf/base/version.h"

namespace sheaf {

std::string_view version() { return SHEAF_VERSION; }

}  // namespace sheaf
