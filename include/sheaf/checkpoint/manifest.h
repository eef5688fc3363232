#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sheaf/checkpoint/safetensors.h"
#include "sheaf/layout/mesh_shape.h"

namespace sheaf::checkpoint {

inline constexpr std::string_view kManifestName = "manifest.json";
/// The version of the format that this program writes, and the only one that it reads.
inline constexpr int kManifestVersion = 1;
/// Hashed and written at a time, so the least that a reader reads to check what it needs, and the
/// most that it has to hold.
inline constexpr std::int64_t kPieceBytes = 4 << 20;

/// Elements of a flattened tensor that one rank wrote at once, and the XXH3 of their bytes.
struct Piece {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  std::uint64_t hash = 0;

  bool operator==(const Piece&) const = default;
};

/// A tensor of a checkpoint and where it lies.
struct SavedTensor {
  TensorSpec tensor;
  /// Name of its file.
  std::string file;
  /// First byte, counted from the start of the file.
  std::uint64_t offset = 0;
  /// All of its elements, in order.
  std::vector<Piece> pieces;
};

/// A file of a checkpoint. Of one with tensors only the header is hashed here.
struct SavedFile {
  std::string name;
  std::uint64_t size = 0;
  /// Bytes at the beginning that `hash` is of.
  std::uint64_t hashed = 0;
  std::uint64_t hash = 0;
};

/// What a checkpoint consists of; docs/checkpoints.md describes the file.
struct Manifest {
  std::int64_t step = 0;
  /// Who wrote it: the number of ranks, and their axes.
  int ranks = 1;
  std::vector<layout::Axis> mesh;
  /// A JSON object: whatever else the run needs to go on.
  std::string run = "{}";
  std::vector<SavedFile> files;
  std::vector<SavedTensor> tensors;

  /// Returns the bytes of all files but the manifest.
  [[nodiscard]] std::uint64_t bytes() const;
};

[[nodiscard]] std::string format_manifest(const Manifest& manifest);

/// Reads the text of a manifest and checks that it fits together: files, places, pieces. Throws
/// Damaged that says what is wrong, and UnknownVersion, both without the file's name.
[[nodiscard]] Manifest parse_manifest(std::string_view text);

}  // namespace sheaf::checkpoint
