// Kernels as libraries of NVIDIA's and AMD's GPUs call them, and what they are.
#include "recording/kernel_classes.hpp"

#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace mirfak;

TEST_CASE("kernels of AMD's and of newer NVIDIA libraries belong to their classes by their names") {
  const KernelClasses classes = KernelClasses::from_file(source_root() + "/hw_profiles/kernel_classes.yaml");
  const std::vector<std::pair<std::string, std::vector<std::string>>> names = {
      {"gemm",
       {"Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x128x32_MI16x16x1_SN",
        "Custom_Cijk_Alik_Bljk_HHS_BH_MT64x64", "_matmul_ogs_NNT_bf16xbf16xmxfp4_128x256x128x1_swiglu", "_p_matmul_ogs",
        "fused_moe_kernel", "aiter::fmoe_stage1_bf16_pertokenFp8_g1u1", "_ZN5aiter26bf16gemm_fp32bf16_tn_96x64E",
        "triton_tem_fused_mm_12", "void ck_tile::kentry<1, ck_tile::GemmKernel<...>>",
        "void ck::kernel_grouped_gemm_multiple_d_xdl<...>", "nvjet_sm100_tst_128x256_64x6_2x1_2cta_v_bz_TNT",
        "cutlass3x_sm100_tensorop_s128x128x16gemm_bf16", "wvSplitK_hf_sml_<__hip_bfloat16, 64, 2, 16, 8, 2, 1>",
        "rocblas_gemvt_warp_reduce_kernel", "deep_gemm::fp8_gemm_kernel", "void marlin::Marlin<...>"}},
      {"attention",
       {"attn_fwd.kd", "attn_bwd", "_attn_fwd_inner", "bwd_kernel_dk_dv", "bwd_preprocess",
        "_ZN5aiter36fmha_fwd_hd128_bf16_causal_group_rtzE",
        "void ck_tile::kentry<2, ck_tile::FmhaBwdDQDKDVKernel<...>>", "cudnn_generated_oss_sdpa_sm100_fprop",
        "flash_fwd_splitkv_kernel", "kernel_unified_attention_2d", "triton_tem_fused_flex_attention_3"}},
      {"comm",
       {"ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096>)", "rcclGenericKernel", "mscclKernel_Sum_half_Simple",
        "void aiter::reduce_scatter_cross_device_store<...>", "userbuffers_fp16_sum_inplace_gpu_rr_rs",
        "EpDispatchIntraNodeKernel", "two_shot_all_reduce_kernel"}},
      {"norm",
       {"void ck_tile::kentry<1, ck_tile::Rmsnorm2dFwd<...>>", "MIOpenBatchNormBwdSpatialSingle", "add_rmsnorm_quant",
        "void cuComputePartGradGammaBeta<...>"}},
      {"conv",
       {"igemm_fwd_gtcx3_nhwc_bf16_bx0_ex0_bt256x256x32", "miopenSp3AsmConv_v30_2_6_gfx9", "naive_conv_ab_packed"}},
      {"optimizer", {"void multi_tensor_apply_kernel<AdamFunctor<...>>", "fused_adam_kernel"}},
      {"elementwise/reduce/copy",
       {"void at::native::vectorized_elementwise_kernel<4>",
        "triton_poi_fused__scaled_dot_product_flash_attention_cat_4", "__amd_rocclr_fillBufferAligned",
        "void rocprim::detail::partition_kernel<...>", "fused_rope_forward"}},
      {"quantise/transpose", {"_downcast_to_mxfp", "dynamic_per_token_scaled_quant_kernel"}},
  };
  for (const auto& [cls, kernels] : names) {
    for (const std::string& kernel : kernels) {
      CAPTURE(kernel);
      CHECK(classes.classes()[classes.class_of(kernel)].name == cls);
    }
  }
}
