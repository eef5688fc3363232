#include "checkpoint/pickle.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "sheaf/base/error.h"

namespace sheaf::checkpoint {
namespace {

struct TorchType {
  at::ScalarType dtype;
  std::string_view name;
  std::string_view storage;
};

constexpr std::array kTypes{TorchType{at::kDouble, "float64", "DoubleStorage"},
                            TorchType{at::kFloat, "float32", "FloatStorage"},
                            TorchType{at::kHalf, "float16", "HalfStorage"},
                            TorchType{at::kBFloat16, "bfloat16", "BFloat16Storage"},
                            TorchType{at::kLong, "int64", "LongStorage"},
                            TorchType{at::kInt, "int32", "IntStorage"},
                            TorchType{at::kShort, "int16", "ShortStorage"},
                            TorchType{at::kChar, "int8", "CharStorage"},
                            TorchType{at::kByte, "uint8", "ByteStorage"},
                            TorchType{at::kBool, "bool", "BoolStorage"}};

const TorchType& type_of(at::ScalarType dtype) {
  for (const TorchType& type : kTypes) {
    if (type.dtype == dtype) return type;
  }
  throw UsageError(fmt::format("tensors of type {} cannot be exported for torch: take safetensors",
                               c10::toString(dtype)));
}

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

}  // namespace

Pickle::Pickle() : bytes_("\x80\x02") {}

void Pickle::integer(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  const bool is_small = value >= std::numeric_limits<std::int32_t>::min() &&
                        value <= std::numeric_limits<std::int32_t>::max();
  bytes_ += is_small ? "J" + little_endian(bits, 4) : "\x8a\x08" + little_endian(bits, 8);
}

void Pickle::text(std::string_view value) {
  bytes_ += 'X';
  bytes_ += little_endian(value.size(), 4);
  bytes_ += value;
}

void Pickle::global(std::string_view module, std::string_view name) {
  bytes_ += fmt::format("c{}\n{}\n", module, name);
}

void Pickle::integers(const std::vector<std::int64_t>& values) {
  begin_tuple();
  for (const std::int64_t value : values) integer(value);
  end_tuple();
}

void Pickle::begin_call(std::string_view module, std::string_view name) {
  global(module, name);
  begin_tuple();
}

void Pickle::size(const std::vector<std::int64_t>& sizes) {
  begin_call("torch", "Size");
  integers(sizes);
  end_call();
}

void Pickle::tensor(const TensorSpec& tensor, const std::string& key) {
  std::vector<std::int64_t> strides(tensor.shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = strides.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(tensor.shape[i], 1);
  }
  begin_call("torch._utils", "_rebuild_tensor_v2");
  begin_tuple();
  text("storage");
  global("torch", type_of(tensor.dtype).storage);
  text(key);
  text("cpu");
  integer(tensor.numel());
  end_tuple();
  bytes_ += 'Q';
  integer(0);
  integers(tensor.shape);
  integers(strides);
  boolean(false);
  begin_call("collections", "OrderedDict");
  end_call();
  end_call();
}

std::string Pickle::finish() {
  bytes_ += '.';
  return std::move(bytes_);
}

std::string_view torch_name(at::ScalarType dtype) { return type_of(dtype).name; }

}  // namespace sheaf::checkpoint
