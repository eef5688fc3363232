#include "nn/kernels/lt/choices.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "support/temporary_folder.h"

namespace sheaf::nn::lt {
namespace {

const Shape kShape{.m = 8,
                   .n = 16,
                   .k = 32,
                   .factors = at::kBFloat16,
                   .bias = true,
                   .workspace = std::size_t{64} << 20};

Choice choice_of(int number) {
  Choice choice;
  std::memset(&choice.algorithm, number, sizeof choice.algorithm);
  choice.workspace = static_cast<std::size_t>(number) << 20;
  return choice;
}

bool same(const Choice& a, const Choice& b) {
  return std::memcmp(&a.algorithm, &b.algorithm, sizeof a.algorithm) == 0 &&
         a.workspace == b.workspace;
}

class ProductChoices : public ::testing::Test {
 protected:
  testing::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path("new/products.txt");
};

TEST_F(ProductChoices, AreThereInTheNextRun) {
  Choices(file_).add(kShape, choice_of(7), /*lasting=*/true);
  Choices later(file_);
  ASSERT_TRUE(later.find(kShape).has_value());
  EXPECT_TRUE(same(*later.find(kShape), choice_of(7)));
}

TEST_F(ProductChoices, AreOfOneShape) {
  Choices choices(file_);
  choices.add(kShape, choice_of(7), /*lasting=*/true);
  Shape other = kShape;
  other.bias = false;
  EXPECT_FALSE(choices.find(other).has_value());
}

TEST_F(ProductChoices, ThatDoNotLastAreForThisRunOnly) {
  Choices choices(file_);
  choices.add(kShape, choice_of(7), /*lasting=*/false);
  EXPECT_TRUE(choices.find(kShape).has_value());
  EXPECT_FALSE(Choices(file_).find(kShape).has_value());
}

TEST_F(ProductChoices, TakeTheLastWord) {
  Choices(file_).add(kShape, choice_of(7), /*lasting=*/true);
  Choices(file_).add(kShape, choice_of(9), /*lasting=*/true);
  EXPECT_TRUE(same(*Choices(file_).find(kShape), choice_of(9)));
}

TEST_F(ProductChoices, SurviveADamagedFile) {
  Choices(file_).add(kShape, choice_of(7), /*lasting=*/true);
  std::ofstream(file_, std::ios::app) << "8x8 not-a-number\n\x01\x02\n";
  EXPECT_TRUE(Choices(file_).find(kShape).has_value());
  Shape later = kShape;
  later.m = 24;
  Choices(file_).add(later, choice_of(9), /*lasting=*/true);
  EXPECT_TRUE(Choices(file_).find(later).has_value());
}

TEST_F(ProductChoices, AreNotTakenWhereTheyNeedMoreMemoryThanThereMayBe) {
  Choices choices(file_);
  choices.add(kShape, choice_of(65), /*lasting=*/true);
  EXPECT_FALSE(choices.find(kShape).has_value());
}

TEST_F(ProductChoices, AreOtherOnesWhereTheFirstGuessIsWanted) {
  Choices choices(file_);
  choices.add(kShape, choice_of(7), /*lasting=*/true);
  Shape guessed = kShape;
  guessed.guessed = true;
  EXPECT_FALSE(choices.find(guessed).has_value());
}

TEST_F(ProductChoices, DoWithoutAFile) {
  Choices choices("/dev/null/products.txt");
  choices.add(kShape, choice_of(7), /*lasting=*/true);
  EXPECT_TRUE(choices.find(kShape).has_value());
}

TEST_F(ProductChoices, LieInTheUsersCache) {
  ::setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(choices_file("NVIDIA H200", 130100),
            "/somewhere/sheaf/algorithms_NVIDIA_H200_cublaslt130100.txt");
  ::unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace sheaf::nn::lt
