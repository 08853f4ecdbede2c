// Shared helpers of the readers of Hugging Face model families. Private to the room.
#pragma once

#include "base/document.hpp"
#include "model/model_spec.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

using Keys = std::initializer_list<const char*>;  // names of the same thing

class Config {
 public:
  explicit Config(const Node& mapping) : fields_(mapping) {}

  const Node& node() const { return fields_.node(); }

  // Returns the value of the first key that is stated. Throws Error(input) if two of the keys are stated with different
  // values.
  std::optional<Node> find(Keys keys) { return find(std::vector<std::string>(keys.begin(), keys.end())); }
  std::optional<Node> find(const std::vector<std::string>& keys);

  // True if the file states the key with a value other than null.
  bool states(const char* key) const {
    const Value* value = node().value().find(key);
    return value != nullptr && value->kind != Value::Kind::null;
  }

  // Reads the sliding window of Qwen's classes: it applies only if use_sliding_window is set, in the layers from
  // max_window_layers on.
  void read_flagged_window(ModelSpec& model);

  // Returns the value of a key that determines the shape. The key must be stated, since the class's default would be
  // another model.
  Node require(Keys keys) {
    const std::optional<Node> found = find(keys);
    return found ? *found : fields_.require(*keys.begin());
  }

  std::int64_t size(Keys keys, std::int64_t maximum) { return require(keys).as_integer(1, maximum); }

  // Reads a size for which the class has a formula (`fallback`) instead of a number.
  std::int64_t size_or(Keys keys, std::int64_t maximum, std::int64_t fallback) {
    const std::optional<Node> found = find(keys);
    return found ? found->as_integer(1, maximum) : fallback;
  }

  // Reads a count of something that a model can do without: 0 if it is null.
  std::int64_t count_or_null(const char* key, std::int64_t maximum) {
    if (!node().value().find(key)) fields_.require(key);
    const std::optional<Node> found = find({key});
    return found ? found->as_integer(0, maximum) : 0;
  }

  bool flag(const char* key, bool fallback) {
    const std::optional<Node> found = find({key});
    return found ? found->as_bool() : fallback;
  }

  double dropout(const char* key, double fallback) {
    const std::optional<Node> found = find({key});
    return found ? found->as_number(0, 1) : fallback;
  }

  double number(const char* key, double fallback) {
    const std::optional<Node> found = find({key});
    return found ? found->as_number(0, 1e6) : fallback;
  }

  // True if the key is null. If the class has a default other than null, `null` turns that default off.
  bool is_null(const char* key) const {
    const Value* value = node().value().find(key);
    return value != nullptr && value->kind == Value::Kind::null;
  }

  void expect_flag(const char* key, bool expected, bool fallback, const char* why) {
    const std::optional<Node> found = find({key});
    if ((found ? found->as_bool() : fallback) != expected) (found ? *found : node()).fail(why, unsupported);
  }

  void ignore(const std::string& key) {
    asked_.emplace(key);
    fields_.ignore(key);
  }
  // Ignores every key that was asked for in `other`, another reading of the same mapping.
  void ignore_like(const Config& other) {
    for (const std::string& key : other.asked_) ignore(key);
  }

  // Handles the keys that no reader has asked for. Transformers' class of a family reads only its own keys, and so does
  // training. Therefore such a key is noted in the model, unless it is null or known to have no effect
  // (decides_no_shape). It is refused only if it looks like a misspelled key of the family that is not stated.
  void finish(ModelSpec& model);

  static constexpr const char* unsupported = "this variant cannot be described: mirfak would cost another model";

 private:
  Mapping fields_;
  std::set<std::string> asked_;
};

enum class Mlp { plain, gated };

// Returns the activation function that one of `keys` names, or `fallback`.
ActivationFunction read_activation(Config& config, Keys keys, const char* fallback, Mlp mlp);

// Differences between the classes of the families that share Llama's block.
struct LlamaClass {
  const char* family;
  bool tied = false;              // embeddings are tied if the file does not state it
  bool as_many_kv_heads = false;  // kv_heads may be absent and is then the number of heads; else it must be stated
  bool states_head_dim = false;   // head_dim must be stated; else it may be absent and is then hidden / heads
};

// Reads the block that Llama, Mistral, Qwen and Gemma share: RMS norm, rotary positions, gated MLP, no biases.
ModelSpec read_llama_block(Config& config, const LlamaClass& of);

// True if a key of a config.json, in any family, does not affect the computations of a training iteration.
bool decides_no_shape(std::string_view key);

}  // namespace mirfak
