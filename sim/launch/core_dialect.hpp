#pragma once

#include "base/document.hpp"
#include "launch/launch_program.hpp"
#include "launch/option_list.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// A field of a configuration around Megatron Core: "model.sequence_parallel", and a value as YAML's flow style has it.
struct CoreField {
  std::string path;
  std::string value;
};

// The words of a program for Megatron Core's options: `dialect` of hw_profiles/launch/NAME.yaml, which readers of the
// same program use the other way round, and `written` beside it:
//   options: rules as in `dialect` that only count for what is written
//   sections: where a field of the same name as an option stands, in this order
//   unless_said: fields that recipes may have set otherwise, with the values that no option means
class CoreDialect {
 public:
  CoreDialect(const std::filesystem::path& hardware, std::string_view name);

  const Value& facts() const { return document_.root(); }
  // Error(internal) where `list` has no field for an option.
  std::vector<CoreField> fields_of(const LaunchOptions& options, const OptionList& list) const;

 private:
  CoreField field_of(const LaunchOption& option, const OptionList& list) const;
  const Value& part(std::string_view section, std::string_view key) const;

  Document document_;
};

}  // namespace mirfak
