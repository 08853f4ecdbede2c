#pragma once

#include "base/document.hpp"
#include "launch/option_list.hpp"

#include <string>
#include <vector>

namespace mirfak {

// A field of a configuration around Megatron Core: "model.sequence_parallel", with a value in YAML's flow style.
struct CoreField {
  std::string path;
  std::string value;
};

// Returns the fields of Megatron Core's options in the words of a program, by `dialect` of its facts, which readers of
// this program use in the opposite direction, and `written` next to it:
//   options: rules of the form of `dialect` that only count for written fields
//   sections: where a field with the name of an option stands, in this order
//   unless_said: fields that recipes may have set otherwise, with the values that stand for a missing option
// Error(internal) if `list` has no field for an option.
std::vector<CoreField> core_fields(const LaunchOptions& options, const OptionList& list, const Document& facts);

}  // namespace mirfak
