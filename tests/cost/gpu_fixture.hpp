#pragma once

#include "cluster/hardware.hpp"

namespace mirfak::test {

inline Figure figure(double value) { return {value, "test"}; }

// 100 TFLOP/s at efficiency 0.8 without waves, 1 TB/s at 0.5 for GEMMs and 0.8 for streams, exponent 2, launch 2 us.
inline GpuSpec test_gpu() {
  GpuSpec spec;
  spec.name = spec.title = "test GPU";
  spec.multiprocessors = 100;
  spec.peak_flops = {{Precision::fp32, figure(10e12)}, {Precision::bf16, figure(100e12)}};
  spec.memory_bandwidth = figure(1e12);
  spec.memory_bandwidth_efficiency = figure(0.8);
  spec.l2_bytes = figure(40e6);
  spec.kernel_launch_s = figure(2e-6);
  spec.l2_bytes = figure(10e6);
  spec.memory_kernels = {figure(0.5), figure(0.5), figure(0.5), figure(0.25), figure(4),
                         figure(0),   figure(0),   figure(0),   figure(0),    figure(0)};
  GemmFit fit;
  fit.constants.overhead_s = 5e-6;
  fit.constants.efficiency = 0.8;
  fit.constants.memory_efficiency = 0.5;
  fit.constants.exponent = 2;
  fit.constants.quantisation = 0;
  fit.sources.fill("test");
  spec.gemm = {{Precision::bf16, fit}};
  spec.multiprocessors = 10;
  AttentionTiles tiles;
  tiles.rows = figure(128);
  tiles.efficiency = figure(0.5);
  tiles.backward_efficiency = figure(0.4);
  tiles.ramp_s = tiles.tail = figure(0);
  AttentionFit attention;
  attention.head_dims = {{64, tiles}};
  attention.io_passes = attention.backward_passes = figure(0);
  spec.attention = {{"flash-2", attention}};
  spec.sustained_share = figure(1);
  spec.clock_power = {figure(0.4), figure(4)};
  spec.tdp_w = figure(400);
  return spec;
}

}  // namespace mirfak::test
