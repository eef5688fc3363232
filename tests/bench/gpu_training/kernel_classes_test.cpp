#include "gpu_training/kernel_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sheaf::bench {
namespace {

TEST(KernelClasses, KnowsProductsOfAllLibraries) {
  for (const char* name :
       {"nvjet_sm90_hsh_128x256_64x4_2x1_v_bz_coopA_NNT",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
        "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_tn>(Params)",
        "void cublasLt::splitKreduce_kernel<32, 16, int, float>(float*)"}) {
    EXPECT_EQ(class_of_kernel(name), KernelClass::gemm) << name;
  }
}

TEST(KernelClasses, TakesAttentionWithCutlassTypesForAttention) {
  for (const char* name :
       {"void pytorch_flash::flash_bwd_kernel<Flash_bwd_kernel_traits<64, cutlass::bfloat16_t>>",
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3i_64x128x64_4x1x1",
        "void cudnn::fusion::compute_dot_do_o_specialized<true, 64>(void const*, void const*)",
        "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel::"
        "Params)"}) {
    EXPECT_EQ(class_of_kernel(name), KernelClass::attention) << name;
  }
}

TEST(KernelClasses, TellsNormsOfRowsFromTheNormOfGradients) {
  EXPECT_EQ(class_of_kernel("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel"),
            KernelClass::norm);
  EXPECT_EQ(class_of_kernel("void at::native::GammaBetaBackwardCUDAKernelTemplate<float>"),
            KernelClass::norm);
  EXPECT_EQ(class_of_kernel("void at::native::reduce_kernel<512, 1, NormTwoOps<float, float>>"),
            KernelClass::optimizer);
}

TEST(KernelClasses, KnowsSheafsKernelsOfLayers) {
  const std::string layers = "void sheaf::nn::(anonymous namespace)::";
  for (const char* name : {"norm_kernel<__nv_bfloat16, (sheaf::nn::Statistics)0, 4, 256>",
                           "norm_of_warp_kernel<__nv_bfloat16, (sheaf::nn::Statistics)1, 5>",
                           "gradient_kernel<__nv_bfloat16, 4, 256>(sheaf::nn::NormGradientRows)"}) {
    EXPECT_EQ(class_of_kernel(layers + name), KernelClass::norm) << name;
  }
  for (const char* name : {"gelu_rows_back_kernel<__nv_bfloat16, 8>(sheaf::nn::GeluRows)",
                           "join_columns_kernel<__nv_bfloat16, 8>(sheaf::nn::JoinedColumns)",
                           "put_scaled_kernel<float, __nv_bfloat16, 8>(sheaf::nn::ScaledValues)",
                           "sums_of_parts_kernel(sheaf::nn::PartsSums)"}) {
    EXPECT_EQ(class_of_kernel(layers + name), KernelClass::elementwise) << name;
  }
}

TEST(KernelClasses, KnowsLossAndOptimizerOfSheafAndOfLibTorch) {
  EXPECT_EQ(class_of_kernel("void at::native::cunn_SoftMaxForward<8, float>"), KernelClass::loss);
  EXPECT_EQ(class_of_kernel("void sheaf::optim::adam_kernel<float>(sheaf::optim::Elements)"),
            KernelClass::optimizer);
  EXPECT_EQ(class_of_kernel("void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor>"),
            KernelClass::optimizer);
}

TEST(KernelClasses, LeavesTheRestOfLibTorchToElementwise) {
  EXPECT_EQ(
      class_of_kernel("void at::native::vectorized_elementwise_kernel<8, GeluCUDAKernelImpl>"),
      KernelClass::elementwise);
  EXPECT_EQ(class_of_kernel("void at::native::reduce_kernel<128, 4, ReduceOp<float, sum_functor>>"),
            KernelClass::elementwise);
}

TEST(KernelClasses, SaysSoWhereANameTellsNothing) {
  EXPECT_EQ(class_of_kernel("mystery"), KernelClass::other);
}

}  // namespace
}  // namespace sheaf::bench
