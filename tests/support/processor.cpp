#include "base/amx.h"

namespace sheaf::testing {
namespace {

// Before main, since tests have none of their own; programs that a test starts inherit it.
[[maybe_unused]] const bool kAvoided = [] {
  avoid_broken_amx();
  return true;
}();

}  // namespace
}  // namespace sheaf::testing
