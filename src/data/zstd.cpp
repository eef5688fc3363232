#include "data/zstd.h"

#include <fmt/format.h>
#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <new>

#include "sheaf/base/error.h"

namespace sheaf::data {

struct ZstdReader::State {
  State(std::span<const std::byte> packed, std::string of_path)
      : stream(ZSTD_createDStream()),
        input{packed.data(), packed.size(), 0},
        path(std::move(of_path)) {
    if (stream == nullptr) throw std::bad_alloc();
  }
  ~State() { ZSTD_freeDStream(stream); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  [[nodiscard]] bool has_input() const { return input.pos < input.size; }

  ZSTD_DStream* stream;
  ZSTD_inBuffer input;
  std::string path;
  /// Whether a frame has begun and not ended.
  bool inside = false;
};

ZstdReader::ZstdReader(std::span<const std::byte> packed, std::string path)
    : state_(std::make_unique<State>(packed, std::move(path))) {}
ZstdReader::~ZstdReader() = default;

std::size_t ZstdReader::read(std::span<std::byte> bytes) {
  ZSTD_outBuffer output{bytes.data(), bytes.size(), 0};
  while (output.pos < output.size && (state_->has_input() || state_->inside)) {
    const std::size_t before = output.pos;
    const bool had_input = state_->has_input();
    const std::size_t status = ZSTD_decompressStream(state_->stream, &output, &state_->input);
    if (ZSTD_isError(status) != 0) {
      throw UsageError(
          fmt::format("a zstd file is damaged ({}): {}", ZSTD_getErrorName(status), state_->path));
    }
    state_->inside = status != 0;
    if (state_->inside && !had_input && output.pos == before) {
      throw UsageError("a zstd file ends too early: " + state_->path);
    }
  }
  return output.pos;
}

std::size_t ZstdReader::left() const { return state_->input.size - state_->input.pos; }

bool is_zstd(std::span<const std::byte> bytes) {
  constexpr std::uint32_t kFrame = 0xfd2fb528;
  // Some programs begin with a frame that is to be skipped; its last digit is free.
  constexpr std::uint32_t kSkipped = 0x184d2a50;
  std::uint32_t magic = 0;
  if (bytes.size() < sizeof(magic)) return false;
  std::memcpy(&magic, bytes.data(), sizeof(magic));
  return magic == kFrame || (magic & 0xfffffff0) == kSkipped;
}

}  // namespace sheaf::data
