#pragma once

#include <gtest/gtest.h>

#include <string>

namespace sheaf::testing {

/// Names a test after the family of the preset that it is given: gpt2 for gpt2-tiny.
inline std::string preset_name(const ::testing::TestParamInfo<std::string>& tested) {
  return tested.param.substr(0, tested.param.find('-'));
}

}  // namespace sheaf::testing
