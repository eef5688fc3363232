#include "amx.h"

namespace sheaf {

bool has_broken_amx() { return false; }

}  // namespace sheaf
