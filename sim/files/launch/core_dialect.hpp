#pragma once

#include "base/document.hpp"
#include "launch/launch_program.hpp"
#include "launch/option_list.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// A field of a configuration around Megatron Core: "model.sequence_parallel", with a value in YAML's flow style.
struct CoreField {
  std::string path;
  std::string value;
};

// A program's words for Megatron Core's options: `dialect` of hw_profiles/launch/NAME.yaml, which readers of this
// program use in the opposite direction, and `written` next to it:
//   options: rules of the form of `dialect` that only count for written fields
//   sections: where a field with the name of an option stands, in this order
//   unless_said: fields that recipes may have set otherwise, with the values that stand for a missing option
class CoreDialect {
 public:
  CoreDialect(const std::filesystem::path& hardware, std::string_view name);

  const Value& facts() const { return document_.root(); }
  // Returns the fields of the options. Error(internal) if `list` has no field for an option.
  std::vector<CoreField> fields_of(const LaunchOptions& options, const OptionList& list) const;

 private:
  CoreField field_of(const LaunchOption& option, const OptionList& list) const;
  const Value& part(std::string_view section, std::string_view key) const;

  Document document_;
};

}  // namespace mirfak
