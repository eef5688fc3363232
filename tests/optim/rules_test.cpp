#include "sheaf/optim/rules.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/on_ranks.h"

namespace sheaf::optim {
namespace {

using sheaf::testing::error_of;
using ::testing::ElementsAre;

std::vector<Segment> model() {
  Segment embedding;
  embedding.slots = {{.name = "embedding.weight", .shape = {10, 4}}};
  Segment block;
  block.slots = {{.name = "blocks.0.norm.weight", .shape = {4}},
                 {.name = "blocks.0.linear.weight", .shape = {4, 4}},
                 {.name = "blocks.0.linear.bias", .shape = {4}}};
  return {embedding, block};
}

/// Returns the settings of all slots in a row; the defaults are 1 and 0.5.
std::vector<ParameterSettings> settings(const std::vector<ParameterRule>& rules) {
  std::vector<ParameterSettings> all;
  for (const auto& segment : apply_rules(rules, model(), {1, 0.5})) {
    all.insert(all.end(), segment.begin(), segment.end());
  }
  return all;
}

using Is = ParameterSettings;

TEST(NameFits, NeedsTheWholeNameWithoutStars) {
  EXPECT_TRUE(name_fits("a.weight", "a.weight"));
  EXPECT_FALSE(name_fits("a.weight", "a.weigh"));
  EXPECT_FALSE(name_fits("a.weight", "weight"));
  EXPECT_FALSE(name_fits("a.weight", ""));
}

TEST(NameFits, TakesAnyLettersForAStar) {
  EXPECT_TRUE(name_fits("a.weight", "*"));
  EXPECT_TRUE(name_fits("", "*"));
  EXPECT_TRUE(name_fits("a.b.weight", "a.*"));
  EXPECT_TRUE(name_fits("a.b.weight", "*.weight"));
  EXPECT_TRUE(name_fits("a.b.weight", "a*b*t"));
  EXPECT_TRUE(name_fits("abab", "*ab"));
  EXPECT_TRUE(name_fits("a.weight", "a.weight*"));
  EXPECT_TRUE(name_fits("aXbXb", "a*b*b"));
  EXPECT_TRUE(name_fits("a", "**a**"));
}

TEST(NameFits, DoesNotUseLettersTwice) {
  EXPECT_FALSE(name_fits("ab", "ab*b"));
  EXPECT_FALSE(name_fits("aba", "ab*ba"));
  EXPECT_FALSE(name_fits("a.b", "a.*.b"));
}

TEST(Rules, LeaveAllAsTheOptionsSayWithoutAny) {
  EXPECT_THAT(settings({}), ElementsAre(Is{1, 0.5}, Is{1, 0.5}, Is{1, 0.5}, Is{1, 0.5}));
}

TEST(Rules, SelectByDimsOfTheWholeParameter) {
  EXPECT_THAT(settings({{.max_dims = 1, .weight_decay = 0}}),
              ElementsAre(Is{1, 0.5}, Is{1, 0}, Is{1, 0.5}, Is{1, 0}));
}

TEST(Rules, SelectByNameAndDimsTogether) {
  EXPECT_THAT(settings({{.names = "*linear*", .max_dims = 1, .weight_decay = 0}}),
              ElementsAre(Is{1, 0.5}, Is{1, 0.5}, Is{1, 0.5}, Is{1, 0}));
}

TEST(Rules, LetTheLastOneThatNamesASettingDecide) {
  EXPECT_THAT(settings({{.learning_rate_factor = 0.5, .weight_decay = 0.25},
                        {.names = "embedding.*", .learning_rate_factor = 0.1},
                        {.names = "*.bias", .weight_decay = 0}}),
              ElementsAre(Is{0.1, 0.25}, Is{0.5, 0.25}, Is{0.5, 0.25}, Is{0.5, 0}));
}

TEST(Rules, RefuseANameThatNoParameterHas) {
  EXPECT_EQ(error_of([] { settings({{.names = "head.*"}}); }),
            "no parameter has the name of a rule, 'head.*'");
}

TEST(Rules, SuggestTheNameThatWasMeant) {
  EXPECT_EQ(error_of([] { settings({{.names = "embeding.*"}}); }),
            "no parameter has the name of a rule, 'embeding.*', did you mean embedding.*?");
  EXPECT_EQ(error_of([] { settings({{.names = "blocks.0.linear.bais"}}); }),
            "no parameter has the name of a rule, 'blocks.0.linear.bais', did you mean "
            "blocks.0.linear.bias?");
}

TEST(Rules, AllowDimsThatNoParameterHas) {
  EXPECT_THAT(settings({{.max_dims = 0, .weight_decay = 0}}),
              ElementsAre(Is{1, 0.5}, Is{1, 0.5}, Is{1, 0.5}, Is{1, 0.5}));
}

TEST(Rules, RefuseNegativeNumbers) {
  EXPECT_EQ(error_of([] { settings({{.names = "*.bias", .weight_decay = -1}}); }),
            "weight_decay of the rule for '*.bias' must be at least 0, got -1");
  EXPECT_EQ(error_of([] { settings({{.learning_rate_factor = -0.5}}); }),
            "learning_rate_factor of the rule for '*' must be at least 0, got -0.5");
  EXPECT_EQ(error_of([] { settings({{.max_dims = -2}}); }),
            "max_dims of the rule for '*' must be at least -1, got -2");
}

}  // namespace
}  // namespace sheaf::optim
