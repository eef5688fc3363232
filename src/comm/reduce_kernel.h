#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend.h"

namespace sheaf::comm {

[[nodiscard]] bool is_reducible(c10::ScalarType dtype);
/// Throws UsageError unless tensors of `dtype` can be reduced.
void check_reducible(c10::ScalarType dtype);

/// Reduces `count` elements of every input and writes the result to every output; an output may be
/// one of the inputs. Adds in the order of `inputs`, in fp32 for half types (rounded once), so the
/// result depends on nothing else. For an average the divisor is the number of inputs.
void reduce(std::span<std::byte* const> outputs,
            std::span<const std::byte* const> inputs,
            std::int64_t count,
            c10::ScalarType dtype,
            Reduce how);

}  // namespace sheaf::comm
