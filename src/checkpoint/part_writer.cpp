#include "checkpoint/part_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/checksum.h"
#include "base/quoting.h"
#include "checkpoint/dtypes.h"
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

/// A piece, and where its bytes are.
struct PlacedPiece {
  std::size_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  WrittenPiece written;
};

class Writer {
 public:
  Writer(const FolderPlan& plan, const std::string& folder, OpenFiles& files, Disk& disk)
      : plan_(plan), folder_(folder), files_(files), disk_(disk) {}

  /// Pieces end at multiples of their size, whatever part they are of, so that they are alike for
  /// ranks that cut the tensor differently.
  void write(const PlacedPart& placed) {
    const at::Tensor& values = placed.part->values;
    const std::int64_t width = dtype_size(values.scalar_type());
    const std::int64_t most = kPieceBytes / width;
    const File& file = file_of(plan_, folder_, placed.file, files_, disk_);
    for (std::int64_t done = 0; done < values.numel();) {
      const std::int64_t begin = placed.part->begin + done;
      const std::int64_t count = std::min(most - begin % most, values.numel() - done);
      const at::Tensor host = values.narrow(0, done, count).cpu();
      const std::span bytes(static_cast<const std::byte*>(host.const_data_ptr()), host.nbytes());
      const std::uint64_t offset = placed.offset + static_cast<std::uint64_t>(done * width);
      disk_.write(file, offset, bytes);
      const Piece piece{.begin = begin, .count = count, .hash = checksum_of(bytes)};
      pieces_.push_back({placed.file, offset, bytes.size(), {placed.tensor, piece}});
      done += count;
    }
  }

  void sync() {
    for (const auto& [number, file] : files_) disk_.sync(file);
  }

  /// A rank that overwrote another's part is noticed here. The bytes come from the system's memory
  /// as a rule: to read them from the disk again would double the time of a save, so a disk that
  /// lies about what it has is noticed only by whoever loads or verifies the checkpoint.
  std::vector<WrittenPiece> compare() {
    std::vector<WrittenPiece> written;
    std::vector<std::byte> bytes;
    for (const PlacedPiece& piece : pieces_) {
      bytes.resize(piece.size);
      const File& file = files_.at(piece.file);
      disk_.read(file, piece.offset, bytes);
      if (checksum_of(std::span<const std::byte>(bytes)) != piece.written.piece.hash) {
        throw IoError("the disk gave back other bytes than were written: " + file.path());
      }
      written.push_back(piece.written);
    }
    return written;
  }

 private:
  const FolderPlan& plan_;
  const std::string& folder_;
  OpenFiles& files_;
  Disk& disk_;
  std::vector<PlacedPiece> pieces_;
};

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
                                      Disk& disk) {
  Writer writer(plan, folder, files, disk);
  for (const PlacedPart& part : placed(plan, parts)) writer.write(part);
  writer.sync();
  return writer.compare();
}

}  // namespace sheaf::checkpoint
