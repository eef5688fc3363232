#include "support/safetensors.h"

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "sheaf/base/error.h"

namespace sheaf::testing {
namespace {

constexpr std::array kTypes{std::pair{std::string_view("F32"), at::kFloat},
                            std::pair{std::string_view("F64"), at::kDouble},
                            std::pair{std::string_view("I64"), at::kLong}};

std::string name_of(at::ScalarType type) {
  for (const auto& [name, each] : kTypes) {
    if (each == type) return std::string(name);
  }
  throw UsageError("a test's safetensors file has no type " + std::string(at::toString(type)));
}

at::ScalarType type_of(const std::string& name) {
  for (const auto& [each, type] : kTypes) {
    if (each == name) return type;
  }
  throw IoError("a test's safetensors file has no type " + name);
}

}  // namespace

void write_safetensors(const std::string& path, const TensorFile& tensors) {
  nlohmann::json header = nlohmann::json::object();
  std::string bytes;
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor plain = tensor.detach().cpu().contiguous();
    const std::size_t begin = bytes.size();
    bytes.append(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes());
    header[name] = {{"dtype", name_of(plain.scalar_type())},
                    {"shape", plain.sizes().vec()},
                    {"data_offsets", {begin, bytes.size()}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the values are aligned
  const std::uint64_t size = text.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&size), sizeof(size));
  file << text << bytes << std::flush;
  if (!file) throw IoError("cannot write " + path);
}

TensorFile read_safetensors(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string all(std::istreambuf_iterator<char>(file), {});
  std::uint64_t size = 0;
  if (all.size() < sizeof(size)) throw IoError("cannot read a safetensors file: " + path);
  std::memcpy(&size, all.data(), sizeof(size));
  if (size > all.size() - sizeof(size)) throw IoError("a safetensors file is cut short: " + path);
  const auto header = nlohmann::json::parse(all.substr(sizeof(size), size));
  const std::string bytes = all.substr(sizeof(size) + size);
  TensorFile tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const at::Tensor tensor = at::empty(entry["shape"].get<std::vector<std::int64_t>>(),
                                        type_of(entry["dtype"].get<std::string>()));
    const auto [begin, end] = entry["data_offsets"].get<std::pair<std::size_t, std::size_t>>();
    if (end > bytes.size() || begin > end || end - begin != tensor.nbytes()) {
      throw IoError("a safetensors file is cut short: " + path);
    }
    std::memcpy(tensor.mutable_data_ptr(), bytes.data() + begin, end - begin);
    tensors[name] = tensor;
  }
  return tensors;
}

}  // namespace sheaf::testing
