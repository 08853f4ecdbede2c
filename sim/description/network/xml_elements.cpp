#include "network/xml_elements.hpp"

#include "base/text.hpp"

#include <expat.h>
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <memory>

namespace mirfak {

namespace {

constexpr std::size_t kDeepest = 64;

// State of expat's callbacks. An exception must not pass through expat, so the first fault is kept and parsing stops.
struct Reading {
  XML_Parser parser = nullptr;
  std::string file;
  XmlElement top;  // parent of the root
  std::vector<XmlElement*> open;
  std::string fault;
  Location fault_where;

  Location here() const {
    return {file, static_cast<int>(XML_GetCurrentLineNumber(parser)),
            static_cast<int>(XML_GetCurrentColumnNumber(parser)) + 1};
  }
  void stop(std::string message) {
    if (fault.empty()) {
      fault = std::move(message);
      fault_where = here();
    }
    XML_StopParser(parser, XML_FALSE);
  }
};

void begin_element(void* user, const XML_Char* name, const XML_Char** attributes) {
  auto& reading = *static_cast<Reading*>(user);
  if (reading.open.size() > kDeepest) {
    reading.stop("elements are nested too deep");
    return;
  }
  std::vector<XmlElement>& siblings = reading.open.back()->children;
  siblings.push_back({name, {}, {}, reading.here()});
  for (const XML_Char** at = attributes; *at != nullptr; at += 2) siblings.back().attributes.emplace(at[0], at[1]);
  reading.open.push_back(&siblings.back());
}

void end_element(void* user, const XML_Char* /*name*/) { static_cast<Reading*>(user)->open.pop_back(); }

void begin_doctype(void* user, const XML_Char* /*name*/, const XML_Char* /*system*/, const XML_Char* /*public_id*/,
                   int has_subset) {
  if (has_subset != 0) static_cast<Reading*>(user)->stop("a document type with declarations of its own is not read");
}

}  // namespace

const std::string* XmlElement::find(const std::string& key) const {
  const auto found = attributes.find(key);
  return found == attributes.end() ? nullptr : &found->second;
}

const std::string& XmlElement::attribute(const std::string& key) const {
  const std::string* const text = find(key);
  if (text == nullptr) {
    fail_input(where, fmt::format("<{}> has no {}", excerpt(name), key), fmt::format("add {}=\"...\"", key));
  }
  return *text;
}

double XmlElement::number(const std::string& key, double minimum) const {
  const std::string& text = attribute(key);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < minimum) {
    fail_input(where, fmt::format("{} of <{}>: expected a number of at least {}, found '{}'", key, excerpt(name),
                                  minimum, excerpt(text)));
  }
  return value;
}

XmlElement parse_xml(std::string_view text, const std::string& name) {
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(XML_ParserCreate(nullptr), &XML_ParserFree);
  if (!parser) fail_internal("expat has no memory for a parser");
  Reading reading;
  reading.parser = parser.get();
  reading.file = name;
  reading.open.push_back(&reading.top);
  XML_SetUserData(parser.get(), &reading);
  XML_SetElementHandler(parser.get(), begin_element, end_element);
  XML_SetStartDoctypeDeclHandler(parser.get(), begin_doctype);
  const XML_Status status = XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), XML_TRUE);
  if (!reading.fault.empty()) fail_input(reading.fault_where, reading.fault);
  if (status != XML_STATUS_OK) {
    fail_input(reading.here(), fmt::format("this is no XML: {}", XML_ErrorString(XML_GetErrorCode(parser.get()))),
               "expected elements such as <system version=\"1\"> ... </system>");
  }
  return std::move(reading.top.children.front());
}

}  // namespace mirfak
