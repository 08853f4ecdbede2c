#include "import/layer_pattern.hpp"
#include "import/megatron_reading.hpp"
#include "import/number_words.hpp"
#include "import/pipeline_layout.hpp"

#include "base/yaml.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

// Reads levels of context ranks: those of the first divide heads, and those of the second pass keys and values around.
void read_context_levels(MegatronReading& reading) {
  constexpr const char* option = "hierarchical-context-parallel-sizes";
  const std::vector<std::string> how = reading.options.words({"cp-comm-type"});
  const bool mixed = reading.context > 1 && !how.empty() && how.front() == "a2a+p2p";
  const Setting* sizes = reading.options.said({option});
  if (!mixed && sizes != nullptr) reading.draft.leave(*sizes, "only with --cp-comm-type a2a+p2p");
  if (!mixed) return;
  if (sizes == nullptr) {
    reading.draft.obstruct(reading.options.said({"cp-comm-type"})->where,
                           "a2a+p2p: --hierarchical-context-parallel-sizes does not say which ranks divide heads");
    return;
  }
  const std::vector<std::string> levels = reading.options.words({option});
  std::vector<std::int64_t> counts;
  for (const std::string& level : levels) counts.push_back(whole_number_of(level).value_or(0));
  if (counts.size() != 2 || counts[0] < 1 || counts[0] * counts[1] != reading.context) {
    reading.draft.obstruct(sizes->where, fmt::format("{}: expected two sizes whose product is the {} context ranks",
                                                     sizes->name, reading.context));
    return;
  }
  if (counts[0] == 1) return reading.draft.leave(*sizes, "one rank divides no heads: a ring");
  if (counts[1] == 1) {
    return reading.draft.take(*sizes, "strategy.context_communication", "a2a", "all ranks divide heads");
  }
  reading.draft.take(*sizes, "strategy.context_heads", levels.front(),
                     "the first level divides heads, the second passes keys and values around");
}

void read_context(MegatronReading& reading) {
  const Setting* ulysses = reading.options.said({"ds-sequence-parallel-size"});
  if (ulysses != nullptr && reading.options.count({"ds-sequence-parallel-size"}).value_or(1) > 1) {
    reading.context = reading.count("ds-sequence-parallel-size");
    reading.draft.take(*ulysses, "strategy.context_communication", "a2a", "heads divided inside attention");
    return;
  }
  if (ulysses != nullptr) reading.draft.leave(*ulysses, "one rank");
  reading.context = reading.count("context-parallel-size");
  reading.options.read("cp-comm-type");
  reading.options.read("hybrid-context-parallel");
  reading.options.read("max-seqlen-per-dp-cp-rank");
  read_context_levels(reading);
}

// Sets chunks by --pipeline-model-parallel-layout.
void take_layout(MegatronReading& reading, const Setting& setting) {
  const std::vector<std::string> stages = pipeline_layout_stages(word_of(setting.value), setting.value.where);
  const auto count = static_cast<std::int64_t>(stages.size());
  if (count % reading.pipeline != 0) {
    reading.draft.obstruct(setting.where, fmt::format("{}: {} parts do not divide over {} pipeline stages",
                                                      setting.name, count, reading.pipeline));
    return;
  }
  reading.draft.take(setting, "strategy.virtual_pipeline", std::to_string(count / reading.pipeline));
  reading.draft.take(setting, "strategy.layer_split", list_value(layers_of_stages(stages), setting.where));
  const std::string& last = stages.back();
  const bool predictions_elsewhere = std::any_of(
      stages.begin(), stages.end() - 1, [](const std::string& stage) { return stage.find('m') != std::string::npos; });
  if (stages.front().find('E') == std::string::npos || last.find('L') == std::string::npos || predictions_elsewhere) {
    reading.draft.use(
        setting, "mirfak has the embedding in the first part, and predictions of more tokens and the loss in the last");
  }
}

// Sets the layers of the first and last stage; the stages between them have the other layers.
void take_ends(MegatronReading& reading, std::int64_t chunks) {
  MegatronOptions& options = reading.options;
  const auto first = options.count({"decoder-first-pipeline-num-layers"});
  const auto last = options.count({"decoder-last-pipeline-num-layers"});
  if (!first && !last) return;
  const Setting* setting = options.said({"decoder-first-pipeline-num-layers"});
  if (setting == nullptr) setting = options.said({"decoder-last-pipeline-num-layers"});
  const std::int64_t between = reading.pipeline - (first ? 1 : 0) - (last ? 1 : 0);
  const std::int64_t rest = reading.layers - first.value_or(0) - last.value_or(0);
  const bool even = between == 0 ? rest == 0 : rest >= 0 && rest % (between * chunks) == 0;
  if (!even || first.value_or(0) % chunks != 0 || last.value_or(0) % chunks != 0) {
    reading.draft.obstruct(
        setting->where,
        fmt::format("{}: {} layers do not divide over the {} stages between the ends", setting->name, rest, between));
    return;
  }
  std::vector<int> split;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::int64_t stage = 0; stage < reading.pipeline; ++stage) {
      std::int64_t layers = between == 0 ? 0 : rest / between;
      if (stage == 0 && first) layers = *first;
      if (stage == reading.pipeline - 1 && last) layers = *last;
      split.push_back(static_cast<int>(layers / chunks));
    }
  }
  reading.draft.take(*setting, "strategy.layer_split", list_value(split, setting->where));
  if (first && last) reading.draft.use(*options.said({"decoder-last-pipeline-num-layers"}), "in strategy.layer_split");
}

std::int64_t read_chunks(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  ImportDraft& draft = reading.draft;
  if (const auto stages = options.count({"num-virtual-stages-per-pipeline-rank"})) {
    const Setting* setting = options.said({"num-virtual-stages-per-pipeline-rank"});
    if (reading.pipeline > 1) draft.take(*setting, "strategy.virtual_pipeline", std::to_string(*stages));
    if (reading.pipeline <= 1) draft.leave(*setting, "only with pipeline stages");
    return reading.pipeline > 1 ? *stages : 1;
  }
  const auto each = options.count({"num-layers-per-virtual-pipeline-stage"});
  if (!each) return 1;
  const Setting* setting = options.said({"num-layers-per-virtual-pipeline-stage"});
  if (reading.pipeline <= 1) {
    draft.leave(*setting, "only with pipeline stages");
    return 1;
  }
  std::int64_t layers = reading.layers;
  if (options.flag({"account-for-embedding-in-pipeline-split"}) != nullptr) ++layers;
  if (options.flag({"account-for-loss-in-pipeline-split"}) != nullptr) ++layers;
  if (*each < 1 || layers % (reading.pipeline * *each) != 0) {
    draft.doubt(*setting, "the layers do not divide into such chunks");
    draft.obstruct(setting->where, fmt::format("{}: {} layers do not divide into chunks of {} on {} stages",
                                               setting->name, layers, *each, reading.pipeline));
    return 1;
  }
  const std::int64_t chunks = layers / reading.pipeline / *each;
  draft.take(*setting, "strategy.virtual_pipeline", std::to_string(chunks),
             fmt::format("{} layers on {} stages", layers, reading.pipeline));
  return chunks;
}

}  // namespace

void read_megatron_parallelism(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  reading.tensor = reading.count("tensor-model-parallel-size");
  options.read("tensor-parallel-num-weight-shards");
  const Setting* none = reading.deepspeed ? options.flag({"no-pipeline-parallel"}) : nullptr;
  reading.pipeline = reading.count("pipeline-model-parallel-size");
  if (none != nullptr && reading.pipeline == 1) reading.draft.use(*none, "one pipeline stage");
  read_context(reading);
  reading.options.read("micro-batch-size");
  for (const std::int64_t size : {reading.tensor, reading.pipeline, reading.context}) {
    if (size < 1) fail_input(reading.run.where, "a size of parallelism below 1");
  }
}

void read_megatron_pipeline(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  const Setting* layout = options.said({"pipeline-model-parallel-layout"});
  const std::int64_t chunks = read_chunks(reading);
  if (layout != nullptr && reading.pipeline > 1) {
    take_layout(reading, *layout);
  } else {
    if (layout != nullptr) reading.draft.leave(*layout, "only with pipeline stages");
    take_ends(reading, chunks);
  }
  reading.options.read_part("pipeline");
}

}  // namespace mirfak
