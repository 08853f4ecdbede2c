#pragma once

#include "scenario/scenario.hpp"
#include "support/source_root.hpp"

#include <string>
#include <vector>

namespace mirfak::test {

inline DataFolders data_folders() {
  const std::string& source = source_root();
  return {source + "/models", source + "/hw_profiles"};
}

inline Scenario parse(const std::string& text, const std::vector<std::string>& overrides = {}) {
  Document document = Document::from_text(text, "test.yaml");
  for (const std::string& assignment : overrides) document.override_value(assignment);
  return parse_scenario(document, data_folders());
}

// 8 A100, GPT-3 1.3B, batch 64; the strategy is left to its defaults.
inline const char* const kSmall =
    "model: gpt3-1.3b\n"                           // 1
    "cluster:\n"                                   // 2
    "  nodes: [{type: dgx-a100-80g, count: 1}]\n"  // 3
    "training:\n"                                  // 4
    "  global_batch: 64\n"                         // 5
    "strategy:\n"                                  // 6
    "  micro_batch: 2\n";                          // 7

}  // namespace mirfak::test
