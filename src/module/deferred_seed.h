#pragma once

#include <ATen/core/Generator.h>

#include <cstdint>
#include <string_view>

namespace sheaf::module {

/// Returns a number that depends on both inputs alone, on every machine and in every run.
[[nodiscard]] std::uint64_t mix(std::uint64_t seed, std::uint64_t value);
[[nodiscard]] std::uint64_t mix(std::uint64_t seed, std::string_view text);

/// Returns a CPU generator whose numbers depend on all 64 bits of `key`.
[[nodiscard]] at::Generator generator_from(std::uint64_t key);

}  // namespace sheaf::module
