#pragma once

#include "base/document.hpp"
#include "model/model_spec.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace mirfak {

// The largest sizes a model file may state. Each is far above any model there is, and small enough that the
// elements of a weight fit 64-bit integers and every count made of them stays exact enough in a double.
inline constexpr std::int64_t kMaxLayers = 10'000;
inline constexpr std::int64_t kMaxHidden = 1'000'000;
inline constexpr std::int64_t kMaxHeads = 100'000;
inline constexpr std::int64_t kMaxHeadDim = 100'000;
inline constexpr std::int64_t kMaxFfn = 10'000'000;
inline constexpr std::int64_t kMaxExperts = 100'000;
inline constexpr std::int64_t kMaxVocabulary = 100'000'000;
inline constexpr std::int64_t kMaxSequence = 100'000'000;

// Where a file states the attention heads; what it leaves out has the default given.
struct HeadFields {
  std::optional<Node> heads;
  std::optional<Node> kv_heads;
  std::optional<Node> head_dim;
  std::int64_t default_kv_heads = 0;  // 0: as many as heads
};

// Fills heads, kv_heads and head_dim of `model`, whose `hidden` is known. Throws Error(input) when heads do not
// divide hidden and head_dim is not stated, or kv_heads do not divide heads. `file` is the whole mapping.
void read_heads(ModelSpec& model, const Node& file, const HeadFields& fields);

// Checks what the parts of a model must have in common: a token visits no more experts than there are, and the part of
// a head that positions turn is smaller than the head. Throws Error(input) at `file`.
void check_parts(const ModelSpec& model, const Node& file);
// Groups of experts are equally large, and those of a token hold as many as it visits; `groups`: where they stand.
void check_groups(const MixtureOfExperts& mixture, const Node& groups);

// The window of layers of which `windowed` have one of `tokens`; nullopt where it is not that all others, all but
// leading ones or all but each n-th have it.
std::optional<SlidingWindow> sliding_window_of(const std::vector<bool>& windowed, std::int64_t tokens);

// The name of the model in a file without one: the file's own ("llama3-8b.yaml"), its folder's for "config.json".
std::string name_from_path(const std::string& path);

}  // namespace mirfak
