// Any bytes are either a rule with a value for any fields, or an input error at their place; a rule that is read reads
// the same again.

#include "base/document.hpp"
#include "base/error.hpp"
#include "base/yaml.hpp"
#include "require.hpp"
#include "strategy/rule_fields.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace {

using namespace mirfak;

RuleFields some_fields() {
  RuleFields fields;
  for (std::size_t i = 0; i < kRuleFields; ++i) fields[static_cast<RuleField>(i)] = static_cast<double>(i % 3);
  return fields;
}

void evaluate(const std::string& text) {
  const auto document = Document::from_text(text, "rule.yaml");
  const formula::Condition rule = parse_rule(Node(document));
  require(rule.text() == Node(document).as_string());
  rule.holds(some_fields().values());
}

void expect_value_or_place(const std::string& text) {
  try {
    evaluate(text);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::input && error.where().file == "rule.yaml", error.what());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string input(bytes, bytes + size);
  expect_value_or_place(input);
  expect_value_or_place(quoted_yaml(input));
  return 0;
}
