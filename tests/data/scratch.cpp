#include "data/scratch.h"

#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace sheaf::data::testing {

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> 8 * i));
  return text;
}

std::string big(std::uint32_t value) {
  std::string text = little(value, 4);
  std::reverse(text.begin(), text.end());
  return text;
}

std::string idx_images(std::uint32_t count, std::uint32_t side) {
  std::string bytes = big(0x0803) + big(count) + big(side) + big(side);
  for (std::uint32_t i = 0; i < count * side * side; ++i) bytes.push_back(static_cast<char>(i));
  return bytes;
}

std::string idx_labels(std::uint32_t count) {
  std::string bytes = big(0x0801) + big(count);
  for (std::uint32_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(i % 10));
  return bytes;
}

void write_digits(const Scratch& scratch) {
  scratch.write("train-images-idx3-ubyte", idx_images(12));
  scratch.write("train-labels-idx1-ubyte", idx_labels(12));
  scratch.write("t10k-images-idx3-ubyte", idx_images(10));
  scratch.write("t10k-labels-idx1-ubyte", idx_labels(10));
}

std::string gzipped(const std::string& bytes) {
  z_stream stream = {};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("zlib failed");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace sheaf::data::testing
