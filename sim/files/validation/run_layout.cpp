#include "validation/run_layout.hpp"

#include "schedule/weighted_split.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace mirfak {

namespace {

constexpr std::size_t kLongestLayout = 100'000;

// Writes out the repetitions of a pipeline layout; false for text that is no layout.
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

// Fills chunks from the front, so that the last chunk has room for the head and multi-token prediction: 61 layers give
// 15 chunks of 4, and one of 1.
std::vector<int> from_the_front(std::int64_t layers, std::int64_t chunks) {
  const std::int64_t each = (layers + chunks - 1) / chunks;
  std::vector<int> split;
  for (std::int64_t left = layers; static_cast<std::int64_t>(split.size()) < chunks; left -= split.back()) {
    split.push_back(static_cast<int>(std::min(each, left)));
  }
  return split;
}

// Splits layers by the weights of all products, including the head. Empty if the row does not state the sizes.
std::vector<int> balanced(const RunReading& reading, std::int64_t layers, std::int64_t chunks) {
  const auto size = [&](const char* key) { return static_cast<double>(reading.whole_number(key).value_or(0)); };
  constexpr double kAttention = 4;  // products as wide as its heads; kMlp: gate, up and down of an MLP
  constexpr double kMlp = 3;
  const double layer = kAttention * size("model.heads") * size("model.head_dim") + kMlp * size("model.ffn");
  const double head = size("model.vocab");  // layer and head both leave out the factor of the hidden size
  if (layer == 0 || head == 0) return {};
  return weighted_split(layers, chunks, layer, head);
}

}  // namespace

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

std::vector<int> layer_split_of(const RunReading& reading) {
  const std::int64_t pipeline = reading.whole_number("strategy.pipeline").value_or(1);
  const std::int64_t virtual_pipeline = reading.whole_number("strategy.virtual_pipeline").value_or(1);
  const std::int64_t chunks = pipeline * (pipeline > 1 ? virtual_pipeline : 1);
  const std::int64_t layers = reading.whole_number("model.layers").value_or(0);
  // With embedding and loss counted as a layer each, the first and the last chunk may hold no layer.
  if (layers == 0 || chunks <= 1 || chunks > layers + 2) return {};
  if (const auto layout = reading.text("pipeline_layout")) {
    std::vector<int> stated = layers_of_pipeline_layout(*layout);
    if (static_cast<std::int64_t>(stated.size()) == chunks) return stated;
  }
  if (chunks <= layers && reading.text("chunks_filled") == "front") return from_the_front(layers, chunks);
  if (chunks <= layers && reading.text("chunks_filled") == "balanced") {
    if (std::vector<int> split = balanced(reading, layers, chunks); !split.empty()) return split;
  }
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
