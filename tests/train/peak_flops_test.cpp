#include "sheaf/train/peak_flops.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::train {
namespace {

using ::testing::HasSubstr;

double teraflops(std::string_view name, Arithmetic arithmetic = Arithmetic::bf16) {
  return gpu_peak(name, arithmetic).flops / 1e12;
}

TEST(GpuPeak, KnowsTheNamesThatDriversGive) {
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA A100-SXM4-80GB"), 312);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA A100 80GB PCIe"), 312);
  EXPECT_DOUBLE_EQ(teraflops("A100-PCIE-40GB"), 312);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA H100 80GB HBM3"), 989);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA H100 PCIe"), 756);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA H100 NVL"), 835);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA H200"), 989);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA GH200 480GB"), 989);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA B200"), 2250);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA GB200"), 2500);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA L40S"), 362);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA L4"), 121);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA A10"), 125);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA A10G"), 70);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA GeForce RTX 4090"), 165.2);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA RTX A6000"), 154.8);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA RTX 6000 Ada Generation"), 364.2);
  EXPECT_DOUBLE_EQ(teraflops("Tesla V100-SXM2-32GB", Arithmetic::fp16), 125);
  EXPECT_DOUBLE_EQ(teraflops("Tesla T4", Arithmetic::fp16), 65);
}

TEST(GpuPeak, KnowsCardsOfDesktops) {
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA GeForce RTX 3060"), 25.5);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA GeForce RTX 3060 Ti"), 32.4);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA GeForce RTX 3070"), 40.6);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA GeForce RTX 3080"), 59.5);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA GeForce RTX 4060 Ti"), 44.1);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA GeForce RTX 4070"), 58.3);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA GeForce RTX 4070 SUPER"), 71);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA GeForce RTX 4070 Ti"), 80.2);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA GeForce RTX 4070 Ti SUPER"), 88.2);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA GeForce RTX 5070"), 61.7);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA GeForce RTX 5070 Ti", Arithmetic::fp8), 175.8);
}

TEST(GpuPeak, DependsOnTheArithmetic) {
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA H200", Arithmetic::fp32), 67);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA H200", Arithmetic::tf32), 494.5);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA H200", Arithmetic::fp16), 989);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA H200", Arithmetic::fp8), 1979);
}

TEST(GpuPeak, DoesNotTakeAnotherKindForTheSame) {
  EXPECT_EQ(teraflops("NVIDIA GeForce RTX 4090 Laptop GPU"), 0);
  EXPECT_EQ(teraflops("NVIDIA GeForce RTX 4090 D"), 0);
  EXPECT_EQ(teraflops("NVIDIA H100 80GB HBM3 MIG 1g.10gb"), 0);
  EXPECT_EQ(teraflops("Quadro RTX 6000"), 0);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA GeForce RTX 3090 Ti"), 80);
  EXPECT_DOUBLE_EQ(teraflops("NVIDIA GeForce RTX 3090"), 71);
}

TEST(GpuPeak, IsZeroForUnknownNamesAndArithmetic) {
  EXPECT_EQ(teraflops("NVIDIA Z9000"), 0);
  EXPECT_EQ(teraflops(""), 0);
  EXPECT_EQ(teraflops("NVIDIA A100-SXM4-80GB", Arithmetic::fp8), 0);
  EXPECT_EQ(teraflops("Tesla T4", Arithmetic::bf16), 0);
}

TEST(GpuPeak, SaysWhereTheNumberIsFrom) {
  EXPECT_EQ(gpu_peak("NVIDIA H200", Arithmetic::bf16).source, "NVIDIA H200, bf16");
  EXPECT_EQ(gpu_peak("Z", Arithmetic::tf32).source, "no rate known of Z, tf32");
}

TEST(MeasureCpuPeak, FindsARate) {
  for (const auto arithmetic : {Arithmetic::fp32, Arithmetic::tf32, Arithmetic::bf16}) {
    EXPECT_GT(measure_cpu_peak(arithmetic).flops, 1e6);
  }
  EXPECT_THAT(measure_cpu_peak(Arithmetic::tf32).source, HasSubstr("fp32"));
}

TEST(MeasureCpuPeak, LeavesRandomNumbersAlone) {
  at::manual_seed(5);
  const at::Tensor expected = at::rand({3});
  at::manual_seed(5);
  (void)measure_cpu_peak(Arithmetic::fp32);
  EXPECT_TRUE(at::rand({3}).equal(expected));
}

TEST(MeasureCpuPeak, IsZeroForFp8) { EXPECT_EQ(measure_cpu_peak(Arithmetic::fp8).flops, 0); }

}  // namespace
}  // namespace sheaf::train
