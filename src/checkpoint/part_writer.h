#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/disk.h"
#include "checkpoint/folder_plan.h"
#include "sheaf/checkpoint/manifest.h"

namespace sheaf::checkpoint {

/// A piece, and the number that the plan gives its tensor.
struct WrittenPiece {
  std::size_t tensor = 0;
  Piece piece;
};

/// Files by their number in the plan.
using OpenFiles = std::map<std::size_t, File>;

/// Makes the files whose owner is `rank`, with their headers.
[[nodiscard]] OpenFiles make_files(const FolderPlan& plan,
                                   const std::string& folder,
                                   int rank,
                                   Disk& disk);

/// Throws UsageError for a part that the plan has no place for.
void check_parts(const FolderPlan& plan, const std::vector<Part>& parts);

/// Writes parts, waits until the disk has them, and reads them again to compare, by so many
/// threads. `files` are those that are open already. Throws IoError, and as check_parts() does.
[[nodiscard]] std::vector<WrittenPiece> write_parts(const FolderPlan& plan,
                                                    const std::string& folder,
                                                    const std::vector<Part>& parts,
                                                    OpenFiles& files,
                                                    Disk& disk,
                                                    int threads);

}  // namespace sheaf::checkpoint
