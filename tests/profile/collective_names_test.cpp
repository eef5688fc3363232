#include "profile/collective_names.h"

#include <gtest/gtest.h>

namespace sheaf::profile {
namespace {

TEST(CollectiveNames, AreFoundInNamesOfKernelsAndOperators) {
  EXPECT_EQ(collective_of("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
            "all_gather");
  EXPECT_EQ(collective_of("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL"), "reduce_scatter");
  EXPECT_EQ(collective_of("ncclDevKernel_AllReduce_Sum_bf16_RING_LL"), "all_reduce");
  EXPECT_EQ(collective_of("nccl:_all_gather_base"), "all_gather");
  EXPECT_EQ(collective_of("gloo:all_reduce"), "all_reduce");
  EXPECT_EQ(collective_of("c10d::broadcast_"), "broadcast");
}

TEST(CollectiveNames, AreNotSeenInOperatorsThatOnlySoundLikeIt) {
  EXPECT_EQ(collective_of("void at::native::reduce_kernel<512, 1>(float)"), std::nullopt);
  EXPECT_EQ(collective_of("aten::broadcast_to"), std::nullopt);
  EXPECT_EQ(collective_of("aten::mm"), std::nullopt);
}

TEST(ExchangeKernels, AreThoseOfNcclAndOfSheaf) {
  EXPECT_TRUE(is_exchange_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL"));
  EXPECT_TRUE(is_exchange_kernel("void sheaf::comm::one_gpu::copy_kernel(sheaf::comm::Copies)"));
  EXPECT_FALSE(is_exchange_kernel("void at::native::reduce_kernel<512, 1>(float)"));
}

}  // namespace
}  // namespace sheaf::profile
