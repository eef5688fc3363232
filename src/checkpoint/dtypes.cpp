#include "checkpoint/dtypes.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "base/quoting.h"
#include "sheaf/base/error.h"
#include "sheaf/base/nearest.h"

namespace sheaf::checkpoint {
namespace {

constexpr std::array kTypes{std::pair{std::string_view("F64"), at::kDouble},
                            std::pair{std::string_view("F32"), at::kFloat},
                            std::pair{std::string_view("F16"), at::kHalf},
                            std::pair{std::string_view("BF16"), at::kBFloat16},
                            std::pair{std::string_view("F8_E4M3"), at::kFloat8_e4m3fn},
                            std::pair{std::string_view("F8_E5M2"), at::kFloat8_e5m2},
                            std::pair{std::string_view("I64"), at::kLong},
                            std::pair{std::string_view("I32"), at::kInt},
                            std::pair{std::string_view("I16"), at::kShort},
                            std::pair{std::string_view("I8"), at::kChar},
                            std::pair{std::string_view("U64"), at::kUInt64},
                            std::pair{std::string_view("U32"), at::kUInt32},
                            std::pair{std::string_view("U16"), at::kUInt16},
                            std::pair{std::string_view("U8"), at::kByte},
                            std::pair{std::string_view("BOOL"), at::kBool}};

}  // namespace

at::ScalarType dtype_of(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [each, type] : kTypes) {
    if (each == name) return type;
    names.emplace_back(each);
  }
  throw UsageError(fmt::format("a dtype must be {}, got {}", join_or(names), in_quotes(name)));
}

std::string_view dtype_name(at::ScalarType dtype) {
  for (const auto& [name, each] : kTypes) {
    if (each == dtype) return name;
  }
  throw UsageError(
      fmt::format("a safetensors file cannot hold tensors of type {}", c10::toString(dtype)));
}

std::int64_t dtype_size(at::ScalarType dtype) {
  return static_cast<std::int64_t>(c10::elementSize(dtype));
}

}  // namespace sheaf::checkpoint
