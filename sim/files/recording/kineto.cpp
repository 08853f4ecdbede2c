#include "recording/kineto.hpp"

#include "recording/event_stream.hpp"
#include "recording/recording_builder.hpp"

namespace mirfak {

namespace {

constexpr std::string_view kStepPrefix = "ProfilerStep";
constexpr std::string_view kAutogradPrefix = "autograd::engine::evaluate_function";

enum class EventKind { kernel, copy, launch, operator_, other };

// Recognises the categories of all versions: "Kernel" and "kernel", "Memcpy" and "gpu_memcpy", "Operator" and "cpu_op".
EventKind kind_of(const std::string& category) {
  std::string name = category;
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (name == "kernel") return EventKind::kernel;
  if (name == "gpu_memcpy" || name == "gpu_memset" || name == "memcpy" || name == "memset") return EventKind::copy;
  if (name == "cuda_runtime" || name == "cuda_driver" || name == "runtime" || name == "hip_runtime") {
    return EventKind::launch;
  }
  if (name == "cpu_op" || name == "operator") return EventKind::operator_;
  return EventKind::other;
}

RecordedCollective collective_of(const TraceEvent& event, const KernelClasses& classes) {
  RecordedCollective out{event.collective,  event.collective_type, event.group,  event.group_size,
                         event.in_elements, event.out_elements,    std::nullopt, std::nullopt};
  if (const auto bytes = classes.element_bytes(event.collective_type)) {
    if (out.in_elements) out.in_bytes = bytes_of(*out.in_elements, *bytes, event.where);
    if (out.out_elements) out.out_bytes = bytes_of(*out.out_elements, *bytes, event.where);
  }
  return out;
}

class KinetoReader {
 public:
  KinetoReader(const std::string& name, const KernelClasses& classes) : classes_(classes), builder_(name, classes) {}

  void add(const TraceEvent& event) {
    switch (kind_of(event.category)) {
      case EventKind::kernel:
      case EventKind::copy:
        return add_kernel(event);
      case EventKind::launch:
        if (event.correlation) builder_.add_launch(*event.correlation, thread_of(event), event.start, end_of(event));
        return;
      case EventKind::operator_:
      case EventKind::other:
        break;
    }
    if (event.name.starts_with(kStepPrefix) && event.category.rfind("gpu_", 0) != 0) {
      builder_.add_step(event.name, event.start, end_of(event));
    } else if (kind_of(event.category) == EventKind::operator_) {
      builder_.add_operator({event.name, event.input_dims, event.input_types}, thread_of(event), event.start,
                            end_of(event), event.name.starts_with(kAutogradPrefix));
    } else {
      builder_.add_unread(event.category);
    }
  }

  Recording finish(TraceHeader header) {
    Recording out = builder_.finish();
    out.gpu = std::move(header.gpu);
    out.rank = header.rank;
    out.world_size = header.world_size;
    out.nccl_version = std::move(header.nccl_version);
    out.events = header.events;
    return out;
  }

 private:
  static Nanoseconds end_of(const TraceEvent& event) { return event.start + event.duration; }
  static std::string thread_of(const TraceEvent& event) { return event.process + "/" + event.thread; }

  void add_kernel(const TraceEvent& event) {
    RecordedKernel kernel;
    kernel.stream = event.stream.value_or(-1);
    kernel.device = static_cast<std::int32_t>(event.device.value_or(0));
    kernel.start = event.start;
    kernel.end = end_of(event);
    const bool copy = kind_of(event.category) == EventKind::copy;
    const RecordedCollective* said = nullptr;
    RecordedCollective collective;
    if (!event.collective.empty()) {
      collective = collective_of(event, classes_);
      said = &collective;
    }
    builder_.add_kernel(kernel, event.name, copy, event.correlation, said);
  }

  const KernelClasses& classes_;
  RecordingBuilder builder_;
};

}  // namespace

Recording read_kineto(const std::filesystem::path& path, const KernelClasses& classes) {
  KinetoReader reader(path.string(), classes);
  TraceHeader header = read_trace_events(path, [&](const TraceEvent& event) { reader.add(event); });
  return reader.finish(std::move(header));
}

Recording read_kineto_text(std::string_view text, const std::string& name, const KernelClasses& classes) {
  KinetoReader reader(name, classes);
  TraceHeader header = read_trace_events_of_text(text, name, [&](const TraceEvent& event) { reader.add(event); });
  return reader.finish(std::move(header));
}

}  // namespace mirfak
