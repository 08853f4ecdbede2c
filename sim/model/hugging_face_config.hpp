// What the readers of the families of Hugging Face models share. Private to the room.
#pragma once

#include "base/document.hpp"
#include "model/model_spec.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace mirfak {

using Keys = std::initializer_list<const char*>;  // names of the same thing

class Config {
 public:
  explicit Config(const Node& mapping) : fields_(mapping) {}

  const Node& node() const { return fields_.node(); }

  // Error(input) where two of the names are stated and say different things.
  std::optional<Node> find(Keys keys);

  // The window of Qwen's classes: only beside use_sliding_window, in the layers from max_window_layers on.
  void read_flagged_window(ModelSpec& model);

  // What says the shape must be stated, since the class's default would be another model.
  Node require(Keys keys) {
    const std::optional<Node> found = find(keys);
    return found ? *found : fields_.require(*keys.begin());
  }

  std::int64_t size(Keys keys, std::int64_t maximum) { return require(keys).as_integer(1, maximum); }

  // Where the class has a formula instead of a figure.
  std::int64_t size_or(Keys keys, std::int64_t maximum, std::int64_t fallback) {
    const std::optional<Node> found = find(keys);
    return found ? found->as_integer(1, maximum) : fallback;
  }

  // A count of something that a model can do without: 0 where it is null.
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

  // `null` where the class has a default other than null turns that default off.
  bool is_null(const char* key) const {
    const Value* value = node().value().find(key);
    return value != nullptr && value->kind == Value::Kind::null;
  }

  void expect_flag(const char* key, bool expected, bool fallback, const char* why) {
    const std::optional<Node> found = find({key});
    if ((found ? found->as_bool() : fallback) != expected) (found ? *found : node()).fail(why, unsupported);
  }

  void ignore(const char* key) {
    asked_.emplace(key);
    fields_.ignore(key);
  }

  // Transformers' class of a family reads no key but its own, and neither does training. So a key that no reader asked
  // for is noted in the model, unless it is null or known to decide nothing (decides_no_shape); it is refused only
  // where it looks like a misspelt key of the family that is not stated.
  void finish(ModelSpec& model);

  static constexpr const char* unsupported = "this variant cannot be described: mirfak would cost another model";

 private:
  Mapping fields_;
  std::set<std::string> asked_;
};

enum class Mlp { plain, gated };

// The activation function that one of `keys` names, or `fallback`.
ActivationFunction read_activation(Config& config, Keys keys, const char* fallback, Mlp mlp);

// What the classes of the families that share Llama's block do differently.
struct LlamaClass {
  const char* family;
  bool tied = false;              // embeddings, where the file does not say
  bool as_many_kv_heads = false;  // as heads, where the file does not say; else it must
  bool states_head_dim = false;   // it must; else hidden / heads where it does not
};

// The block that Llama, Mistral, Qwen and Gemma share: RMS norm, rotary positions, gated MLP, no biases.
ModelSpec read_llama_block(Config& config, const LlamaClass& of);

// Whether a key of a config.json, in any family, says nothing of what a training iteration computes.
bool decides_no_shape(std::string_view key);

}  // namespace mirfak
