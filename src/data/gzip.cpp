#include "data/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "sheaf/base/error.h"

namespace sheaf::data {
namespace {

constexpr int kGzipOnly = 15 + 16;  // the largest window, and no other format than gzip
constexpr std::size_t kFirstOutput = std::size_t{1} << 16;
constexpr std::size_t kMost = std::numeric_limits<uInt>::max();

}  // namespace

struct GzipReader::State {
  State(std::span<const std::byte> packed, std::string of_path)
      : rest(packed), path(std::move(of_path)) {
    if (inflateInit2(&stream, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~State() { inflateEnd(&stream); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// Unpacks into `output` as far as zlib goes in one call; returns how far that is.
  std::size_t unpack(std::span<std::byte> output) {
    const auto packed = rest.first(std::min(rest.size(), kMost));
    const auto room = std::min(output.size(), kMost);
    // zlib reads only, but its interface is older than const.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(output.data());
    stream.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream, Z_NO_FLUSH);
    rest = rest.subspan(packed.size() - stream.avail_in);
    const std::size_t made = room - stream.avail_out;
    if (status == Z_STREAM_END) {
      // A gzip file may be several, one after another.
      at_end = rest.empty();
      inflateReset(&stream);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      throw UsageError("a gzip file is damaged: " + path);
    } else if (made < room && rest.empty()) {
      throw UsageError("a gzip file ends too early: " + path);
    }
    return made;
  }

  z_stream stream = {};
  std::span<const std::byte> rest;
  std::string path;
  bool at_end = false;
};

GzipReader::GzipReader(std::span<const std::byte> packed, std::string path)
    : state_(std::make_unique<State>(packed, std::move(path))) {}
GzipReader::~GzipReader() = default;

std::size_t GzipReader::read(std::span<std::byte> output) {
  std::size_t filled = 0;
  while (!state_->at_end && filled < output.size()) {
    filled += state_->unpack(output.subspan(filled));
  }
  return filled;
}

std::size_t GzipReader::left() const { return state_->rest.size(); }

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

std::vector<std::byte> unpack_gzip(std::span<const std::byte> bytes,
                                   std::size_t limit,
                                   const std::string& path) {
  GzipReader reader(bytes, path);
  std::vector<std::byte> output(std::min(kFirstOutput, limit + 1));
  std::size_t filled = reader.read(output);
  while (filled == output.size() && filled <= limit) {
    output.resize(std::min(2 * output.size(), limit + 1));
    filled += reader.read(std::span(output).subspan(filled));
  }
  if (filled > limit) {
    throw UsageError(fmt::format("a gzip file unpacks to more than {} bytes: {}", limit, path));
  }
  output.resize(filled);
  return output;
}

}  // namespace sheaf::data
