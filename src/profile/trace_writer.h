#pragma once

#include <string>

#include "sheaf/base/recorder.h"
#include "sheaf/profile/recording.h"

namespace sheaf::profile {

/// Category of the events that sheaf adds to a trace.
inline constexpr const char* kSheafCategory = "sheaf";
/// Member of a trace that has what sheaf knows of it.
inline constexpr const char* kSheafNotes = "sheaf";

/// Copies a trace as Kineto writes it and adds the notes: named ranges on tracks of their own, and
/// a member "sheaf" at the top. Throws IoError.
void write_with_notes(const std::string& raw,
                      const std::string& path,
                      const TraceNotes& notes,
                      const Recorder& recorder);

}  // namespace sheaf::profile
