#include "data/scratch.h"

#include <stdlib.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace sheaf::data::testing {

namespace fs = std::filesystem;

Scratch::Scratch() {
  std::string name = (fs::temp_directory_path() / "data_test_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  folder_ = name;
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Scratch::path(std::string_view name) const {
  return (fs::path(folder_) / name).string();
}

std::string Scratch::write(std::string_view name, std::string_view bytes) const {
  std::ofstream file(path(name), std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path(name));
  return path(name);
}

std::vector<std::string> Scratch::names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

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
