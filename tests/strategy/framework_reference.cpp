#include "framework_reference.hpp"

#include "strategy/framework_options.hpp"

#include <fmt/format.h>

namespace mirfak::test {

namespace {

// A default as a file would state it.
struct Stated {
  std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
  std::string operator()(const int* value) const { return fmt::format("{}", *value); }
  std::string operator()(const double* value) const { return fmt::format("{}", *value); }
  std::string operator()(const NormKernels* value) const {
    return norm_kernel_names()[static_cast<std::size_t>(*value)];
  }
  template <typename Item>
  std::string operator()(const std::vector<Item>* value) const {
    return value->empty() ? "[]" : "not empty";
  }
};

}  // namespace

std::string framework_reference() {
  Framework plain;
  std::string out;
  for (const FrameworkOptionGroup& group : framework_options()) {
    out += fmt::format("### `{}`\n\n{}\n\n| key | default | unit | meaning |\n|---|---|---|---|\n", group.key,
                       group.sentence);
    for (const FrameworkOption& option : group.options) {
      out += fmt::format("| `{}` | `{}` | {} | {} |\n", option.key, std::visit(Stated{}, option.field(plain)),
                         option.unit, option.sentence);
    }
    out += '\n';
  }
  return out;
}

}  // namespace mirfak::test
