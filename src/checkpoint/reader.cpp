#include "sheaf/checkpoint/reader.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <span>

#include "base/checksum.h"
#include "base/quoting.h"
#include "checkpoint/disk.h"
#include "checkpoint/dtypes.h"
#include "checkpoint/json_object.h"
#include "checkpoint/spread.h"
#include "sheaf/checkpoint/damaged.h"
#include "sheaf/checkpoint/folder.h"

namespace sheaf::checkpoint {
namespace {

namespace fs = std::filesystem;

// Bytes that the system is asked for in advance.
constexpr std::int64_t kAhead = 8 << 20;

[[noreturn]] void refuse(const std::string& path) {
  throw IoError(fmt::format("cannot read a file ({}): {}", std::strerror(errno), path));
}

File open_to_read(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd >= 0) return {fd, path};
  if (errno == ENOENT || errno == ENOTDIR) throw Damaged(path + ": the file is missing");
  refuse(path);
}

void read_bytes(const File& file, std::uint64_t offset, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const auto done = ::pread(file.fd(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) refuse(file.path());
    if (done == 0) throw Damaged(file.path() + ": the file is cut short");
    offset += static_cast<std::uint64_t>(done);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

Manifest read_manifest(const std::string& folder) {
  const std::string path = fs::path(folder) / kManifestName;
  try {
    return parse_manifest(read_text(path));
  } catch (const IoError&) {
    throw;
  } catch (const UnknownVersion& version) {
    std::rethrow_exception(version.with_prefix(path + ": "));
  } catch (const Error& error) {
    throw Damaged(fmt::format("{}: {}", path, error.what()));
  }
}

/// Opens a file and compares all that the manifest says of it as a whole.
File open_checked(const std::string& folder, const SavedFile& saved) {
  File file = open_to_read(fs::path(folder) / saved.name);
  struct stat status = {};
  if (::fstat(file.fd(), &status) != 0) refuse(file.path());
  if (!S_ISREG(status.st_mode)) throw Damaged(file.path() + ": not a file");
  if (static_cast<std::uint64_t>(status.st_size) != saved.size) {
    throw Damaged(fmt::format("{}: the file has {} bytes, and had {} when it was saved",
                              file.path(),
                              status.st_size,
                              saved.size));
  }
  std::vector<std::byte> bytes(saved.hashed);
  read_bytes(file, 0, bytes);
  if (checksum_of(std::span<const std::byte>(bytes)) == saved.hash) return file;
  throw Damaged(fmt::format("{}: the {} other bytes than were saved",
                            file.path(),
                            saved.hashed == saved.size ? "file has" : "header has"));
}

/// Refuses what nobody saved: it might be taken for a part of the model.
void check_no_others(const std::string& folder, const Manifest& manifest) {
  std::set<std::string> known{std::string(kManifestName)};
  for (const SavedFile& file : manifest.files) known.insert(file.name);
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    const std::string name = each->path().filename();
    if (name.front() == '.' || known.contains(name)) continue;
    throw Damaged(
        fmt::format("{}: the manifest names no such file", (fs::path(folder) / name).string()));
  }
  if (error) throw IoError(fmt::format("cannot read a folder ({}): {}", error.message(), folder));
}

}  // namespace

struct Reader::Impl {
  explicit Impl(const std::string& folder) : path(folder), manifest(read_manifest(folder)) {
    check_no_others(folder, manifest);
    for (const SavedFile& file : manifest.files) {
      files.emplace(file.name, open_checked(folder, file));
    }
    for (const SavedTensor& tensor : manifest.tensors) by_name.emplace(tensor.tensor.name, &tensor);
  }

  /// Lets the system fetch the elements that come next while others are hashed.
  void expect(const SavedTensor& saved, std::int64_t begin, std::int64_t end) const {
    const std::int64_t width = dtype_size(saved.tensor.dtype);
    const auto offset = static_cast<off_t>(saved.offset) + begin * width;
    const std::int64_t size = std::min((end - begin) * width, kAhead);
    if (size == 0) return;
    // Only advice: what it does not do costs time, and nothing else.
    static_cast<void>(
        ::posix_fadvise(files.at(saved.file).fd(), offset, size, POSIX_FADV_WILLNEED));
  }

  /// Reads a piece to where its bytes are wanted, and compares.
  void read_piece(const SavedTensor& saved, const Piece& piece, std::span<std::byte> bytes) const {
    const auto width = static_cast<std::uint64_t>(dtype_size(saved.tensor.dtype));
    const File& file = files.at(saved.file);
    read_bytes(file, saved.offset + static_cast<std::uint64_t>(piece.begin) * width, bytes);
    if (checksum_of(std::span<const std::byte>(bytes)) == piece.hash) return;
    throw Damaged(
        fmt::format("{}: {} has other values than were saved, among the {} elements from "
                    "{} on",
                    file.path(),
                    in_quotes(saved.tensor.name),
                    piece.count,
                    piece.begin));
  }

  /// Returns what is wrong with a piece; empty if nothing is.
  [[nodiscard]] std::string problem_with(const SavedTensor& saved, const Piece& piece) const {
    std::vector<std::byte> bytes(
        static_cast<std::size_t>(piece.count * dtype_size(saved.tensor.dtype)));
    try {
      read_piece(saved, piece, bytes);
      return "";
    } catch (const Damaged& damaged) {
      return damaged.what();
    }
  }

  std::string path;
  Manifest manifest;
  std::map<std::string, File> files;
  std::map<std::string, const SavedTensor*> by_name;
};

Reader::Reader(const std::string& folder) : impl_(std::make_unique<Impl>(folder)) {}
Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;

const std::string& Reader::path() const { return impl_->path; }
const Manifest& Reader::manifest() const { return impl_->manifest; }

const SavedTensor* Reader::find(const std::string& name) const {
  const auto found = impl_->by_name.find(name);
  return found == impl_->by_name.end() ? nullptr : found->second;
}

void Reader::read(const std::string& name, std::int64_t begin, const at::Tensor& target) const {
  const at::NoGradGuard no_grad;
  const SavedTensor* saved = find(name);
  const std::int64_t numel = saved == nullptr ? 0 : saved->tensor.numel();
  const std::int64_t end = begin + target.numel();
  if (saved == nullptr || begin < 0 || end > numel) {
    throw UsageError(fmt::format("{} has {} elements in {}, asked for {} from {} on",
                                 in_quotes(name),
                                 numel,
                                 impl_->path,
                                 target.numel(),
                                 begin));
  }
  const at::ScalarType dtype = saved->tensor.dtype;
  const bool direct = target.is_cpu() && target.scalar_type() == dtype;
  std::vector<std::byte> scratch;
  for (const Piece& piece : saved->pieces) {
    const std::int64_t first = std::max(begin, piece.begin);
    const std::int64_t last = std::min(end, piece.begin + piece.count);
    if (first >= last) continue;
    impl_->expect(*saved, last, end);
    const at::Tensor part = target.narrow(0, first - begin, last - first);
    const auto size = static_cast<std::size_t>(piece.count * dtype_size(dtype));
    if (direct && last - first == piece.count) {
      impl_->read_piece(*saved, piece, {static_cast<std::byte*>(part.mutable_data_ptr()), size});
      continue;
    }
    scratch.resize(size);
    impl_->read_piece(*saved, piece, scratch);
    const at::Tensor values = at::from_blob(scratch.data(), {piece.count}, dtype);
    part.copy_(values.narrow(0, first - piece.begin, last - first));
  }
}

void Reader::read(const std::vector<Part>& targets) const {
  const bool on_host =
      std::ranges::all_of(targets, [](const Part& part) { return part.values.is_cpu(); });
  spread(targets.size(), on_host ? 2 : 1, [&](std::size_t i) {
    read(targets[i].name, targets[i].begin, targets[i].values);
  });
}

void Reader::verify(const std::function<void(const std::string&)>& problem) const {
  for (const SavedTensor& saved : impl_->manifest.tensors) {
    for (const Piece& piece : saved.pieces) {
      const std::string found = impl_->problem_with(saved, piece);
      if (!found.empty()) problem(found);
    }
  }
}

Reader open_step(const std::string& path) {
  Reader reader(path);
  const fs::path given(path);
  const fs::path plain = given.has_filename() ? given : given.parent_path();
  const auto named = step_of_name(plain.filename().string());
  if (!named || *named == reader.manifest().step) return reader;
  throw Damaged(fmt::format("{}: it was saved at step {}", path, reader.manifest().step));
}

}  // namespace sheaf::checkpoint
