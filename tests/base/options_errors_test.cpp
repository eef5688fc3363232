#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_options.h"
#include "sheaf/base/error.h"
#include "sheaf/base/toml.h"

namespace sheaf::sample {
namespace {

using testing::EndsWith;
using testing::StartsWith;

std::string error_of(MountedSample& sample, const BadValue& bad) {
  try {
    sample.set(bad.key, bad.text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted " + bad.text;
}

TEST(Field, NamesAWrongValueWithItsKeyAndWhatIsPossible) {
  for (const auto& bad : bad_values()) {
    MountedSample sample;
    const std::string message = error_of(sample, bad);
    EXPECT_THAT(message, StartsWith("job." + bad.key + ": "));
    EXPECT_THAT(message, EndsWith(bad.message));
  }
}

TEST(Field, KeepsItsValueWhenItRefusesAnother) {
  for (const auto& bad : bad_values()) {
    MountedSample sample;
    const std::string before = write_toml(sample.collector.fields());
    static_cast<void>(error_of(sample, bad));
    EXPECT_EQ(write_toml(sample.collector.fields()), before) << bad.key << " " << bad.text;
  }
}

TEST(Field, CutsALongValueInItsMessage) {
  MountedSample sample;
  try {
    sample.set("ranks", std::string(100000, 'x'));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_LT(std::string(error.what()).size(), 200);
    EXPECT_THAT(error.what(), EndsWith("xxx...'"));
  }
}

}  // namespace
}  // namespace sheaf::sample
