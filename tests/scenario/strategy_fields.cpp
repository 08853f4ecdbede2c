// One table says what a strategy's keys are; everything that knows keys follows from it.

#include "fixture.hpp"

#include "scenario/strategy_section.hpp"
#include "strategy/block_fields.hpp"
#include "strategy/rule_fields.hpp"
#include "strategy/rules.hpp"
#include "strategy/strategy_keys.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

using namespace mirfak;
using namespace mirfak::test;

namespace {

std::string failure(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    parse(text, overrides);
  } catch (const Error& error) {
    return std::string(error.what()) + " " + error.hint();
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// "| `strategy.tensor` | 1 | tensor-parallel size |": by key, the default without quotes and the meaning.
std::map<std::string, std::pair<std::string, std::string>> documented_keys() {
  std::ifstream in(std::filesystem::path(source_root()) / "sim/files/scenario/README.md");
  const std::string start = "| `strategy.";
  std::map<std::string, std::pair<std::string, std::string>> out;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(start)) continue;
    const std::size_t key = line.find('`', start.size());
    const std::size_t first = key + 4;  // behind "` | "
    const std::size_t second = line.find(" | ", first);
    std::string fallback = line.substr(first, second - first);
    std::erase(fallback, '`');
    out[line.substr(start.size(), key - start.size())] = {fallback, line.substr(second + 3)};
  }
  return out;
}

}  // namespace

TEST_CASE("README.md of scenario/ has every key of a strategy with its default and its sentence, and no other") {
  const auto documented = documented_keys();
  CHECK(documented.size() == strategy_keys().size());
  for (const StrategyKey& key : strategy_keys()) {
    INFO("| `strategy.", key.key, "` | ", key.default_text, " | ", key.sentence, " |");
    const auto found = documented.find(std::string(key.key));
    REQUIRE(found != documented.end());
    CHECK(found->second.first == key.default_text);
    CHECK(found->second.second.starts_with(key.sentence));
  }
}

TEST_CASE("every key is read, and what is read is written and reads back") {
  // A value of each key that is not its default; together they break rules, so they are read one by one.
  const std::map<std::string, std::string> values = {{"context_communication", "a2a"},
                                                     {"expert_dispatcher", "deepep"},
                                                     {"scatter_gather", "true"},
                                                     {"rank_order", "tp-cp-ep-pp-dp"},
                                                     {"schedule", "gpipe"},
                                                     {"recompute", "full"},
                                                     {"recompute_method", "uniform"},
                                                     {"recompute_modules", "[mlp, moe]"},
                                                     {"offload_modules", "[core_attn, moe_act]"},
                                                     {"offload_optimizer", "0.5"},
                                                     {"layer_split", "[11, 13]"},
                                                     {"replica_microbatches", "[3, 1]"},
                                                     {"stages",
                                                      "[{tensor: 2, data: 4, expert: 1}, "
                                                      "{tensor: 1, data: 8, expert: 1}]"}};
  for (const StrategyKey& key : strategy_keys()) {
    INFO(key.key);
    const auto given = values.find(std::string(key.key));
    const bool truth = key.default_text == "false";
    const std::string value = given != values.end() ? given->second : truth ? "true" : "2";
    const auto read = [](const std::string& section) {
      const Document document = Document::from_text(section, "strategy.yaml");
      return read_strategy(Node(document), 64);
    };
    const Strategy strategy = read(std::string(key.key) + ": " + value);
    CHECK(key.text(strategy) == value);
    CHECK_FALSE(key.left_out(strategy));
    CHECK(strategy != read("{}"));
  }
}

TEST_CASE("a default that is a word may be written, and is what leaving the key out is") {
  const auto read = [](const std::string& section) {
    const Document document = Document::from_text(section, "strategy.yaml");
    return read_strategy(Node(document), 64);
  };
  int words = 0;
  for (const StrategyKey& key : strategy_keys()) {
    if (key.default_text.find(' ') != std::string::npos) continue;  // a sentence
    if (key.key == "tensor" || key.key == "pipeline") continue;
    INFO(key.key);
    const std::string stated = std::string(key.key) + ": " + key.default_text;
    CHECK(read("{tensor: 4, pipeline: 2, " + stated + "}") == read("{tensor: 4, pipeline: 2}"));
    ++words;
  }
  CHECK(words > 20);
  CHECK(read("{tensor: 4, expert: 2, expert_tensor: tensor}").expert_tensor == 4);
}

TEST_CASE("a key without a value is an error; null means none only where that is the default") {
  CHECK(contains(failure(kSmall, {"strategy.tensor="}), "strategy.tensor: expected a value, found nothing"));
  CHECK(contains(failure(kSmall, {"strategy.tensor=null"}), "strategy.tensor: expected a value"));
  CHECK(contains(failure(kSmall, {"training.global_batch="}), "training.global_batch: expected a value"));
  CHECK(contains(failure(kSmall, {"cluster.nodes[0].gpus=~"}), "expected a value"));
  CHECK(contains(failure(std::string(kSmall) + "  zero:\n"), "strategy.zero: expected a value"));
  CHECK(failure(kSmall, {"training.tokens=null", "strategy.offload_layers=null", "training.lora=null"}).empty());
  CHECK(failure(kSmall, {"search="}).empty());  // a section that says nothing
}

TEST_CASE("a list of a strategy is not empty") {
  CHECK(contains(failure(kSmall, {"strategy.layer_split=[]"}), "strategy.layer_split: expected at least one number"));
}

TEST_CASE("rules name every field that is no list, and blocks are told apart by all that they are priced by") {
  std::set<std::string_view> names;
  for (const formula::Name& info : rule_fields()) names.insert(info.name);
  CHECK(names.size() == kRuleFields);
  for (const StrategyKey& key : strategy_keys()) {
    const bool list = key.key == "layer_split" || key.key == "replica_microbatches" || key.key == "stages";
    CHECK(names.contains(key.key) == !list);
  }
  const auto same_blocks = [](auto change) {
    Strategy changed;
    change(changed);
    return BlockFields(changed) == BlockFields(Strategy());
  };
  CHECK(same_blocks([](Strategy& s) { s.pipeline = 4; }));
  CHECK(same_blocks([](Strategy& s) { s.schedule = schedule_named("gpipe"); }));
  CHECK(same_blocks([](Strategy& s) { s.expert_tensor = 1; }));  // as `tensor`, which is 1
  CHECK_FALSE(same_blocks([](Strategy& s) { s.tensor = 2; }));
  CHECK_FALSE(same_blocks([](Strategy& s) { s.micro_batch = 2; }));
  CHECK_FALSE(same_blocks([](Strategy& s) { s.overlap_expert = true; }));
}

// 126 layers and pipeline 16 x virtual_pipeline 8 are 128 chunks of one: the first holds the embedding instead of a
// layer, the last the head.
TEST_CASE("Llama 3 405B on 16 x 8 chunks: embedding and head count as layers") {
  const std::string scenario =
      "model: llama3-405b\ncluster: {nodes: [{type: hgx-h100, count: 16}]}\n"
      "training: {global_batch: 16, sequence_length: 8192}\n"
      "strategy:\n  tensor: 8\n  pipeline: 16\n  virtual_pipeline: 8\n  sequence_parallel: true\n";
  CHECK(contains(failure(scenario), "126 layers cannot be divided into pipeline 16 x virtual_pipeline 8 = 128 chunks"));
  const std::string embedding = "  account_for_embedding_in_pipeline_split: true\n";
  const std::string loss = "  account_for_loss_in_pipeline_split: true\n";
  CHECK(contains(failure(scenario + embedding), "126 layers with the embedding cannot be divided"));

  const Scenario both = parse(scenario + embedding + loss);
  const auto layers = layers_of_chunks(both.job.strategy, both.job.model);
  CHECK(layers.front().front() == LayerRange{0, 0});
  CHECK(layers[1].front() == LayerRange{0, 1});
  CHECK(layers[0][1] == LayerRange{15, 1});
  CHECK(layers.back().back() == LayerRange{126, 0});
  CHECK(contains(both.resolved, loss));
  CHECK(parse(both.resolved).job.strategy == both.job.strategy);

  std::string split = "0";
  for (int i = 0; i < 126; ++i) split += ", 1";
  const Job stated = parse(scenario + "  layer_split: [" + split + ", 0]\n").job;
  CHECK(layers_of_chunks(stated.strategy, stated.model) == layers);
  CHECK(contains(failure(scenario + embedding + "  layer_split: [" + split + ", 0]\n"), "strategy.layer_split"));
}
