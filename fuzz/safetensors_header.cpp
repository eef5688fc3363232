// Any bytes as a safetensors file, and as the index of several: refused with an error of ours, or
// read as tensors that lie inside the file.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "checkpoint/safetensors_header.h"
#include "sheaf/base/error.h"
#include "sheaf/checkpoint/weights.h"

namespace {

void read_as_file(std::span<const std::byte> bytes) {
  const auto header = sheaf::checkpoint::parse_header(bytes);
  for (const auto& entry : header.tensors) {
    if (entry.begin > bytes.size() || entry.size > bytes.size() - entry.begin) __builtin_trap();
  }
}

void read_as_index(std::string_view text) {
  for (const auto& [tensor, file] : sheaf::checkpoint::parse_index(text)) {
    if (file.find('/') != std::string::npos) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    read_as_file({reinterpret_cast<const std::byte*>(data), size});
  } catch (const sheaf::Error&) {
  }
  try {
    read_as_index({reinterpret_cast<const char*>(data), size});
  } catch (const sheaf::Error&) {
  }
  return 0;
}
