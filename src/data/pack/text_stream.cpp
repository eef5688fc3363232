#include "data/pack/text_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/mapped_file.h"
#include "data/gzip.h"
#include "data/zstd.h"
#include "sheaf/base/error.h"

namespace sheaf::data {
namespace {

/// A file that is read from its beginning to its end, and only what is being read stays in memory.
class FileInOrder {
 public:
  explicit FileInOrder(MappedFile file) : file_(std::move(file)) {}

  [[nodiscard]] std::span<const std::byte> bytes() const { return file_.bytes(); }
  /// Says that nothing before `end` is needed any more.
  void has_read(std::size_t end) {
    if (end - released_ < kReleasedAtOnce) return;
    file_.release(released_, end - released_);
    released_ = end / kReleasedAtOnce * kReleasedAtOnce;
  }

 private:
  // A multiple of every page size.
  static constexpr std::size_t kReleasedAtOnce = std::size_t{4} << 20;

  MappedFile file_;
  std::size_t released_ = 0;
};

class PlainStream final : public TextStream {
 public:
  explicit PlainStream(MappedFile file) : file_(std::move(file)) {}

  std::size_t read(std::span<char> output) override {
    const auto rest = file_.bytes().subspan(done_);
    const std::size_t size = std::min(rest.size(), output.size());
    if (size > 0) std::memcpy(output.data(), rest.data(), size);
    done_ += size;
    file_.has_read(done_);
    return size;
  }
  [[nodiscard]] std::uint64_t bytes_read() const override { return done_; }

 private:
  FileInOrder file_;
  std::size_t done_ = 0;
};

/// A packed file, unpacked by GzipReader or ZstdReader.
template <class Reader>
class PackedStream final : public TextStream {
 public:
  PackedStream(MappedFile file, const std::string& path)
      : file_(std::move(file)), reader_(file_.bytes(), path) {}

  std::size_t read(std::span<char> output) override {
    const std::size_t size = reader_.read(std::as_writable_bytes(output));
    file_.has_read(bytes_read());
    return size;
  }
  [[nodiscard]] std::uint64_t bytes_read() const override {
    return file_.bytes().size() - reader_.left();
  }

 private:
  FileInOrder file_;
  Reader reader_;
};

/// What is packed in a way that is not known here must not be taken for text.
void refuse_packed_name(const std::string& path) {
  constexpr std::array kPacked{
      ".gz", ".zst", ".xz", ".bz2", ".zip", ".7z", ".lz4", ".parquet", ".tar"};
  for (const std::string_view suffix : kPacked) {
    if (!path.ends_with(suffix)) continue;
    throw UsageError(
        fmt::format("by its name this is a {} file, which it is not or which is not "
                    "known (text, gzip and zstd are): {}",
                    suffix,
                    path));
  }
}

}  // namespace

std::unique_ptr<TextStream> open_text_stream(const std::string& path) {
  MappedFile file(path);
  if (is_gzip(file.bytes())) {
    return std::make_unique<PackedStream<GzipReader>>(std::move(file), path);
  }
  if (is_zstd(file.bytes())) {
    return std::make_unique<PackedStream<ZstdReader>>(std::move(file), path);
  }
  refuse_packed_name(path);
  return std::make_unique<PlainStream>(std::move(file));
}

}  // namespace sheaf::data
