#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sheaf/base/units.h"
#include "sheaf/checkpoint/part.h"
#include "sheaf/checkpoint/safetensors.h"
#include "sheaf/comm/group.h"
#include "sheaf/layout/mesh_shape.h"

namespace sheaf::checkpoint {

class Disk;

struct TextFile {
  std::string name;
  std::string text;
};

/// What a checkpoint is to hold, the same on all ranks. Every element of every tensor is a part of
/// exactly one rank.
struct Contents {
  std::int64_t step = 0;
  /// Go to model*.safetensors, which others than sheaf read.
  std::vector<TensorSpec> weights;
  /// Go to state*.safetensors.
  std::vector<TensorSpec> state;
  /// Other files; only rank 0's count.
  std::vector<TextFile> texts;
  std::vector<layout::Axis> mesh;
  /// A JSON object; see Manifest::run.
  std::string run = "{}";
};

struct SaverOptions {
  /// Holds the checkpoints; must be there already.
  std::string folder;
  comm::Group group;
  /// Whether threads of its own copy the values and write them.
  bool asynchronous = false;
  /// Tensors are spread over about as many files as there are ranks, but not over smaller ones.
  Bytes smallest_file = mebibytes(16);
  /// Called on rank 0 with the step, perhaps by another thread, when a checkpoint is in its place.
  /// Must not throw.
  std::function<void(std::int64_t)> published = nullptr;
  /// Null: the real one.
  std::shared_ptr<Disk> disk = nullptr;
};

/// A checkpoint that is in its place.
struct Saved {
  std::int64_t step = 0;
  std::string path;
  /// Of all ranks.
  Bytes bytes;
  /// From start() to the end.
  Seconds time{0};
};

/// Saves checkpoints together with all ranks: each writes its own parts of common files, and when
/// the disk has everything, rank 0 adds the manifest and moves the folder to its place. What is not
/// in its place does not count. All calls but the destructor and busy() are made by all ranks
/// together, and exchange a few numbers.
class Saver {
 public:
  explicit Saver(SaverOptions options);
  /// Waits for this rank's threads; a save that was not waited for does not count.
  ~Saver();
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  [[nodiscard]] bool busy() const;
  /// Begins to save. The parts may change again after secure(). Throws as wait() does, and
  /// UsageError for a part that the contents have no place for.
  void start(Contents contents, const std::vector<Part>& parts);
  /// Returns when this rank's values have been copied, or else written; so there is time to compute
  /// with them after start(). Every rank may call it for itself.
  void secure();
  /// Goes on with the save as far as it can without waiting; returns the checkpoint when it is in
  /// its place. Throws as wait() does.
  [[nodiscard]] std::optional<Saved> poll();
  /// The same, but waits; returns nothing where nothing is being saved. Where any rank failed, all
  /// throw its error (IoError for the disk), what was written is removed, and older checkpoints are
  /// as they were.
  [[nodiscard]] std::optional<Saved> wait();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sheaf::checkpoint
