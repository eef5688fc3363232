#include <cpuid.h>

#include "amx.h"

namespace sheaf {
namespace {

bool claims_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kTiles = 1U << 24;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kTiles) != 0;
}

/// Says whether the processor tells how large its tiles are, as libraries ask it.
bool describes_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kTileSizes = 0x1d;
  return __get_cpuid_count(kTileSizes, 1, &a, &b, &c, &d) != 0 && a != 0;
}

}  // namespace

bool has_broken_amx() { return claims_amx() && !describes_tiles(); }

}  // namespace sheaf
