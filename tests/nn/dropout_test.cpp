#include "sheaf/nn/dropout.h"

#include <torch/nn.h>

#include "nn/kernels/philox.h"
#include "outcome.h"
#include "sheaf/base/error.h"

namespace sheaf::nn {
namespace {

constexpr DropoutSite kSite{.probability = 0.25, .layer = 3};
constexpr Randomness kRandom{.seed = 42, .step = 7};

at::Tensor mask(const Randomness& random, const DropoutSite& site = kSite) {
  return dropout(at::ones({6, 5, 41}), site, random).ne(0);
}

std::vector<std::uint32_t> words(Words counter, PhiloxKey key) {
  const Words drawn = philox(counter, key);
  return {drawn.word, drawn.word + 4};
}

TEST(Philox, GivesThePublishedNumbers) {
  // The known answers that come with the generator's reference implementation, Random123.
  using Expected = std::vector<std::uint32_t>;
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(words({{0, 0, 0, 0}}, {0, 0}),
            (Expected{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(words({{kOnes, kOnes, kOnes, kOnes}}, {kOnes, kOnes}),
            (Expected{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(words({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {0xa4093822, 0x299f31d0}),
            (Expected{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Dropout, DropsAboutTheGivenPartAndScalesTheRest) {
  const at::Tensor y = dropout(at::ones({100, 1000}), kSite, kRandom);
  const double kept = y.ne(0).to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(kept, 0.75, 0.006);  // Four standard deviations.
  EXPECT_TRUE(y.masked_select(y.ne(0)).eq(1 / 0.75F).all().item<bool>());
}

TEST(Dropout, IsTheSameForAnySplitOfTheBatch) {
  const at::Tensor x = at::randn({6, 5, 41});
  const at::Tensor whole = dropout(x, kSite, kRandom);
  Randomness later = kRandom;
  later.first_sample = 2;
  const at::Tensor parts = at::cat(
      {dropout(x.narrow(0, 0, 2), kSite, kRandom), dropout(x.narrow(0, 2, 4), kSite, later)});
  EXPECT_TRUE(parts.equal(whole));
}

TEST(Dropout, DrawsAnewForEachSampleStepLayerAndSeed) {
  const at::Tensor first = mask(kRandom);
  EXPECT_FALSE(first[0].equal(first[1]));
  EXPECT_FALSE(first.equal(mask({.seed = 42, .step = 8})));
  EXPECT_FALSE(first.equal(mask({.seed = 43, .step = 7})));
  EXPECT_FALSE(first.equal(mask({.seed = 42, .step = 7, .first_sample = 1})));
  EXPECT_FALSE(first.equal(mask(kRandom, {.probability = 0.25, .layer = 4})));
  EXPECT_TRUE(first.equal(mask(kRandom)));
}

TEST(Dropout, DropsMoreWithAHigherProbability) {
  const at::Tensor few = mask(kRandom, {.probability = 0.1, .layer = 3});
  const at::Tensor more = mask(kRandom, {.probability = 0.6, .layer = 3});
  EXPECT_TRUE(more.logical_and(few).equal(more));
}

TEST(Dropout, DropsTheSameElementsInBackward) {
  const Formula own = [](const Tensors& in) { return dropout(in[0], kSite, kRandom); };
  const Formula plain = [](const Tensors& in) { return in[0] * mask(kRandom) / 0.75; };
  expect_same_in_all_types(own, plain, {at::randn({6, 5, 41})});
}

TEST(Dropout, GoesByThePlaceInTheSampleAndNotInMemory) {
  const at::Tensor x = at::randn({6, 41, 5}).transpose(1, 2);
  EXPECT_TRUE(dropout(x, kSite, kRandom).equal(dropout(x.contiguous(), kSite, kRandom)));
}

TEST(Dropout, GivesTheSameBitsOnTwoThreads) {
  const auto on = [](int count) {
    const Threads threads(count);
    return dropout(at::ones({64, 1001}), kSite, kRandom);
  };
  EXPECT_TRUE(on(1).equal(on(2)));
}

TEST(Dropout, ReturnsItsInputIfNothingIsDropped) {
  const at::Tensor x = at::randn({3, 4});
  EXPECT_TRUE(dropout(x, {}, kRandom).is_same(x));
}

TEST(Dropout, TakesEmptyBatchesAndNumbers) {
  EXPECT_EQ(dropout(at::randn({0, 4}), kSite, kRandom).size(0), 0);
  EXPECT_EQ(dropout(at::randn({3, 0}), kSite, kRandom).numel(), 0);
  EXPECT_EQ(dropout(at::ones({}), kSite, kRandom).dim(), 0);
}

TEST(Dropout, RefusesWhatIsNoProbability) {
  for (const double wrong : {-0.1, 1.0, 1.5, std::nan("")}) {
    EXPECT_THROW((void)dropout(at::ones({2}), {.probability = wrong}, kRandom), UsageError);
  }
}

}  // namespace
}  // namespace sheaf::nn
