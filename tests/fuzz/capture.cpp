// Any lines, with the last line that makes a capture of them, are either a capture that can be priced and executed, or
// an error with its place.

#include "../capture/capture_texts.hpp"
#include "base/error.hpp"
#include "capture/capture_file.hpp"
#include "capture/capture_result.hpp"
#include "cluster/catalog.hpp"
#include "require.hpp"
#include "strategy/framework_catalog.hpp"
#include "support/source_root.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

using namespace mirfak;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const std::string profiles = source_root() + "/hw_profiles";
  static const OperatorTable table = read_operator_table(profiles + "/pytorch/operators.yaml");
  static const FrameworkCatalog frameworks(profiles);
  static const Cluster cluster = [] {
    NodeAllotment nodes;
    nodes.hardware = Catalog(profiles).node(FileReference("hgx-h100"));
    nodes.count = 1;
    return Cluster({nodes}, default_fabric());
  }();
  try {
    const CapturePricing pricing{cluster, table, frameworks.framework(FileReference(table.framework))};
    const std::string text = test::with_end({reinterpret_cast<const char*>(bytes), size});
    const Capture capture = read_capture_text(text, "a.capture");
    const CaptureResult result = capture_result(capture, pricing, captured_program(capture, pricing));
    require(result.iteration_s >= 0 && result.ranks.size() <= capture.ranks.size());
  } catch (const Error& error) {
    require_refusal(error);
  }
  return 0;
}
