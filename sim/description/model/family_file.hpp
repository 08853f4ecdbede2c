#pragma once

#include "base/document.hpp"
#include "formula/formula.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak {

// A formula of a family file over keys of a config.json, with the text that it was read from.
struct FamilyFormula {
  formula::Formula formula;
  Node source;
};

// A value by cases: that of the first case whose condition holds. The last case has no condition.
struct FamilyCase {
  std::optional<FamilyFormula> when;
  FamilyFormula is;
};
using FamilyValue = std::vector<FamilyCase>;
using NamedFamilyValue = std::pair<std::string, FamilyValue>;

// A key of a config.json, and how its value becomes a number.
struct FamilyKey {
  enum class Form {
    scalar,         // a number, true or false, or one of `words`
    each_layer,     // a list with one number or word for each layer, or one scalar for all layers
    letters,        // a text with one letter for each layer
    layer_numbers,  // a list of layers: 1 for the layers in it, else 0
    section,        // a mapping: 1 if it is there, else 0
    count,          // a list: how many entries it has
    by_layer,       // an entry of the layer's own in a mapping of layers by number: per_layer_config.head_dim
  };
  // The kinds of values that are allowed, by the value that holds where the file states none: a number, true or false,
  // or either where that is a formula.
  enum class Kind { number, truth, any };
  std::string name;                // "hidden_size"; "vision_config.depth" stands in a section of the file
  std::vector<std::string> alias;  // other names of the same key
  Form form = Form::scalar;
  Kind kind = Kind::number;
  std::int64_t first_layer = 0;       // number of the first layer in `layer_numbers`
  std::optional<FamilyValue> absent;  // value where the file states none; nullopt: the file must state the key
  std::optional<FamilyValue> null;    // value where the file says null; nullopt: `absent` if it is a formula, else 0
  std::map<std::string, double, std::less<>> words;
};

// A block of the model, or one for each layer.
struct FamilyBlock {
  std::string use;
  std::optional<FamilyValue> when;    // the block is left out where this is 0
  std::optional<FamilyValue> layers;  // number of layers; nullopt: the block stands once
  std::vector<NamedFamilyValue> sizes;
  std::string group;  // of sizes: the block has those of them that it takes; "": none
};

// A statement about a config.json: a message, where the condition holds (notes) or does not hold (requirements).
struct FamilyMessage {
  FamilyValue when;
  std::string text;
};

// A model_type of a family.
struct FamilyType {
  std::string class_name;                // of Transformers; recognizes a file without model_type
  std::map<std::string, double> values;  // that the type decides
};

// The way in which config.json of a family of models is read: models/families/README.md describes the file.
struct Family {
  std::string name;  // of the file
  std::string description;
  std::map<std::string, FamilyType, std::less<>> types;  // by model_type
  std::vector<std::string> sections;  // where the language model's keys may stand, the first that the file has
  std::vector<FamilyKey> keys;
  std::vector<std::string> idle;  // keys without an effect on training
  std::vector<NamedFamilyValue> values;
  std::optional<FamilyValue> max_sequence;
  std::vector<NamedFamilyValue> sizes;
  std::map<std::string, std::vector<NamedFamilyValue>, std::less<>> groups;  // sizes that several blocks take
  std::vector<FamilyBlock> blocks;
  std::vector<FamilyMessage> notes;
  std::vector<FamilyMessage> requires_;

  std::vector<std::shared_ptr<const Document>> documents;  // the texts that formulas were read from
  std::shared_ptr<const Value> merged;
};

// Families of a folder. Each is parsed once, when it is asked for. Throws Error(input) in a family's file.
class Families {
 public:
  static const Families& of(const std::filesystem::path& folder);

  // Returns the family of a model_type; nullptr: none. Parses only the files whose text has the word.
  const Family* find(std::string_view model_type) const;
  std::vector<std::string> model_types() const;
  std::vector<std::shared_ptr<const Family>> all() const;

 private:
  struct File {
    std::filesystem::path path;
    std::string text;
  };
  struct Memory;

  const std::shared_ptr<const Family>& read(const File& file) const;

  std::vector<File> files_;  // sorted
  std::shared_ptr<Memory> memory_;
};

}  // namespace mirfak
