#include "checkpoint/publish.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/checksum.h"
#include "sheaf/base/error.h"
#include "sheaf/checkpoint/damaged.h"
#include "sheaf/checkpoint/folder.h"
#include "sheaf/checkpoint/reader.h"
#include "sheaf/checkpoint/weights.h"

namespace sheaf::checkpoint {
namespace {

namespace fs = std::filesystem;

void write_text(const std::string& path, const std::string& text, Disk& disk) {
  const File file = disk.create(path, text.size());
  disk.write(file, 0, std::as_bytes(std::span(text)));
  disk.sync(file);
}

SavedFile described(const std::string& name, std::uint64_t size, const std::string& hashed) {
  return {.name = name,
          .size = size,
          .hashed = hashed.size(),
          .hash = checksum_of(std::string_view(hashed))};
}

Manifest manifest_of(const Contents& contents,
                     const FolderPlan& plan,
                     const std::vector<TextFile>& texts,
                     const std::vector<std::vector<WrittenPiece>>& pieces) {
  Manifest manifest{.step = contents.step,
                    .ranks = static_cast<int>(pieces.size()),
                    .mesh = contents.mesh,
                    .run = contents.run,
                    .files = {},
                    .tensors = {}};
  for (const TextFile& text : texts) {
    manifest.files.push_back(described(text.name, text.text.size(), text.text));
  }
  for (const PlannedFile& file : plan.files()) {
    manifest.files.push_back(described(file.name, file.plan.size(), file.plan.header()));
  }
  for (const PlannedTensor& tensor : plan.tensors()) {
    manifest.tensors.push_back({.tensor = tensor.entry.tensor,
                                .file = plan.files()[tensor.file].name,
                                .offset = tensor.entry.begin,
                                .pieces = {}});
  }
  for (const auto& of_rank : pieces) {
    for (const WrittenPiece& each : of_rank) {
      manifest.tensors[each.tensor].pieces.push_back(each.piece);
    }
  }
  for (SavedTensor& tensor : manifest.tensors) {
    std::ranges::sort(tensor.pieces, {}, &Piece::begin);
  }
  return manifest;
}

void check(const std::string& path) {
  try {
    const Reader reader(path);
  } catch (const Damaged& damaged) {
    throw Error(std::string("the ranks did not save a whole checkpoint: ") + damaged.what());
  }
}

/// Whatever has the name already was not written by this run, and is nothing to be replaced.
void check_free(const std::string& place) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(place, ignored))) return;
  throw IoError("a checkpoint of this step is there already, and stays as it is: " + place);
}

}  // namespace

void publish(const std::string& folder,
             const Contents& contents,
             const FolderPlan& plan,
             const std::vector<std::vector<WrittenPiece>>& pieces,
             Disk& disk) {
  const std::string place = path_of_step(folder, contents.step);
  const fs::path unfinished = place + std::string(kUnfinished);
  std::vector<TextFile> texts = contents.texts;
  if (const std::string index = plan.index(); !index.empty()) {
    texts.push_back({std::string(kIndexName), index});
  }
  for (const TextFile& text : texts) write_text(unfinished / text.name, text.text, disk);
  write_text(unfinished / kManifestName,
             format_manifest(manifest_of(contents, plan, texts, pieces)),
             disk);
  check(unfinished);
  check_free(place);
  disk.sync_folder(unfinished);
  disk.rename(unfinished, place);
  disk.sync_folder(folder);
  point_latest(folder, contents.step, disk);
}

}  // namespace sheaf::checkpoint
