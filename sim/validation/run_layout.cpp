#include "validation/run_layout.hpp"

#include "validation/run_words.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace mirfak {

namespace {

constexpr std::size_t kLongestLayout = 100'000;

// Writes out the repetitions of a pipeline layout; false for text that is none.
bool expand(std::string_view layout, std::size_t& at, std::string& out) {
  while (at < layout.size() && layout[at] != ')') {
    std::string part;
    if (layout[at] == '(') {
      if (!expand(layout, ++at, part) || at >= layout.size()) return false;
    } else {
      part = layout[at];
    }
    ++at;
    std::size_t times = 1;
    if (at < layout.size() && layout[at] == '*') {
      times = 0;
      for (++at; at < layout.size() && std::isdigit(static_cast<unsigned char>(layout[at])) != 0; ++at) {
        times = times * 10 + static_cast<std::size_t>(layout[at] - '0');
      }
    }
    if (times == 0 || times > 1000 || out.size() + times * part.size() > kLongestLayout) return false;
    for (std::size_t i = 0; i < times; ++i) out += part;
  }
  return true;
}

std::vector<int> even(std::int64_t layers, std::int64_t chunks) {
  return std::vector<int>(static_cast<std::size_t>(chunks), static_cast<int>(layers / chunks));
}

// Chunks filled from the front, so that the last has room for the head and multi-token prediction: 16 x 4 but the last,
// which has 1 (NeMo's and Megatron Bridge's set_deepseek_v3_pipeline_model_parallel_layout).
std::vector<int> from_the_front(std::int64_t layers, std::int64_t chunks) {
  const std::int64_t each = (layers + chunks - 1) / chunks;
  std::vector<int> split;
  for (std::int64_t left = layers; static_cast<std::int64_t>(split.size()) < chunks; left -= split.back()) {
    split.push_back(static_cast<int>(std::min(each, left)));
  }
  return split;
}

}  // namespace

std::int64_t micro_batch_of(const MeasuredRun& run) {
  if (run.micro_batch) return *run.micro_batch;
  fail_infeasible(run.where, "the row does not state the micro batch");
}

std::vector<int> layers_of_pipeline_layout(const std::string& layout) {
  std::string chunks;
  std::size_t at = 0;
  if (!expand(layout, at, chunks) || at != layout.size()) return {};
  std::vector<int> layers = {0};
  for (const char c : chunks) {
    if (c == 't') ++layers.back();
    if (c == '|') layers.push_back(0);
  }
  return layers;
}

std::vector<int> layer_split_of(const MeasuredRun& run) {
  const std::int64_t pipeline = run.pipeline.value_or(1);
  const std::int64_t chunks = pipeline * (pipeline > 1 ? run.virtual_pipeline.value_or(1) : 1);
  if (!run.layers || chunks == 1 || chunks > *run.layers) return {};
  if (const auto layout = RunWords(run.flags).value_of("pp_layout")) {
    std::vector<int> layers = layers_of_pipeline_layout(*layout);
    if (static_cast<std::int64_t>(layers.size()) == chunks) return layers;
  }
  const std::int64_t layers = *run.layers;
  const bool filled = RunWords(run.model).has_any({"deepseek", "kimi"}) && RunWords(run.source).has("nvidia");
  if (filled) return from_the_front(layers, chunks);
  if (layers % chunks == 0) return {};
  if ((layers + 2) % chunks == 0) {
    std::vector<int> split = even(layers + 2, chunks);
    --split.front();
    --split.back();
    return split;
  }
  if ((layers + 1) % chunks == 0) {
    std::vector<int> split = even(layers + 1, chunks);
    --split.back();
    return split;
  }
  std::vector<int> split = even(layers, chunks);
  for (std::int64_t i = 0; i < layers % chunks; ++i) ++split[static_cast<std::size_t>(i)];
  return split;
}

}  // namespace mirfak
