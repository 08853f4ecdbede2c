#pragma once

#include "base/reading_observer.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mirfak::schema {

// The kinds of values that readers took one place for, in all documents that were heard.
struct Place {
  std::map<ReadValue::Kind, ReadValue> read;  // ranges are the widest
  bool any_word = false;                      // some reader takes any
  std::unique_ptr<Place> items;               // of a list

  struct Key {
    std::unique_ptr<Place> place = std::make_unique<Place>();
    int required = 0;  // in so many mappings
    bool nullable = false;
    std::string fallback;  // JSON
  };
  std::vector<std::string> order;  // of keys, as they were first asked for
  std::map<std::string, Key, std::less<>> keys;
  int mappings = 0;  // that were read
  bool any_key = false;
  bool varies = false;  // what is required in one document is not in another
};

// Listens to the readers of documents of one name.
class Recorder : public ReadingObserver {
 public:
  explicit Recorder(Place& root, std::string document) : root_(root), document_(std::move(document)) {}

  void value(const Node& node, const ReadValue& read) override;
  void key(const Node& mapping, std::string_view key, bool required, bool nullable) override;
  void fallback(const Node& mapping, std::string_view key, const std::string& json) override;
  void any_key(const Node& mapping) override;

 private:
  // The place of a node; nullptr: of another document, or inside a mapping that may have any key.
  Place* place_of(const Node& node);

  Place& root_;
  std::string document_;
};

// Adds words of a document: one that no reader asked for by kind ("auto" in place of a number), in a document that its
// reader took, is a value of that place, too. Ranges of numbers ("1..8") stand for any.
void add_words_of(Place& root, const Value& document);

// A sentence by key ("cluster.nodes[].type").
using Descriptions = std::map<std::string, std::string>;

// Schemas of files that people write, whose numbers may have units (base/written_number.hpp), and of results.
enum class SchemaOf : std::uint8_t { file, result };

// JSON Schema, draft 2020-12.
nlohmann::ordered_json json_schema(const Place& root, const std::string& title, const Descriptions& descriptions,
                                   SchemaOf of);

// Keys that no document had, so that nobody knows what their values are.
std::vector<std::string> untyped(const Place& root);
// Descriptions of keys that are not there.
std::vector<std::string> unknown(const Place& root, const Descriptions& descriptions);

}  // namespace mirfak::schema
