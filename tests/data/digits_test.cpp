#include "data/digits.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "data/scratch.h"
#include "support/on_ranks.h"

namespace sheaf::data {
namespace {

using sheaf::testing::error_of;
using testing::gzipped;
using ::testing::HasSubstr;
using testing::idx_images;
using testing::idx_labels;
using testing::Scratch;

void expect_digits(const Digits& digits) {
  ASSERT_EQ(digits.size(), 12);
  const Rows rows = digits.make_batch(2);
  const auto& [inputs, targets, positions] = rows;
  digits.fill(11, 0, rows);
  digits.fill(3, 1, rows);
  EXPECT_FALSE(positions.defined());
  EXPECT_EQ(inputs.sizes(), at::IntArrayRef({2, 28, 28}));
  EXPECT_EQ(inputs.scalar_type(), at::kByte);
  const auto pixels = at::arange(12 * 784).remainder(256).to(at::kByte).view({12, 28, 28});
  EXPECT_TRUE(inputs[0].equal(pixels[11]));
  EXPECT_TRUE(inputs[1].equal(pixels[3]));
  EXPECT_TRUE(targets.equal(at::tensor({1L, 3L})));
  EXPECT_EQ(digits.targets_per_sample(), 1);
}

TEST(Digits, AreReadFromPlainFiles) {
  const Scratch scratch;
  expect_digits({scratch.write("i", idx_images(12)), scratch.write("l", idx_labels(12))});
}

TEST(Digits, AreReadFromPackedFiles) {
  const Scratch scratch;
  expect_digits(
      {scratch.write("i", gzipped(idx_images(12))), scratch.write("l", gzipped(idx_labels(12)))});
}

TEST(DigitsFiles, AreFoundInAllSpellings) {
  for (const char* name : {"train-images-idx3-ubyte",
                           "train-images-idx3-ubyte.gz",
                           "train-images.idx3-ubyte",
                           "train-images.idx3-ubyte.gz"}) {
    const Scratch scratch;
    scratch.write(name, "");
    EXPECT_EQ(find_digits_file(scratch.path(), "train", "images-idx3"), scratch.path(name));
  }
}

TEST(DigitsFiles, AreNamedWhenTheyAreMissing) {
  const Scratch scratch;
  EXPECT_EQ(error_of([&] { (void)find_digits_file(scratch.path(), "t10k", "labels-idx1"); }),
            "there is no file t10k-labels-idx1-ubyte or t10k-labels-idx1-ubyte.gz in the folder, "
            "make it with './dev data mnist': " +
                scratch.path());
}

}  // namespace
}  // namespace sheaf::data
