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

/// zlib's state while one file is unpacked.
class Inflater {
 public:
  explicit Inflater(std::span<const std::byte> packed) : rest_(packed) {
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Unpacks into `output` from `filled` on and moves that; returns what zlib says.
  int unpack(std::vector<std::byte>& output, std::size_t& filled) {
    const auto packed = rest_.first(std::min(rest_.size(), kMost));
    const auto room = std::min(output.size() - filled, kMost);
    // zlib reads only, but its interface is older than const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    stream_.next_out = reinterpret_cast<Bytef*>(output.data() + filled);
    stream_.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream_, Z_NO_FLUSH);
    rest_ = rest_.subspan(packed.size() - stream_.avail_in);
    filled += room - stream_.avail_out;
    return status;
  }

  /// A gzip file may be several, one after another.
  void begin_next() { inflateReset(&stream_); }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  static constexpr std::size_t kMost = std::numeric_limits<uInt>::max();

  z_stream stream_ = {};
  std::span<const std::byte> rest_;
};

}  // namespace

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

std::vector<std::byte> unpack_gzip(std::span<const std::byte> bytes,
                                   std::size_t limit,
                                   const std::string& path) {
  Inflater inflater(bytes);
  std::vector<std::byte> output(std::min(kFirstOutput, limit + 1));
  std::size_t filled = 0;
  while (true) {
    const int status = inflater.unpack(output, filled);
    if (filled > limit) {
      throw UsageError(fmt::format("a gzip file unpacks to more than {} bytes: {}", limit, path));
    }
    if (status == Z_STREAM_END) {
      if (inflater.at_end()) break;
      inflater.begin_next();
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      throw UsageError("a gzip file is damaged: " + path);
    } else if (filled < output.size() && inflater.at_end()) {
      throw UsageError("a gzip file ends too early: " + path);
    }
    if (filled == output.size()) output.resize(std::min(2 * output.size(), limit + 1));
  }
  output.resize(filled);
  return output;
}

}  // namespace sheaf::data
