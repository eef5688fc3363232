#include "study/peak.h"

#include <gtest/gtest.h>

namespace sheaf::study {
namespace {

Json row(double peak, double mfu) { return {{"peak_flops", peak}, {"mfu", mfu}}; }

Json data_on(const std::string& device) {
  Json data;
  data["settings"]["device"] = device;
  data["baseline"] = row(100, 0.5);
  data["strategies"] = Json::array({row(50, 1.2), Json{{"ending", "failed"}}});
  data["sweep"]["rows"] = Json::array({row(200, 0.4)});
  data["gains"] = Json::array();
  return data;
}

TEST(SharePeak, HoldsAllRunsAgainstTheHighest) {
  Json data = data_on("cpu");
  share_peak(data);
  EXPECT_DOUBLE_EQ(data["baseline"]["mfu"], 0.25);
  EXPECT_DOUBLE_EQ(data["strategies"][0]["mfu"], 0.3);
  EXPECT_DOUBLE_EQ(data["sweep"]["rows"][0]["mfu"], 0.4);
  EXPECT_DOUBLE_EQ(data["strategies"][0]["peak_flops"], 200);
}

TEST(SharePeak, LeavesGpusTheirOwn) {
  Json data = data_on("cuda");
  share_peak(data);
  EXPECT_EQ(data, data_on("cuda"));
}

}  // namespace
}  // namespace sheaf::study
