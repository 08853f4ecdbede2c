#pragma once

#include "base/document.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Texts with names in braces, which stand for what a row says: "{n}", and of whole numbers, from left to right,
// "{n_layers / 4}" (rounded up), "{rate * 8}", "{n_layers - 1}" and "{n_layers / pp / chunk}".
struct TemplateName {
  struct Operation {
    char sign = '/';      // or '*' or '-'
    std::string operand;  // a name, or a number of 1 or more
  };

  std::string name;
  std::vector<Operation> operations;

  std::vector<std::string> operand_names() const;
  std::size_t begin = 0;  // of the opening brace
  std::size_t end = 0;    // behind the closing one
};

// The names of `text`, in order; nullopt for text with braces that are none of this. `fault`: where.
std::optional<std::vector<TemplateName>> template_names(std::string_view text, std::size_t* fault = nullptr);

// Of a name: what it stands for; nullopt: nothing.
using NameLookup = std::function<std::optional<std::string>(const std::string&)>;

// `text` with every name replaced; nullopt where one stands for nothing, or for no whole number where it is computed
// with. `missing` becomes its name.
std::optional<std::string> filled_in(std::string_view text, const NameLookup& lookup, std::string* missing = nullptr);

// Every scalar of `value` filled in; places become `where` in those that held a name. nullopt as above.
std::optional<Value> filled_in(Value value, const NameLookup& lookup, const Location& where,
                               std::string* missing = nullptr);

}  // namespace mirfak
