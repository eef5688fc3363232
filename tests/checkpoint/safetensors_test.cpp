#include "sheaf/checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/raw_file.h"
#include "sheaf/base/error.h"
#include "support/on_ranks.h"
#include "support/safetensors.h"
#include "support/temporary_folder.h"

namespace sheaf::checkpoint {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::read_safetensors;
using testing::require_equal;
using testing::TemporaryFolder;
using testing::write_safetensors;

// As the safetensors package writes it: two numbers, a scalar, and spaces that align them.
const std::string kFile = testing::raw_file(
    R"({"__metadata__":{"format":"pt"},"a.b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
    R"("c":{"dtype":"I16","shape":[],"data_offsets":[8,10]}}   )",
    std::string("\0\0\x80?\0\0\0@\x07\0", 10));

TEST(Safetensors, AreReadAsOthersWriteThem) {
  const TemporaryFolder folder;
  const SafetensorsFile file(folder.write("a.safetensors", kFile));
  EXPECT_EQ(file.tensors().size(), 2U);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  const TensorEntry* entry = file.find("a.b");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->tensor.shape, std::vector<std::int64_t>{2});
  const at::Tensor values = at::empty({2});
  file.read(*entry, 0, values);
  require_equal(values, at::tensor({1.0F, 2.0F}), "a.b");
  EXPECT_EQ(file.find("c")->tensor.dtype, at::kShort);
  EXPECT_EQ(file.find("d"), nullptr);
}

TEST(Safetensors, KeepEveryTypeBitForBit) {
  const TemporaryFolder folder;
  testing::TensorFile tensors;
  for (const at::ScalarType type : {at::kDouble,
                                    at::kFloat,
                                    at::kHalf,
                                    at::kBFloat16,
                                    at::kLong,
                                    at::kInt,
                                    at::kShort,
                                    at::kChar,
                                    at::kByte,
                                    at::kBool,
                                    at::kFloat8_e4m3fn,
                                    at::kFloat8_e5m2}) {
    tensors[c10::toString(type)] = at::arange(15).remainder(2).view({3, 5}).to(type);
  }
  write_safetensors(folder.path("a"), tensors);
  const testing::TensorFile back = read_safetensors(folder.path("a"));
  ASSERT_EQ(back.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    ASSERT_EQ(back.at(name).scalar_type(), tensor.scalar_type()) << name;
    require_equal(back.at(name).view(at::kByte), tensor.view(at::kByte), name);
  }
}

TEST(Safetensors, MayBeEmptyAndHaveTensorsWithoutValues) {
  const TemporaryFolder folder;
  write_safetensors(folder.path("none"), {});
  EXPECT_TRUE(read_safetensors(folder.path("none")).empty());
  write_safetensors(folder.path("hollow"), {{"a", at::empty({0, 3})}, {"b", at::ones({})}});
  EXPECT_EQ(read_safetensors(folder.path("hollow")).at("a").sizes(), at::IntArrayRef({0, 3}));
}

TEST(Safetensors, ArePartlyReadInAnotherType) {
  const TemporaryFolder folder;
  // Several pieces long.
  const at::Tensor values = at::arange(1'000'000, at::kFloat);
  write_safetensors(folder.path("a"), {{"x", values}});
  const SafetensorsFile file(folder.path("a"));
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
    const at::Tensor part = at::empty({700'001}, type);
    file.read(*file.find("x"), 123'457, part);
    require_equal(part, values.narrow(0, 123'457, 700'001).to(type), c10::toString(type));
  }
}

TEST(Safetensors, AreNotReadBeyondATensorsEnd) {
  const TemporaryFolder folder;
  write_safetensors(folder.path("a"), {{"x", at::ones({4})}, {"y", at::ones({4})}});
  const SafetensorsFile file(folder.path("a"));
  const auto refused = [&](std::int64_t begin, std::int64_t count) {
    return error_of([&] { file.read(*file.find("x"), begin, at::empty({count})); });
  };
  EXPECT_THAT(refused(0, 5), HasSubstr("'x' has 4 elements"));
  EXPECT_THAT(refused(3, 2), HasSubstr("asked for 2 from 3 on"));
  EXPECT_THAT(refused(-1, 1), HasSubstr("from -1 on"));
}

}  // namespace
}  // namespace sheaf::checkpoint
