#pragma once

#include "base/error.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

struct XmlElement {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::vector<XmlElement> children;
  Location where;

  // Return an attribute. Error(input) at the element if the attribute is missing, or if it is no number of at least
  // `minimum`.
  const std::string& attribute(const std::string& key) const;
  double number(const std::string& key, double minimum) const;
  const std::string* find(const std::string& key) const;
};

// Returns the root of an XML document. Text between elements is left out. Error(input) at the place of a syntax error,
// of a document type or entities, which no supported file has, and of elements nested deeper than 64.
XmlElement parse_xml(std::string_view text, const std::string& name);

}  // namespace mirfak
