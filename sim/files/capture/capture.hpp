#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

// A tensor of a captured operator.
struct CapturedTensor {
  std::string format;                 // "bfloat16", as PyTorch names it
  std::vector<std::int64_t> shape;    // empty: one number
  std::vector<std::int64_t> strides;  // in elements, one for each dimension; empty: contiguous
};

// An operator that launches kernels: an entry that many events name.
struct CapturedOperator {
  std::string name;                                    // "aten::mm"
  std::vector<std::pair<std::string, int>> arguments;  // tensor arguments with their number of tensors, as in `in`
  std::vector<CapturedTensor> in;                      // tensors of all arguments, in order
  std::vector<CapturedTensor> out;
  std::map<std::string, std::string> settings;  // arguments that are no tensors, as JSON text
  double read_bytes = 0;                        // each tensor once
  double written_bytes = 0;
};

// Communication that many events name. Bytes are those of the capturing rank.
struct CapturedCommunication {
  std::string kind;                 // "all_reduce", "send", ...
  std::vector<std::int64_t> ranks;  // global, ascending: all of the group
  std::string format;
  std::string operation;   // "SUM"; empty: none
  std::int64_t root = -1;  // of a broadcast; -1: none
  std::int64_t peer = -1;  // of a send or recv; -1: none
  double in_bytes = 0;
  double out_bytes = 0;
};

enum class CapturePhase : std::uint8_t { forward, recomputation, backward, optimizer };
inline constexpr std::size_t kCapturePhases = 4;
inline constexpr std::array<const char*, kCapturePhases> kCapturePhaseNames = {"forward", "recomputation", "backward",
                                                                               "optimizer"};

enum class CaptureEventKind : std::uint8_t {
  launch,       // an operator launches kernels on a stream
  communicate,  // communication is handed over, after the work of a stream; `id` numbers it
  wait,         // a stream waits for communication `id`
  record,       // event `id` is recorded on a stream
  await,        // a stream waits for event `id`
  block,        // the host waits for the GPU
  host,         // the host dispatches `id` operators that launch nothing
  python,       // the host has executed `id` lines of Python since the last such event
  graph,        // the host launches a CUDA graph of the next `id` events
};

// An event of a rank, in the order of the host. Events of memory are checked when a capture is read, and not kept.
struct CaptureEvent {
  CaptureEventKind kind{};
  CapturePhase phase{};       // launch, communicate
  bool whole_device = false;  // block: the host waits for all streams, not for the last one that was used
  std::uint32_t entry = 0;    // launch: of `operators`; communicate: of `communication`
  std::uint32_t module = 0;   // launch, communicate: of `modules`
  std::int32_t stream = 0;
  std::uint32_t position = 0;  // place in the rank's list of events in the file, from 0
  std::int64_t id = 0;
};

// The record of one rank in the window of the capture.
struct CapturedRank {
  std::int64_t rank = 0;
  int line = 0;  // of the file
  // A rank that did the same, or the same in corresponding groups, and has the events; -1: the fields below are its
  // own.
  std::int64_t same_as = -1;
  bool in_own_groups = false;  // with `same_as`: in the corresponding groups, not in the same ones
  double param_bytes = 0;
  double optimizer_state_bytes = 0;
  double peak_allocated_bytes = 0;
  double graph_bytes = 0;  // kept by CUDA graphs for their replays, and not allocated
  double peak_reserved_bytes = 0;
  std::int64_t dispatched = 0;                              // operators that the host dispatched
  std::int64_t python_lines = -1;                           // lines of Python that it executed; -1: not counted
  std::vector<std::pair<std::string, std::int64_t>> notes;  // what was stated or taken to be so, and how often
  std::vector<CaptureEvent> events;
};

// One step of a program, recorded on a machine without a GPU: python/mirfak/capture/README.md has the fields.
struct Capture {
  std::string file;
  std::string hash;  // text_hash() of the file's lines, compressed or not
  std::string program;
  std::string device;  // the GPU that the program was told it has: a name of hw_profiles/gpus
  std::string torch;   // version of PyTorch
  std::int64_t world_size = 0;
  std::int64_t gpus_per_node = 0;
  std::int64_t step = 0;  // of the optimizer, from 0; -1: all that a block of the program did
  // Families of process groups: each rank is in at most one group of a family. Ranks of a group ascend.
  std::vector<std::vector<std::vector<std::int64_t>>> families;
  std::vector<CapturedOperator> operators;
  std::vector<CapturedCommunication> communication;
  std::vector<std::string> modules;
  // Lines of the program that call modules, "model.py:57"; numbers of a module's path are "*". Empty: not captured.
  std::map<std::string, std::string> lines;
  std::vector<CapturedRank> ranks;          // ascending
  std::vector<std::string> unknown_fields;  // fields of the file that this version does not know, which it leaves out
};

}  // namespace mirfak
