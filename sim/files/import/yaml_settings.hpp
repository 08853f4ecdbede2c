#pragma once

#include "import/import_draft.hpp"
#include "import/import_formats.hpp"

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// True if the text of the file contains one of these.
bool mentions(const ImportFile& file, std::initializer_list<std::string_view> texts);
// True if a mapping has one of these keys.
bool has_key_of(const Value& mapping, std::initializer_list<std::string_view> keys);
// Returns the mapping of a file of YAML or JSON that contains one of these texts; nullopt if it is none.
std::optional<Value> mapping_mentioning(const ImportFile& file, std::initializer_list<std::string_view> texts);
// Returns the value under a key if it is a mapping; nullptr otherwise.
const Value* mapping_under(const Value& mapping, std::string_view key);

// Returns the file as a mapping of YAML or JSON; nullopt if it is none.
std::optional<Value> mapping_in(const ImportFile& file);
// Returns the mapping of a file that is no script and not empty; nullopt if it is none.
std::optional<Value> configuration_in(const ImportFile& file);

// Replaces ${NAME} and ${NAME:default} in every scalar by the value of the environment, else by the default. Names
// without either stay unchanged, and missing_names() finds them.
void replace_variables(Value& value, const std::map<std::string, std::string>& environment);
std::vector<std::string> missing_names(const Value& value);

// Returns one setting for each key of a mapping; `name_of` makes the setting's name from the key.
std::vector<Setting> settings_of_mapping(const Value& mapping,
                                         const std::function<std::string(std::string_view)>& name_of);

}  // namespace mirfak
