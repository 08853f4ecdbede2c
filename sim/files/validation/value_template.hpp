#pragma once

#include "base/document.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Texts with names in braces, which stand for values of a row: "{n}", and for whole numbers, from left to right,
// "{n_layers / 4}" (rounded up), "{rate * 8}", "{n_layers - 1}" and "{n_layers / pp / chunk}".
struct TemplateName {
  struct Operation {
    char sign = '/';      // or '*' or '-'
    std::string operand;  // a name, or a number of 1 or more
  };

  std::string name;
  std::vector<Operation> operations;

  std::vector<std::string> operand_names() const;
  std::size_t begin = 0;  // index of the opening brace
  std::size_t end = 0;    // index after the closing brace
};

// Returns the names of `text`, in order; nullopt for text with other braces. `fault`: index of the wrong brace.
std::optional<std::vector<TemplateName>> template_names(std::string_view text, std::size_t* fault = nullptr);

// Returns the value of a name; nullopt: none.
using NameLookup = std::function<std::optional<std::string>(const std::string&)>;

// Returns `text` with every name replaced; nullopt if a name has no value, or no whole number although it is computed
// with. `missing` becomes that name.
std::optional<std::string> filled_in(std::string_view text, const NameLookup& lookup, std::string* missing = nullptr);

// Returns `value` with every scalar filled in; scalars that held a name get the place `where`. nullopt as for texts.
std::optional<Value> filled_in(Value value, const NameLookup& lookup, const Location& where,
                               std::string* missing = nullptr);

}  // namespace mirfak
