#include "cluster/profile_file.hpp"

#include "base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace mirfak {

ProfileFile::ProfileFile(const std::filesystem::path& path) : ProfileFile(Document::from_file(path)) {}

ProfileFile::ProfileFile(const Document& document)
    : ProfileFile(document, std::filesystem::path(document.name()).stem().string(), {}) {}

ProfileFile::ProfileFile(Document document, std::string name, std::string path)
    : document_(std::move(document)),
      name_(std::move(name)),
      root_(Node(document_, document_.root(), std::move(path))) {
  Mapping sources(root_.require("sources"));
  for (const std::string& key : sources.keys()) {
    const Node text = sources.require(key);
    if (text.as_string().empty()) text.fail("a source must say where the figures are from");
    sources_.emplace(key, text.as_string());
  }
}

std::string ProfileFile::title() {
  const Node node = root_.require("title");
  if (node.as_string().empty()) node.fail("expected a title, found nothing");
  return node.as_string();
}

void ProfileFile::require_all(const std::vector<std::string_view>& keys) const {
  std::vector<std::string> missing;
  for (const std::string_view key : keys) {
    bool found = false;
    for (std::size_t begin = 0; begin <= key.size() && !found;) {
      const std::size_t end = std::min(key.find('|', begin), key.size());
      found = root_.has(key.substr(begin, end - begin));
      begin = end + 1;
    }
    if (!found) missing.push_back(fmt::format("'{}'", key.substr(0, key.find('|'))));
  }
  if (missing.size() < 2) return;  // a single one is missed, with a suggestion, where it is read
  root_.node().fail(fmt::format("the keys {} are missing", fmt::join(missing, ", ")),
                    "state them, or `like: NAME` for those of a known one");
}

Figure ProfileFile::figure(Mapping& mapping, std::string_view key, double minimum, double maximum) {
  return figure_at(mapping.require(key), minimum, maximum);
}

Figure ProfileFile::figure_at(const Node& node, double minimum, double maximum) {
  if (!node.is_sequence() || node.value().items.size() != 2) {
    node.fail("expected a figure [value, source], found " + node.described(), "the source is a key of `sources`");
  }
  const std::vector<Node> parts = node.as_items();
  const std::string key = parts[1].as_string();
  const auto source = sources_.find(key);
  if (source == sources_.end()) {
    std::vector<std::string> keys;
    for (const auto& [known, text] : sources_) keys.push_back(known);
    parts[1].fail(fmt::format("'{}' is not among the sources of this file", excerpt(key)),
                  did_you_mean(key, keys, "add it to `sources`"));
  }
  used_sources_.insert(key);
  return {parts[0].as_number(minimum, maximum), source->second};
}

void ProfileFile::finish() const {
  root_.finish();
  const Value& sources = *root_.node().value().find("sources");
  for (const auto& [key, value] : sources.fields) {
    if (!used_sources_.contains(key)) {
      root_.node().child(value, "sources." + key).fail("no figure of this file has this source");
    }
  }
}

// Errors are only reported, not used in computations. If a machine did other work during measurements, errors exceed 1.
FitQuality read_fit_quality(Mapping& mapping) {
  constexpr double kMaxMedian = 10;
  constexpr double kMaxTail = 100;
  FitQuality quality;
  quality.measurements = static_cast<int>(mapping.require("measurements").as_integer(1, 10'000'000));
  quality.median_error = mapping.require("median_error").as_number(0, kMaxMedian);
  quality.p90_error = mapping.require("p90_error").as_number(0, kMaxTail);
  quality.held_out_median_error = mapping.require("held_out_median_error").as_number(0, kMaxMedian);
  quality.held_out_p90_error = mapping.require("held_out_p90_error").as_number(0, kMaxTail);
  return quality;
}

}  // namespace mirfak
