#pragma once

#include <optional>
#include <string>

namespace sheaf::testing {

/// Returns the torchrun of .deps/venv, VIRTUAL_ENV or PATH: the first there is.
[[nodiscard]] std::optional<std::string> find_torchrun();

/// Why a test that needs it is skipped.
inline constexpr const char* kInstallTorchrun =
    "torchrun is not in .deps/venv, VIRTUAL_ENV or PATH: run './dev setup' or 'pip install torch'";

}  // namespace sheaf::testing
