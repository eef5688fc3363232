// Any bytes as the manifest of a checkpoint, under a checksum that is right: refused as damaged or
// of another version, or read as pieces that lie inside their files. A seed is a manifest without
// the checksum at its end.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/checksum.h"
#include "checkpoint/dtypes.h"
#include "sheaf/checkpoint/damaged.h"
#include "sheaf/checkpoint/manifest.h"

namespace {

using sheaf::checkpoint::Manifest;

void check(const Manifest& manifest) {
  std::map<std::string, std::uint64_t> sizes;
  for (const auto& file : manifest.files) sizes[file.name] = file.size;
  for (const auto& [tensor, file, offset, pieces] : manifest.tensors) {
    std::int64_t end = 0;
    for (const auto& piece : pieces) end += piece.count;
    const auto bytes =
        static_cast<std::uint64_t>(end * sheaf::checkpoint::dtype_size(tensor.dtype));
    if (end != tensor.numel() || offset + bytes > sizes.at(file)) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string body(reinterpret_cast<const char*>(data), size);
  const std::uint64_t hash = sheaf::checksum_of(std::string_view(body));
  try {
    check(sheaf::checkpoint::parse_manifest(
        fmt::format("{},\n\"checksum\":\"{:016x}\"}}\n", body, hash)));
  } catch (const sheaf::checkpoint::Damaged&) {
    return 0;
  } catch (const sheaf::checkpoint::UnknownVersion&) {
    return 0;
  }
  return 0;
}
