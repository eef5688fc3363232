#include "checkpoint/safetensors_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/quoting.h"
#include "checkpoint/dtypes.h"
#include "checkpoint/header_events.h"
#include "sheaf/base/error.h"

namespace sheaf::checkpoint {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
// The format's own limit.
constexpr std::uint64_t kLargestHeader = 100'000'000;
// What the values are aligned to, as other writers do it.
constexpr std::size_t kAlignment = 8;

std::uint64_t header_size(std::span<const std::byte> file) {
  if (file.size() < kLengthBytes) {
    throw UsageError(
        fmt::format("too short for a safetensors file, which has at least {} bytes, got {}",
                    kLengthBytes,
                    file.size()));
  }
  std::uint64_t size = 0;
  for (std::uint64_t i = kLengthBytes; i-- > 0;) {
    size = size << 8 | static_cast<std::uint64_t>(file[i]);
  }
  if (size < 2 || size > kLargestHeader) {
    throw UsageError(
        fmt::format("not a safetensors file: the length of its header must be between 2 and {}, "
                    "got {}",
                    kLargestHeader,
                    size));
  }
  if (size > file.size() - kLengthBytes) {
    throw UsageError(
        fmt::format("a safetensors file that is cut short: its header has {} bytes, "
                    "the file has {} behind the length",
                    size,
                    file.size() - kLengthBytes));
  }
  return size;
}

void check_size(const TensorEntry& entry) {
  const TensorSpec& tensor = entry.tensor;
  std::uint64_t bytes = static_cast<std::uint64_t>(dtype_size(tensor.dtype));
  bool fits = true;
  for (const std::int64_t size : tensor.shape) {
    fits = fits && !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes);
  }
  // A later dimension of 0 would hide that an earlier product was too large.
  if (fits && bytes == entry.size) return;
  throw UsageError(
      fmt::format("{} of type {} and shape [{}] does not have the {} bytes that its "
                  "data_offsets give it",
                  in_quotes(tensor.name),
                  dtype_name(tensor.dtype),
                  fmt::join(tensor.shape, ", "),
                  entry.size));
}

/// Checks that the tensors fill `size` bytes without gaps, and turns offsets into places.
void settle_places(std::vector<TensorEntry>& tensors, std::uint64_t data, std::uint64_t size) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::tie(a.begin, a.size, a.tensor.name) < std::tie(b.begin, b.size, b.tensor.name);
  });
  std::uint64_t end = 0;
  for (TensorEntry& entry : tensors) {
    if (entry.begin != end) {
      throw UsageError(fmt::format("{} must begin where the tensor before it ends, at {}, got {}",
                                   in_quotes(entry.tensor.name),
                                   end,
                                   entry.begin));
    }
    check_size(entry);
    end += entry.size;
    if (end > size) {
      throw UsageError(
          fmt::format("a safetensors file that is cut short: {} ends at {}, the file has {} bytes "
                      "behind its header",
                      in_quotes(entry.tensor.name),
                      end,
                      size));
    }
    entry.begin += data;
  }
  if (end == size) return;
  throw UsageError(
      fmt::format("the file has {} bytes behind its header, its tensors have only {}", size, end));
}

}  // namespace

SafetensorsHeader parse_header(std::span<const std::byte> file) {
  const std::uint64_t size = header_size(file);
  const std::span<const std::byte> text = file.subspan(kLengthBytes, size);
  if (static_cast<char>(text.front()) != '{') {
    throw UsageError("not a safetensors file: its header does not begin with {");
  }
  const char* const begin = reinterpret_cast<const char*>(text.data());
  // The parser would take a zero for the end of the text.
  if (const void* zero = std::memchr(begin, 0, size); zero != nullptr) {
    throw UsageError(fmt::format("the header is not JSON from its byte {} on",
                                 static_cast<const char*>(zero) - begin + 1));
  }
  HeaderEvents events;
  static_cast<void>(nlohmann::json::sax_parse(begin, begin + size, &events));
  const std::uint64_t data = kLengthBytes + size;
  settle_places(events.header().tensors, data, file.size() - data);
  return std::move(events.header());
}

std::string format_header(const std::vector<TensorEntry>& tensors, const Metadata& metadata) {
  std::string text = "{";
  if (!metadata.empty()) text += "\"__metadata__\":" + nlohmann::json(metadata).dump();
  for (const TensorEntry& entry : tensors) {
    text += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                        text.size() > 1 ? "," : "",
                        nlohmann::json(entry.tensor.name).dump(),
                        dtype_name(entry.tensor.dtype),
                        fmt::join(entry.tensor.shape, ","),
                        entry.begin,
                        entry.begin + entry.size);
  }
  text += "}";
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  std::string length(kLengthBytes, '\0');
  for (std::uint64_t i = 0; i < kLengthBytes; ++i) {
    length[i] = static_cast<char>(text.size() >> (8 * i));
  }
  return length + text;
}

}  // namespace sheaf::checkpoint
