#pragma once

#include "executor/cuda_device.hpp"

#include <span>
#include <vector>

namespace mirfak::measure {

// Work of several streams, to be launched again and again as one.
class CudaGraph {
 public:
  CudaGraph() = default;  // of nothing
  explicit CudaGraph(cudaGraph_t graph);
  CudaGraph(CudaGraph&& other) noexcept { std::swap(handle_, other.handle_); }
  CudaGraph& operator=(CudaGraph&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~CudaGraph();

  explicit operator bool() const { return handle_ != nullptr; }
  void upload(cudaStream_t stream) const;  // so that the first launch takes as long as any
  void launch(cudaStream_t stream) const;

 private:
  cudaGraphExec_t handle_ = nullptr;
};

// A capture: work put into `streams` is not run but kept. None of them may be in use. The first is the origin:
// the others fork from it, and finish() joins them. Two kinds of events serve inside:
//  - those by which one stream waits for another: recorded and waited for as ever, and good for nothing else. Outside
//  of
//    the capture, CUDA refuses to ask or wait for an event that was recorded so;
//  - those that take the time: DeviceEvent::record_in_graph() makes a node that passes the event whenever the graph
//    runs. No stream waits for them.
//
// Calls that are not put into a stream, such as allocations, are errors of this thread meanwhile, and of no other: NCCL
// starts operations of communicators that never block from threads of its own.
class CudaCapture {
 public:
  explicit CudaCapture(std::span<const DeviceStream> streams);
  CudaCapture(const CudaCapture&) = delete;
  CudaCapture& operator=(const CudaCapture&) = delete;
  ~CudaCapture();  // streams are as before, whatever happened

  CudaGraph finish();

 private:
  struct Begun {};
  CudaCapture(std::span<const DeviceStream> streams, Begun);

  std::span<const DeviceStream> streams_;
  DeviceEvent fork_{DeviceEvent::Time::none};
  std::vector<DeviceEvent> joins_;
};

}  // namespace mirfak::measure
