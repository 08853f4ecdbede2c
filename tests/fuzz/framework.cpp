// Any bytes are either a framework whose habits are within their ranges, or an input error that says where.

#include "base/error.hpp"
#include "strategy/framework_catalog.hpp"
#include "strategy/framework_file.hpp"
#include "strategy/framework_options.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

const mirfak::FrameworkCatalog kFrameworks(MIRFAK_SOURCE_DIR "/hw_profiles");

void require(bool condition) {
  if (!condition) std::abort();
}

struct Range {
  const mirfak::FrameworkOption& option;

  void operator()(const double* value) const { require(*value >= option.minimum && *value <= option.maximum); }
  void operator()(const int* value) const { require(*value >= option.minimum && *value <= option.maximum); }
  void operator()(const mirfak::NormKernels* value) const {
    require(static_cast<std::size_t>(*value) < mirfak::norm_kernel_names().size());
  }
  template <typename Other>
  void operator()(const Other* /*any value is in range*/) const {}
};

void check(mirfak::Framework framework) {
  for (const mirfak::FrameworkOptionGroup& group : mirfak::framework_options()) {
    for (const mirfak::FrameworkOption& option : group.options) std::visit(Range{option}, option.field(framework));
  }
  require(!framework.source.empty());
  require(framework.offload.max_zero == 0 || framework.offload.bandwidth_share > 0);
  for (const mirfak::HabitNote& note : framework.notes) {
    require(!note.source.empty() && !note.value.empty());
    require(!note.chosen_on.empty() || (note.judged_on.empty() && !note.error));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    const auto document = mirfak::Document::from_text(std::string(bytes, bytes + size), "fuzzed/framework.yaml");
    check(mirfak::read_framework(document, [](const mirfak::Node& like) { return kFrameworks.framework(like); }));
  } catch (const mirfak::Error& error) {
    require(error.kind() == mirfak::ErrorKind::input && error.where().known());
  }
  return 0;
}
