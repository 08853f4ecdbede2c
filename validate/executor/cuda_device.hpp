#pragma once

#include "executor/nvml.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mirfak::measure {

// Throws Error(internal) with CUDA's own words unless `result` is success.
void check_cuda(cudaError_t result, const char* what);

// Makes the device of this process its current one: of the devices of a machine, the one whose number is the process's
// place among those of the machine; or the only one that it is let see. Error(infeasible) "no CUDA device: ..." where
// there is none, no driver, or fewer than processes; `local_rank`: that place.
void choose_device(int local_rank);

using DeviceId = std::array<char, 16>;
DeviceId device_id();  // of the current device, as no other has it

// The current device as the driver's management library knows it, if it does.
std::optional<NvmlDevice> open_nvml();

// The current device, for tables: key and value. Library versions included.
std::vector<std::pair<std::string, std::string>> describe_device();
std::string device_summary();  // a line for people

// Owned device memory.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::size_t bytes);
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceMemory();

  char* data() const { return static_cast<char*>(data_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Owned stream: its work does not wait for the default stream's.
class DeviceStream {
 public:
  DeviceStream();
  DeviceStream(DeviceStream&& other) noexcept { std::swap(handle_, other.handle_); }
  DeviceStream& operator=(DeviceStream&&) = delete;
  ~DeviceStream();
  cudaStream_t get() const { return handle_; }

 private:
  cudaStream_t handle_ = nullptr;
};

// Owned event.
class DeviceEvent {
 public:
  enum class Time : std::uint8_t { kept, none };
  DeviceEvent() : DeviceEvent(Time::kept) {}
  explicit DeviceEvent(Time time);
  DeviceEvent(DeviceEvent&& other) noexcept { std::swap(handle_, other.handle_); }
  DeviceEvent& operator=(DeviceEvent&&) = delete;
  ~DeviceEvent();
  cudaEvent_t get() const { return handle_; }
  void record(cudaStream_t stream) const;
  // Records while `stream` is captured: every launch of the graph passes the event here (see CudaCapture).
  void record_in_graph(cudaStream_t stream) const;
  void hold(cudaStream_t stream) const;                    // `stream` waits for what was recorded last
  bool done() const;                                       // never blocks
  double seconds_since(const DeviceEvent& earlier) const;  // both done, both with times

 private:
  cudaEvent_t handle_ = nullptr;
};

}  // namespace mirfak::measure
