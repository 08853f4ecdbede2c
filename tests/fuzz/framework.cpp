// Any bytes are either a framework whose habits are within their ranges, or an input error that says where.

#include "base/error.hpp"
#include "require.hpp"
#include "strategy/framework_catalog.hpp"
#include "strategy/framework_file.hpp"
#include "strategy/framework_options.hpp"
#include "support/source_root.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace {

const mirfak::FrameworkCatalog kFrameworks(mirfak::source_root() + "/hw_profiles");

struct Range {
  const mirfak::FrameworkOption& option;

  void operator()(const double* value) const { mirfak::require(*value >= option.minimum && *value <= option.maximum); }
  void operator()(const int* value) const { mirfak::require(*value >= option.minimum && *value <= option.maximum); }
  void operator()(const mirfak::NormKernels* value) const {
    mirfak::require(static_cast<std::size_t>(*value) < mirfak::norm_kernel_names().size());
  }
  template <typename Other>
  void operator()(const Other* /*any value is in range*/) const {}
};

void check(mirfak::Framework framework) {
  for (const mirfak::FrameworkOptionGroup& group : mirfak::framework_options()) {
    for (const mirfak::FrameworkOption& option : group.options) std::visit(Range{option}, option.field(framework));
  }
  mirfak::require(!framework.source.empty());
  mirfak::require(framework.offload.max_zero == 0 || framework.offload.bandwidth_share > 0);
  for (const mirfak::HabitNote& note : framework.notes) {
    mirfak::require(!note.source.empty() && !note.value.empty());
    mirfak::require(!note.chosen_on.empty() || (note.judged_on.empty() && !note.error));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    const auto document = mirfak::Document::from_text(std::string(bytes, bytes + size), "fuzzed/framework.yaml");
    check(mirfak::read_framework(mirfak::Node(document),
                                 [](const mirfak::Node& like) { return kFrameworks.framework(like); }));
  } catch (const mirfak::Error& error) {
    mirfak::require_refusal(error);
  }
  return 0;
}
