#pragma once

#include "base/document.hpp"
#include "model/model_spec.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace mirfak {

// The largest sizes that a model file may state. Each is far above that of any existing model, and small enough that
// the number of elements of a weight fits 64-bit integers and every count made of such numbers stays exact enough in a
// double.
inline constexpr std::int64_t kMaxLayers = 10'000;
inline constexpr std::int64_t kMaxHidden = 1'000'000;
inline constexpr std::int64_t kMaxHeads = 100'000;
inline constexpr std::int64_t kMaxHeadDim = 100'000;
inline constexpr std::int64_t kMaxFfn = 10'000'000;
inline constexpr std::int64_t kMaxExperts = 100'000;
inline constexpr std::int64_t kMaxVocabulary = 100'000'000;
inline constexpr std::int64_t kMaxSequence = 100'000'000;

// The nodes of a file that state attention heads; fields that the file leaves out have the given default.
struct HeadFields {
  std::optional<Node> heads;
  std::optional<Node> kv_heads;
  std::optional<Node> head_dim;
  std::int64_t default_kv_heads = 0;  // 0: as many as heads
};

// Fills heads, kv_heads and head_dim of `model`, whose `hidden` is known. Throws Error(input) if heads does not divide
// hidden and head_dim is not stated, or if kv_heads does not divide heads. `file` is the whole mapping.
void read_heads(ModelSpec& model, const Node& file, const HeadFields& fields);

// Checks that the parts of a model agree: a token visits no more experts than there are, and the part of a head that
// positions turn is smaller than the head. Throws Error(input) at `file`.
void check_parts(const ModelSpec& model, const Node& file);
// Checks that groups of experts are equally large, and that the groups of a token hold at least as many experts as it
// visits. `groups`: the node that states the groups.
void check_groups(const MixtureOfExperts& mixture, const Node& groups);

// Returns the sliding window of `tokens` tokens in exactly the layers marked in `windowed`. Returns nullopt unless all
// other layers are leading layers or each n-th layer.
std::optional<SlidingWindow> sliding_window_of(const std::vector<bool>& windowed, std::int64_t tokens);

// Returns the name of the model in a file that states none: the file's own name ("llama3-8b.yaml"), or the name of its
// folder for "config.json".
std::string name_from_path(const std::string& path);

}  // namespace mirfak
