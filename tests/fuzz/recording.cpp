// Any bytes are either a recording whose times add up, or an input error with its place.

#include "base/error.hpp"
#include "recording/kineto.hpp"
#include "recording/recording_summary.hpp"
#include "require.hpp"
#include "support/source_root.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

using namespace mirfak;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const KernelClasses classes = KernelClasses::from_file(source_root() + "/hw_profiles/kernel_classes.yaml");
  try {
    const Recording recording = read_kineto_text({reinterpret_cast<const char*>(bytes), size}, "t.json", classes);
    const RecordingSummary summary = summarize(recording);
    require(summary.kernels + summary.copies == recording.kernels.size());
    require(summary.overlapped >= 0 && summary.exposed() >= 0 && summary.busy <= summary.first_to_last);
    for (const RecordedKernel& kernel : recording.kernels) {
      require(kernel.step < static_cast<std::int32_t>(recording.steps.size()));
      require(kernel.operator_ < static_cast<std::int32_t>(recording.operators.size()));
    }
  } catch (const Error& error) {
    require_refusal(error);
  }
  return 0;
}
