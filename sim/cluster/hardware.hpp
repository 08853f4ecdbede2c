#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// A number with its origin. Every constant that enters a prediction is one of these.
struct Figure {
  double value = 0;
  std::string source;  // "NVIDIA A100 datasheet (2021)", "fit to 9,240 shapes, mean error 13.2 %", ...
};

enum class Precision { fp32, tf32, fp16, bf16, fp8, fp4 };
inline constexpr std::size_t kPrecisions = 6;
double bytes_per_element(Precision precision);
const std::string& name_of(Precision precision);

// Time of a GEMM: overhead + ((compute)^p + (memory)^p)^(1/p), compute = FLOPs / (peak * compute_efficiency),
// memory = bytes / (memory bandwidth * memory_efficiency).
struct GemmFit {
  Figure overhead_s;
  Figure compute_efficiency;
  Figure memory_efficiency;
  Figure exponent;
};

struct GpuSpec {
  std::string name;          // "a100-80g"
  std::string title;         // "NVIDIA A100-SXM4-80GB"
  std::string architecture;  // "ampere"
  int multiprocessors = 0;
  std::map<Precision, Figure> peak_flops;  // dense FLOP/s; a precision that is absent is not supported
  Figure memory_bytes;
  Figure memory_bandwidth;             // bytes/s, datasheet
  Figure memory_bandwidth_efficiency;  // achievable share for streaming kernels
  Figure l2_bytes;
  Figure tdp_w;
  Figure idle_w;
  Figure blocked_w;       // waiting in a collective or receive
  Figure clock_max_hz;
  Figure clock_min_hz;
  Figure clock_step_hz;
  Figure kernel_launch_s;              // floor of a kernel in a stream of dependent kernels
  std::map<Precision, GemmFit> gemm;   // measured fits; peak-based default where absent
};

// One kind of link as a GPU sees it.
struct LinkSpec {
  std::string name;                // "nvlink3", "ib-hdr"
  std::string title;
  Figure bandwidth;                // bytes/s per direction: per GPU (scale-up) or per port (network), line rate
  Figure efficiency;               // share of the line rate that large collectives reach
  Figure latency_s;                // per step of a ring or hop
  Figure base_latency_s;           // fixed part of a collective of any size
  bool in_switch_reduction = false;  // NVLink SHARP (NVLS)
};

struct NodeSpec {
  std::string name;   // "dgx-a100-80g"
  std::string title;
  std::string gpu;    // name of a GpuSpec
  int gpus = 0;
  std::string scale_up;       // name of a LinkSpec between the GPUs of a node
  int scale_up_domain = 0;    // GPUs that reach each other over it: `gpus`, or 72 for an NVL72 rack
  std::string network;        // name of a LinkSpec; one port each
  int ports = 0;              // network ports of a node
  Figure host_memory_bytes;
  Figure host_power_w;        // node power that is not the GPUs'
};

struct PriceSpec {
  std::string name;  // "on-demand", "spot"
  std::string gpu;
  Figure usd_per_gpu_hour;
  std::string date;
};

}  // namespace mirfak
