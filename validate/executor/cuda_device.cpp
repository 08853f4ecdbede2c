#include "executor/cuda_device.hpp"

#include "base/error.hpp"

#include <cublasLt.h>
#include <fmt/format.h>
#ifdef MIRFAK_HAS_NCCL
#include <nccl.h>
#endif
#ifdef MIRFAK_HAS_CUDNN
#include <cudnn_version.h>
#endif

#include <array>
#include <cstdlib>
#include <cstring>

namespace mirfak::measure {

namespace {

cudaDeviceProp properties() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "find the device");
  cudaDeviceProp out{};
  check_cuda(cudaGetDeviceProperties(&out, device), "describe the device");
  return out;
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string library_versions() {
  int runtime = 0;
  check_cuda(cudaRuntimeGetVersion(&runtime), "find its version");
  std::string out = fmt::format("CUDA {}, cuBLASLt {}", version_text(runtime), cublasLtGetVersion());
#ifdef MIRFAK_HAS_CUDNN
  out += fmt::format(", cuDNN {}.{}.{}", CUDNN_MAJOR, CUDNN_MINOR, CUDNN_PATCHLEVEL);
#endif
#ifdef MIRFAK_HAS_NCCL
  int nccl = 0;
  if (ncclGetVersion(&nccl) == ncclSuccess) {
    out += fmt::format(", NCCL {}.{}.{}", nccl / 10000, nccl % 10000 / 100, nccl % 100);
  }
#endif
  return out;
}

// CUDA says of a machine without a driver that its driver is too old.
std::string why_none(cudaError_t found) {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) return "no driver is installed";
  return found == cudaSuccess ? "the driver lists none" : cudaGetErrorString(found);
}

}  // namespace

void check_cuda(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  fail_internal(fmt::format("CUDA could not {}: {}", what, cudaGetErrorString(result)));
}

void choose_device(int local_rank) {
  // Streams share the device's queues; with the default of 8, work of unlike streams would wait for each other.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  int count = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  if (found != cudaSuccess || count == 0) {
    fail_infeasible({}, fmt::format("no CUDA device: {}", why_none(found)),
                    "run on a machine with a GPU, or with --backend cpu");
  }
  if (local_rank >= count && count > 1) {
    fail_infeasible({}, fmt::format("no CUDA device for process {} of this machine: it has {}", local_rank, count),
                    "start as many processes as GPUs");
  }
  // A launcher may let each process see a GPU of its own, and no other.
  const int device = count == 1 ? 0 : local_rank;
  const cudaError_t chosen = cudaSetDevice(device);
  if (chosen != cudaSuccess) {
    fail_infeasible({}, fmt::format("no CUDA device: {} cannot be used: {}", device, cudaGetErrorString(chosen)));
  }
}

DeviceId device_id() {
  DeviceId out{};
  const cudaUUID_t id = properties().uuid;
  std::memcpy(out.data(), id.bytes, out.size());
  return out;
}

std::optional<NvmlDevice> open_nvml() {
  const cudaDeviceProp device = properties();
  return NvmlDevice::open(device.pciDomainID, device.pciBusID, device.pciDeviceID);
}

std::vector<std::pair<std::string, std::string>> describe_device() {
  const cudaDeviceProp device = properties();
  int driver = 0;
  check_cuda(cudaDriverGetVersion(&driver), "find the driver's version");
  std::vector<std::pair<std::string, std::string>> out = {
      {"gpu", device.name},
      {"gpu_compute_capability", fmt::format("{}.{}", device.major, device.minor)},
      {"gpu_multiprocessors", fmt::format("{}", device.multiProcessorCount)},
      {"gpu_memory_bytes", fmt::format("{}", device.totalGlobalMem)},
      {"gpu_l2_bytes", fmt::format("{}", device.l2CacheSize)},
      {"gpu_driver_cuda", version_text(driver)},
      {"gpu_libraries", library_versions()}};
  if (const auto nvml = open_nvml()) {
    out.emplace_back("gpu_driver", nvml->driver());
    out.emplace_back("gpu_temperature_c", fmt::format("{:.0f}", nvml->temperature_c()));
    out.emplace_back("gpu_clock_hz", fmt::format("{:.0f}", nvml->clock_hz(NvmlDevice::Clock::multiprocessors)));
    out.emplace_back("gpu_memory_clock_hz", fmt::format("{:.0f}", nvml->clock_hz(NvmlDevice::Clock::memory)));
    out.emplace_back("gpu_clock_max_hz", fmt::format("{:.0f}", nvml->max_clock_hz()));
    out.emplace_back("gpu_power_limit_w", fmt::format("{:.0f}", nvml->power_limit_w()));
  }
  return out;
}

std::string device_summary() {
  const cudaDeviceProp device = properties();
  return fmt::format("{}, {}", device.name, library_versions());
}

DeviceMemory::DeviceMemory(std::size_t bytes) : bytes_(bytes) {
  const cudaError_t result = cudaMalloc(&data_, bytes);
  if (result == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    fail_infeasible({}, fmt::format("the device has no {:.3g} GB left for operands", static_cast<double>(bytes) * 1e-9),
                    "use a smaller model or micro-batch");
  }
  check_cuda(result, "allocate memory");
}

DeviceMemory::~DeviceMemory() { cudaFree(data_); }

DeviceStream::DeviceStream() {
  check_cuda(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "create a stream");
}

DeviceStream::~DeviceStream() {
  if (handle_ != nullptr) cudaStreamDestroy(handle_);
}

DeviceEvent::DeviceEvent(Time time) {
  const unsigned flags = time == Time::kept ? cudaEventDefault : cudaEventDisableTiming;
  check_cuda(cudaEventCreateWithFlags(&handle_, flags), "create an event");
}

DeviceEvent::~DeviceEvent() {
  if (handle_ != nullptr) cudaEventDestroy(handle_);
}

void DeviceEvent::record(cudaStream_t stream) const { check_cuda(cudaEventRecord(handle_, stream), "record an event"); }

void DeviceEvent::record_in_graph(cudaStream_t stream) const {
  check_cuda(cudaEventRecordWithFlags(handle_, stream, cudaEventRecordExternal), "record an event in a graph");
}

void DeviceEvent::hold(cudaStream_t stream) const {
  check_cuda(cudaStreamWaitEvent(stream, handle_, 0), "have a stream wait");
}

bool DeviceEvent::done() const {
  const cudaError_t state = cudaEventQuery(handle_);
  if (state == cudaErrorNotReady) return false;
  check_cuda(state, "run kernels");
  return true;
}

double DeviceEvent::seconds_since(const DeviceEvent& earlier) const {
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, earlier.handle_, handle_), "read the time of an event");
  return milliseconds * 1e-3;
}

}  // namespace mirfak::measure
