#pragma once

#include <cstdint>
#include <string>

#include "sheaf/base/units.h"

// Numbers as people read them on the console.
namespace sheaf::train {

/// Returns the number with commas between thousands: "1,234,567".
[[nodiscard]] std::string grouped(std::int64_t number);

/// Returns a speed without its unit: "1,234", or with digits where it is small, "3.21".
[[nodiscard]] std::string rate_text(double rate);

/// Returns FLOP or FLOP/s with a prefix: "989.0 TFLOP/s".
[[nodiscard]] std::string flops_text(double flops, const char* unit = "FLOP/s");

/// Returns a part of one as "41.2 %".
[[nodiscard]] std::string percent_text(double part);

/// Returns an estimate, so without parts of a second: "45 s left", "12.3 min left".
[[nodiscard]] std::string left_text(Seconds time);

/// Returns how many there are of something: "1 device", "4 devices".
[[nodiscard]] std::string count_text(std::int64_t count, const std::string& singular);

}  // namespace sheaf::train
