#include "data/idx_file.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "base/mapped_file.h"
#include "data/gzip.h"
#include "sheaf/base/error.h"

namespace sheaf::data {
namespace {

// All of MNIST's relatives are smaller; a file that unpacks to more is none of them.
constexpr std::size_t kLargestFile = std::size_t{1} << 30;
constexpr std::uint32_t kUnsignedBytes = 0x0800;

constexpr std::size_t header_bytes(std::size_t num_dims) { return 4 + 4 * num_dims; }

std::uint32_t big_endian_at(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (const std::byte each : bytes.subspan(offset, 4)) {
    value = value << 8 | std::to_integer<std::uint32_t>(each);
  }
  return value;
}

std::vector<std::byte> read_bytes(const std::string& path) {
  const MappedFile file(path);
  if (is_gzip(file.bytes())) return unpack_gzip(file.bytes(), kLargestFile, path);
  if (file.bytes().size() > kLargestFile) {
    throw UsageError(fmt::format("an IDX file of digits has at most {} bytes, got {}: {}",
                                 kLargestFile,
                                 file.bytes().size(),
                                 path));
  }
  return {file.bytes().begin(), file.bytes().end()};
}

/// Throws unless the file has exactly the elements that its header says.
void check_size(const std::vector<std::int64_t>& shape,
                std::span<const std::byte> bytes,
                const std::string& path) {
  // As numbers with a point, for three sizes of 32 bits may not fit into 64 bits.
  double elements = 1;
  for (const std::int64_t size : shape) elements *= static_cast<double>(size);
  if (elements == 0) throw UsageError("an IDX file is empty: " + path);
  const double expected = elements + static_cast<double>(header_bytes(shape.size()));
  const auto actual = static_cast<double>(bytes.size());
  if (actual == expected) return;
  throw UsageError(fmt::format("an IDX file {}, expected {:.0f} bytes, got {:.0f}: {}",
                               actual < expected ? "is truncated" : "has more than its header says",
                               expected,
                               actual,
                               path));
}

}  // namespace

IdxFile read_idx_file(const std::string& path, std::size_t num_dims) {
  auto bytes = read_bytes(path);
  const std::size_t header = header_bytes(num_dims);
  if (bytes.size() < header) {
    throw UsageError(fmt::format("an IDX file is too short, expected at least {} bytes, got {}: {}",
                                 header,
                                 bytes.size(),
                                 path));
  }
  const std::uint32_t expected = kUnsignedBytes | static_cast<std::uint32_t>(num_dims);
  if (const auto magic = big_endian_at(bytes, 0); magic != expected) {
    throw UsageError(
        fmt::format("expected an IDX file of bytes in {} dimensions ({:#010x}), got {:#010x}: {}",
                    num_dims,
                    expected,
                    magic,
                    path));
  }
  std::vector<std::int64_t> shape;
  for (std::size_t i = 1; i <= num_dims; ++i) shape.push_back(big_endian_at(bytes, 4 * i));
  check_size(shape, bytes, path);
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header));
  return {.shape = std::move(shape), .elements = std::move(bytes)};
}

}  // namespace sheaf::data
