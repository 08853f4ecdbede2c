#include "page/page.hpp"

#include "base/markup.hpp"
#include "base/origin.hpp"
#include "base/units.hpp"
#include "base/visible_text.hpp"
#include "page/page_assets.hpp"
#include "simulation/figures.hpp"
#include "training/training_figures.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

// Returns JSON that may stand in an element `script`: no `<` ends the element or opens a comment.
std::string embedded(const Json& data) {
  std::string out;
  for (const char c : data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

int hexadecimal(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

// Returns "'sha256-...'" for a hash in hexadecimal digits.
std::string hash_source(std::string_view hash) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string base64;
  unsigned bits = 0;
  int held = 0;
  for (const char digit : hash) {
    bits = bits << 4U | static_cast<unsigned>(hexadecimal(digit));
    held += 4;
    if (held < 6) continue;
    held -= 6;
    base64 += digits[bits >> held & 63U];
  }
  if (held > 0) base64 += digits[bits << (6 - held) & 63U];
  while (base64.size() % 4 != 0) base64 += '=';
  return fmt::format("'sha256-{}'", base64);
}

// Removes the wall time of this machine, so that the same results are the same page.
void leave_out_clock(Json& held) {
  for (const char* place : {"/result", "/explanation/figures"}) {
    const Json::json_pointer at(place);
    if (held.contains(at) && held[at].is_object()) held[at].erase("wall_time_s");
  }
}

}  // namespace

std::string_view page_style() { return kPageStyle; }

std::string_view page_script() {
  static const std::string whole = [] {
    std::string out;
    for (const std::string_view part : kPageScript) out += part;
    return out;
  }();
  return whole;
}

std::string page_style_source() { return hash_source(kPageStyleHash); }
std::string page_script_source() { return hash_source(kPageScriptHash); }

Json units_json() {
  Json out = {
      {"names", Json::object()}, {"times", Json::array()}, {"words", Json::object()}, {"labels", Json::object()}};
  for (std::size_t i = 0; i < kNumberOfUnits; ++i) {
    const UnitNames names = names_of(static_cast<Unit>(i));
    if (names.names.empty()) continue;
    Json& of = out["names"][std::string(name_of(static_cast<Unit>(i)))];
    of = {{"size", names.size}, {"step", names.step}, {"names", Json::array()}};
    for (const std::string_view name : names.names) of["names"].push_back(name);
  }
  for (const TimeUnit& unit : time_units()) out["times"].push_back({unit.least, unit.seconds, unit.name});
  for (const UnitWord& word : unit_words()) out["words"][std::string(word.word)] = name_of(word.unit);
  for (const TrainingFigure& figure : training_figures()) out["labels"][figure.key] = figure.label;
  for (const IterationFigure& figure : iteration_figures()) out["labels"][figure.key] = figure.label;
  return out;
}

std::string page_html(const std::string& title, std::string_view kind, const Json& data) {
  Json held = {{"kind", kind}, {"units", units_json()}};
  std::string text;
  for (const auto& [key, value] : data.items()) {
    if (key == "text") {
      text = visible_text(value.get<std::string>());
    } else if (key != "kind") {
      held[key] = value;
    }
  }
  leave_out_clock(held);
  const std::string shown_title = escaped(visible_name(title));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {0}; script-src {1}; "
      "base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{2}</title>\n"
      "<style>{3}</style>\n</head>\n<body>\n<header><p>mirfak {4}</p><h1>{2}</h1></header>\n<main></main>\n"
      "<noscript><pre class=\"report\">{5}</pre></noscript>\n<footer><p>{8}</p></footer>\n"
      "<script type=\"application/json\" id=\"mirfak-data\">{6}</script>\n<script>{7}</script>\n</body>\n</html>\n",
      page_style_source(), page_script_source(), shown_title, page_style(), kind, escaped(text), embedded(held),
      page_script(), escaped(origin_text()));
}

}  // namespace mirfak
