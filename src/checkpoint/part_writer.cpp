#include "checkpoint/part_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/checksum.h"
#include "base/quoting.h"
#include "checkpoint/dtypes.h"
#include "checkpoint/spread.h"
#include "sheaf/base/error.h"

namespace sheaf::checkpoint {
namespace {

/// A part and its place.
struct PlacedPart {
  std::size_t tensor = 0;
  std::size_t file = 0;
  /// Where its first element lies.
  std::uint64_t offset = 0;
  const Part* part = nullptr;
};

PlacedPart place(const FolderPlan& plan, const Part& part) {
  const std::size_t number = plan.find(part.name);
  const PlannedTensor& tensor = plan.tensors()[number];
  const TensorSpec& spec = tensor.entry.tensor;
  const bool fits = part.begin >= 0 && part.begin <= spec.numel() &&
                    part.values.numel() <= spec.numel() - part.begin;
  if (part.values.dim() != 1 || !part.values.is_contiguous()) {
    throw UsageError(
        fmt::format("values that are saved must be flat and contiguous, not those of {}",
                    in_quotes(part.name)));
  }
  if (!fits || part.values.scalar_type() != spec.dtype) {
    throw UsageError(
        fmt::format("{} has {} elements of type {}, to be saved were {} of type {} "
                    "from {} on",
                    in_quotes(part.name),
                    spec.numel(),
                    dtype_name(spec.dtype),
                    part.values.numel(),
                    c10::toString(part.values.scalar_type()),
                    part.begin));
  }
  const auto begin = static_cast<std::uint64_t>(part.begin * dtype_size(spec.dtype));
  return {number, tensor.file, tensor.entry.begin + begin, &part};
}

std::vector<PlacedPart> placed(const FolderPlan& plan, const std::vector<Part>& parts) {
  std::vector<PlacedPart> all;
  all.reserve(parts.size());
  for (const Part& part : parts) all.push_back(place(plan, part));
  // Disks are fastest from front to back.
  std::ranges::sort(all, [](const PlacedPart& a, const PlacedPart& b) {
    return std::pair(a.file, a.offset) < std::pair(b.file, b.offset);
  });
  return all;
}

const File& file_of(const FolderPlan& plan,
                    const std::string& folder,
                    std::size_t number,
                    OpenFiles& files,
                    Disk& disk) {
  const auto found = files.find(number);
  if (found != files.end()) return found->second;
  const std::string path = std::filesystem::path(folder) / plan.files()[number].name;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw IoError(
        "another rank made this file, and this rank does not see it: checkpoints need "
        "one file system for all ranks: " +
        path);
  }
  return files.emplace(number, disk.open(path)).first->second;
}

/// A piece, its values, and where its bytes go.
struct PlacedPiece {
  const File* file = nullptr;
  std::uint64_t offset = 0;
  at::Tensor values;
  WrittenPiece written;
};

/// Pieces end at multiples of their size, whatever part they are of, so that they are alike for
/// ranks that cut the tensor differently.
void add_pieces(const PlacedPart& placed, const File& file, std::vector<PlacedPiece>& pieces) {
  const at::Tensor& values = placed.part->values;
  const std::int64_t width = dtype_size(values.scalar_type());
  const std::int64_t most = kPieceBytes / width;
  for (std::int64_t done = 0; done < values.numel();) {
    const std::int64_t begin = placed.part->begin + done;
    const std::int64_t count = std::min(most - begin % most, values.numel() - done);
    pieces.push_back({&file,
                      placed.offset + static_cast<std::uint64_t>(done * width),
                      values.narrow(0, done, count),
                      {placed.tensor, {.begin = begin, .count = count}}});
    done += count;
  }
}

void write(PlacedPiece& piece, Disk& disk) {
  const at::Tensor host = piece.values.cpu();
  const std::span bytes(static_cast<const std::byte*>(host.const_data_ptr()), host.nbytes());
  disk.write(*piece.file, piece.offset, bytes);
  piece.written.piece.hash = checksum_of(bytes);
}

/// A rank that overwrote another's part is noticed here. The bytes come from the system's memory
/// as a rule: to read them from the disk again would double the time of a save, so a disk that
/// lies about what it has is noticed only by whoever loads or verifies the checkpoint.
void compare(const PlacedPiece& piece, Disk& disk) {
  // Small enough for a core's own cache, where it is hashed.
  constexpr std::size_t kBlock = 256 << 10;
  std::vector<std::byte> block(std::min(kBlock, piece.values.nbytes()));
  Checksum checksum;
  for (std::size_t done = 0; done < piece.values.nbytes(); done += block.size()) {
    block.resize(std::min(block.size(), piece.values.nbytes() - done));
    disk.read(*piece.file, piece.offset + done, block);
    checksum.add(block);
  }
  if (checksum.value() == piece.written.piece.hash) return;
  throw IoError("the disk gave back other bytes than were written: " + piece.file->path());
}

}  // namespace

OpenFiles make_files(const FolderPlan& plan, const std::string& folder, int rank, Disk& disk) {
  OpenFiles files;
  for (std::size_t i = 0; i < plan.files().size(); ++i) {
    const PlannedFile& planned = plan.files()[i];
    if (planned.owner != rank) continue;
    const std::string path = std::filesystem::path(folder) / planned.name;
    const File& file = files.emplace(i, disk.create(path, planned.plan.size())).first->second;
    disk.write(file, 0, std::as_bytes(std::span(planned.plan.header())));
  }
  return files;
}

void check_parts(const FolderPlan& plan, const std::vector<Part>& parts) {
  for (const Part& part : parts) static_cast<void>(place(plan, part));
}

std::vector<WrittenPiece> write_parts(const FolderPlan& plan,
                                      const std::string& folder,
                                      const std::vector<Part>& parts,
                                      OpenFiles& files,
                                      Disk& disk,
                                      int threads) {
  std::vector<PlacedPiece> pieces;
  for (const PlacedPart& part : placed(plan, parts)) {
    add_pieces(part, file_of(plan, folder, part.file, files, disk), pieces);
  }
  spread(pieces.size(), threads, [&](std::size_t i) { write(pieces[i], disk); });
  for (const auto& [number, file] : files) disk.sync(file);
  spread(pieces.size(), threads, [&](std::size_t i) { compare(pieces[i], disk); });
  std::vector<WrittenPiece> written;
  written.reserve(pieces.size());
  for (const PlacedPiece& piece : pieces) written.push_back(piece.written);
  return written;
}

}  // namespace sheaf::checkpoint
