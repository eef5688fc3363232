#include "sheaf/hub/load_model.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "hub/sample_models.h"
#include "sheaf/base/error.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf::hub {
namespace {

using sheaf::testing::error_of;
using sheaf::testing::kinds;
using sheaf::testing::odd_shape;
using sheaf::testing::odd_values;
using sheaf::testing::TemporaryFolder;
using sheaf::testing::write_sample;
using ::testing::HasSubstr;

TEST(LoadModel, GivesEveryParameterItsValues) {
  const TemporaryFolder folder;
  for (const std::string& kind : kinds()) {
    write_sample(folder.path(kind), odd_shape(kind));
    const auto model = load_model(ModelFolder(folder.path(kind)));
    const auto expected = odd_values(odd_shape(kind));
    ASSERT_EQ(model->named_parameters().size(), expected.size());
    for (const auto& item : model->named_parameters()) {
      EXPECT_TRUE(item.value().equal(expected.at(item.key()))) << kind << " " << item.key();
      EXPECT_FALSE(item.value().requires_grad());
    }
  }
}

TEST(LoadModel, ComputesInTheTypeOfTheFilesOrAnother) {
  const TemporaryFolder folder;
  write_sample(folder.path("model"), odd_shape("llama"), {.dtype = at::kBFloat16});
  const ModelFolder model(folder.path("model"));
  const auto type_of = [&](WeightType type) {
    return load_model(model, {.dtype = type})->parameters().front().scalar_type();
  };
  EXPECT_EQ(type_of(WeightType::keep), at::kBFloat16);
  EXPECT_EQ(type_of(WeightType::fp32), at::kFloat);
  EXPECT_EQ(type_of(WeightType::fp16), at::kHalf);
}

TEST(LoadModel, RefusesATypeThatCannotHoldTheValues) {
  const TemporaryFolder folder;
  const auto parameters = parameters_of(odd_shape("gpt2"));
  FolderWriter writer(
      folder.path("model"),
      {.config = format_config(odd_shape("gpt2"), at::kFloat), .parameters = parameters});
  for (const auto& each : parameters) writer.write(each.name, 0, at::full(each.shape, 1e6));
  writer.finish();
  const ModelFolder model(folder.path("model"));
  EXPECT_THAT(error_of([&] { static_cast<void>(load_model(model, {.dtype = WeightType::fp16})); }),
              HasSubstr("fp16 cannot hold"));
}

TEST(FindModelFolder, TakesAFolderItselfOrTheOneInside) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { static_cast<void>(find_model_folder(folder.path("no"))); }),
              HasSubstr("there is no folder"));
  EXPECT_THAT(error_of([&] { static_cast<void>(find_model_folder(folder.path())); }),
              HasSubstr("so there is no model"));
  write_sample(folder.path("model"), odd_shape("gpt2"));
  EXPECT_EQ(find_model_folder(folder.path()), folder.path("model"));
  EXPECT_EQ(find_model_folder(folder.path("model")), folder.path("model"));
  write_sample(folder.path("other"), odd_shape("gpt2"));
  EXPECT_THAT(error_of([&] { static_cast<void>(find_model_folder(folder.path())); }),
              HasSubstr("there are 2 models in"));
}

}  // namespace
}  // namespace sheaf::hub
