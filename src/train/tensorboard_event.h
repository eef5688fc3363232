#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What TensorBoard reads: protocol buffers of the type Event, each framed as a TFRecord.
namespace sheaf::train {

/// When something happened.
struct Moment {
  /// Seconds since 1970.
  double wall_time = 0;
  std::int64_t step = 0;
};

struct Scalar {
  std::string tag;
  double value = 0;
};

/// Returns the event that every file starts with.
[[nodiscard]] std::string version_event(double wall_time);
[[nodiscard]] std::string scalars_event(const Moment& moment, const std::vector<Scalar>& scalars);
/// Returns a text, which the page shows as Markdown.
[[nodiscard]] std::string text_event(const Moment& moment,
                                     std::string_view tag,
                                     std::string_view text);

/// Returns length, checksum of the length, event and checksum of the event.
[[nodiscard]] std::string as_record(std::string_view event);

}  // namespace sheaf::train
