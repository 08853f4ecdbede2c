#include "executor/cuda_graph.hpp"

#include "executor/cuda_memory_kernels.hpp"

#include <memory>
#include <type_traits>

namespace mirfak::measure {

namespace {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
using GraphHandle = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;

}  // namespace

CudaGraph::CudaGraph(cudaGraph_t graph) {
  check_cuda(cudaGraphInstantiateWithFlags(&handle_, graph, 0), "make a graph that can be launched");
}

CudaGraph::~CudaGraph() {
  if (handle_ != nullptr) cudaGraphExecDestroy(handle_);
}

void CudaGraph::upload(cudaStream_t stream) const { check_cuda(cudaGraphUpload(handle_, stream), "upload a graph"); }

void CudaGraph::launch(cudaStream_t stream) const { check_cuda(cudaGraphLaunch(handle_, stream), "launch a graph"); }

// Does first what a stream cannot record: makes the events, and loads the kernel of the first node.
CudaCapture::CudaCapture(std::span<const DeviceStream> streams, Begun) : streams_(streams) {
  launch_nothing(streams.front().get());
  for (std::size_t i = 1; i < streams.size(); ++i) joins_.emplace_back(DeviceEvent::Time::none);
  check_cuda(cudaStreamBeginCapture(streams.front().get(), cudaStreamCaptureModeThreadLocal), "begin to capture");
}

// The delegated constructor is through: whatever fails below, the destructor ends the capture.
CudaCapture::CudaCapture(std::span<const DeviceStream> streams) : CudaCapture(streams, Begun{}) {
  // A first node, behind which the others fork.
  launch_nothing(streams_.front().get());
  check_cuda(cudaGetLastError(), "capture a kernel");
  fork_.record(streams_.front().get());
  for (const DeviceStream& stream : streams_.subspan(1)) fork_.hold(stream.get());
}

CudaCapture::~CudaCapture() {
  cudaStream_t origin = streams_.front().get();
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(origin, &status) != cudaSuccess || status == cudaStreamCaptureStatusNone) return;
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(origin, &graph);
  if (graph != nullptr) cudaGraphDestroy(graph);
  // The failure has been told; a later look at the last error is not for it.
  static_cast<void>(cudaGetLastError());
}

CudaGraph CudaCapture::finish() {
  cudaStream_t origin = streams_.front().get();
  for (std::size_t i = 0; i < joins_.size(); ++i) {
    joins_[i].record(streams_[i + 1].get());
    joins_[i].hold(origin);
  }
  cudaGraph_t captured = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(origin, &captured);
  const GraphHandle graph(captured);
  check_cuda(ended, "end the capture");
  CudaGraph out(graph.get());
  out.upload(origin);
  return out;
}

}  // namespace mirfak::measure
