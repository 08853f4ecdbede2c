#include "scenario/document_lengths.hpp"

#include "base/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace mirfak {

namespace {

constexpr std::int64_t kLongestDocument = std::int64_t{1} << 40;
constexpr std::size_t kMaxLengths = 1000;  // attention is priced for each length

std::int64_t read_length(const std::string& key, const Node& at) {
  std::int64_t tokens = 0;
  const auto [stop, error] = std::from_chars(key.data(), key.data() + key.size(), tokens);
  if (error != std::errc() || stop != key.data() + key.size() || tokens < 1 || tokens > kLongestDocument) {
    at.fail(fmt::format("expected the tokens of a document as key, found '{}'", key),
            "{512: 3, 2048: 1} is three documents of 512 tokens for each of 2048");
  }
  return tokens;
}

}  // namespace

void read_document_lengths(const Node& node, std::vector<DocumentCount>& documents) {
  if (!node.is_mapping()) return void(documents.push_back({node.as_integer(1, kLongestDocument), 1}));
  Mapping lengths(node);
  for (const std::string& key : lengths.keys()) {
    const Node count = lengths.require(key);
    documents.push_back({read_length(key, count), count.as_number(1e-12, 1e15)});
  }
  if (documents.empty()) node.fail("expected at least one length");
  if (documents.size() > kMaxLengths) node.fail(fmt::format("expected at most {} lengths", kMaxLengths));
  std::sort(documents.begin(), documents.end(),
            [](const DocumentCount& a, const DocumentCount& b) { return a.tokens < b.tokens; });
}

Value document_lengths_value(const std::vector<DocumentCount>& documents) {
  Value out = mapping_value();
  for (const DocumentCount& of : documents) {
    out.fields.push_back({fmt::format("{}", of.tokens), scalar_value(of.count)});
  }
  return out;
}

}  // namespace mirfak
