// What the readers of the families of Hugging Face models share. Private to the room.
#pragma once

#include "base/document.hpp"
#include "model/model_spec.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>

namespace mirfak {

using Keys = std::initializer_list<const char*>;  // names of the same thing, the first one present counts

class Config {
 public:
  explicit Config(const Document& document) : fields_(Node(document)) {}

  const Node& node() const { return fields_.node(); }

  std::optional<Node> find(Keys keys) {
    for (const char* key : keys) {
      if (std::optional<Node> found = fields_.find_or_null(key)) return found;
    }
    return std::nullopt;
  }

  std::int64_t size(Keys keys, std::int64_t maximum, std::int64_t fallback) {
    const std::optional<Node> found = find(keys);
    return found ? found->as_integer(1, maximum) : fallback;
  }

  std::int64_t required_size(Keys keys, std::int64_t maximum) {
    const std::optional<Node> found = find(keys);
    return (found ? *found : fields_.require(*keys.begin())).as_integer(1, maximum);
  }

  bool flag(const char* key, bool fallback) {
    const std::optional<Node> found = find({key});
    return found ? found->as_bool() : fallback;
  }

  double dropout(const char* key, double fallback) {
    const std::optional<Node> found = find({key});
    return found ? found->as_number(0, 1) : fallback;
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

  static constexpr const char* unsupported = "this variant cannot be described: mirfak would cost another model";

 private:
  Mapping fields_;
};

enum class Mlp { plain, gated };

// The activation function that one of `keys` names, or `fallback`.
ActivationFunction read_activation(Config& config, Keys keys, const char* fallback, Mlp mlp);

struct LlamaDefaults {
  const char* family;
  std::int64_t layers;
  std::int64_t hidden;
  std::int64_t heads;
  std::int64_t kv_heads;  // 0: as many as heads
  std::int64_t head_dim;  // 0: hidden / heads
  std::int64_t ffn;
  std::int64_t vocab;
  std::int64_t max_sequence;
  bool tied;
};

// The block that Llama, Mistral, Qwen and Gemma share: RMS norm, rotary positions, gated MLP, no biases.
ModelSpec read_llama_block(Config& config, const LlamaDefaults& defaults);

}  // namespace mirfak
