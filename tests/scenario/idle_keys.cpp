// No key of a scenario is without effect and without a word: with every value that it can have it changes the result,
// is refused, or is noted.

#include "scenario/idle_keys.hpp"

#include "fixture.hpp"

#include "base/error.hpp"
#include "base/key_path.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

namespace idle_keys_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

const ScenarioSources& sources() {
  static const ScenarioSources all(data_folders());
  return all;
}

Scenario read(const std::string& text, const std::vector<std::string>& overrides = {}) {
  Document document = Document::from_text(text, "test.yaml");
  for (const std::string& assignment : overrides) document.override_value(assignment);
  return parse_scenario(document, sources());
}

std::vector<std::string> idle_in(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const Scenario scenario = read(text, overrides);
  std::vector<std::string> out;
  for (const IdleKey& idle : idle_keys(scenario, sources(), simulate(scenario.job).result)) {
    out.push_back(idle.key + '=' + idle.value);
  }
  return out;
}

const std::string kLone = kSmall;

// The ready topology file, and the same server without bridges.
const std::string kBridges = source_root() + "/scenarios/nodes/a100-pcie-bridges.xml";
std::string without_bridges() {
  static const ScratchFolder folder;
  const std::filesystem::path path = folder / "plain.xml";
  std::ifstream in(kBridges);
  std::ofstream out(path);
  for (std::string line; std::getline(in, line);) {
    if (line.find("<nvlink") == std::string::npos) out << line << '\n';
  }
  return path.string();
}

// Jobs that between them give every key something to act on.
const std::map<std::string, std::string> kJobs = {
    {"one node", kLone},
    {"a pipeline of chunks over nodes",
     "model: gpt3-1.3b\n"
     "cluster: {nodes: [{type: hgx-h100, count: 16}]}\n"
     "training: {global_batch: 128, tokens: 1e9, precision: fp8-delayed}\n"
     "strategy: {tensor: 2, pipeline: 4, virtual_pipeline: 2, sequence_parallel: true, zero: 1}\n"},
    {"narrow formats",
     "model: gpt3-1.3b\n"
     "cluster: {nodes: [{type: hgx-b200, count: 1}]}\n"
     "training: {global_batch: 64, precision: fp8}\n"
     "strategy: {data: 8, zero: 1, overlap_grad_reduce: true}\n"},
    {"experts",
     "model: mixtral-8x7b\n"
     "cluster: {nodes: [{type: hgx-h100, count: 4}]}\n"
     "training: {global_batch: 64, sequence_length: 4096, expert_capacity_factor: 1.25}\n"
     "strategy: {tensor: 2, expert: 4, sequence_parallel: true, zero: 1, recompute: selective}\n"},
    {"experts with rooms and pages",
     "model: mixtral-8x7b\n"
     "cluster: {nodes: [{type: hgx-b200, count: 4}]}\n"
     "training: {global_batch: 128, sequence_length: 4096, precision: mxfp8}\n"
     "strategy: {expert: 4, expert_dispatcher: hybridep, zero: 1, expert_rank_capacity: 1.5, expert_stash: 1.1}\n"},
    {"adapters in memory of the host",
     "model: llama3-8b\n"
     "cluster: {nodes: [{type: hgx-h100, count: 1}]}\n"
     "training: {global_batch: 16, sequence_length: 4096, lora: {rank: 16}}\n"
     "strategy: {tensor: 2, sequence_parallel: true, recompute: full, recompute_layers: 2}\n"},
    {"microbatches in two parts",
     "model: gpt3-1.3b\n"
     "cluster: {nodes: [{type: hgx-h100, count: 1}]}\n"
     "training: {global_batch: 64, framework: kareus}\n"
     "strategy: {tensor: 2, micro_batch: 2, nanobatches: 2}\n"},
    {"shards that may lie on the host",
     "model: gpt3-1.3b\n"
     "cluster: {nodes: [{type: hgx-h100, count: 2}]}\n"
     "training: {global_batch: 16, framework: deepspeed}\n"
     "strategy: {data: 16, zero: 3}\n"},
    {"state on disks",
     "model: gpt3-1.3b\n"
     "cluster: {nodes: [{type: hgx-h100, count: 1, disk_read_bandwidth: 2e10, disk_write_bandwidth: 1e10}]}\n"
     "training: {global_batch: 8, framework: {like: deepspeed, offload: {disk_piece_parameters: 1e7}}, precision: "
     "fp32}\n"
     "strategy: {data: 8, zero: 3, offload_optimizer: 1, offload_parameters: true, optimizer_on_disk: true}\n"},
    {"gradients that may be projected",
     "model: gpt3-1.3b\n"
     "cluster: {nodes: [{type: hgx-h100, count: 1}]}\n"
     "training: {global_batch: 8, framework: huggingface}\n"
     "strategy: {data: 8}\n"},
    {"a loss that may run in chunks, after a tower for images",
     "model:\n"
     "  max_sequence: 2048\n"
     "  sizes: {hidden: 1024, heads: 16, kv_heads: 16, ffn: 4096, vocab: 32000, tower_hidden: 512, tower_heads: 8,\n"
     "          tower_ffn: 2048, places: 256, patches: 256, patch_inputs: 588, merge: 4, projector_ffn: 2048}\n"
     "  blocks: [vision, {use: vision.layer, count: 2}, vision.join, {use: llama, count: 8}, head]\n"
     "cluster: {nodes: [{type: hgx-h100, count: 1}]}\n"
     "training: {global_batch: 8, framework: torchtitan}\n"
     "strategy: {data: 8, zero: 3}\n"},
    {"context ranks in groups",
     "model: gpt3-1.3b\n"
     "cluster: {nodes: [{type: hgx-h100, count: 1}]}\n"
     "training: {global_batch: 8}\n"
     "strategy: {context: 8}\n"},
    {"replicas over leaves",
     "model: gpt3-1.3b\n"
     "cluster: {nodes: [{type: hgx-h100, count: 16}], fabric: {type: fat-tree, oversubscription: 4}}\n"
     "training: {global_batch: 128}\n"
     "strategy: {micro_batch: 1}\n"},
    {"paths by a hash",
     "model: gpt3-1.3b\n"
     "cluster: {nodes: [{type: hgx-h100, count: 8}], fabric: {type: fat-tree, routing: hashed}}\n"
     "training: {global_batch: 128}\n"
     "strategy: {tensor: 4}\n"},
    {"limited in flight",
     "model: gpt3-1.3b\n"
     "cluster: {nodes: [{type: hgx-h100, count: 1}]}\n"
     "training: {global_batch: 64}\n"
     "strategy: {pipeline: 8, schedule: zb-auto}\n"},
    {"nodes that a file describes",
     "model: gpt3-1.3b\n"
     "cluster: {nodes: [{type: a100-pcie-4, count: 2, topology: \"" +
         kBridges +
         "\", scale_up: nvlink3}]}\n"
         "training: {global_batch: 64}\n"
         "strategy: {tensor: 2}\n"},
    {"cards without bridges",
     "model: gpt3-1.3b\n"
     "cluster: {nodes: [{type: a100-pcie-4, count: 2}]}\n"
     "training: {global_batch: 64}\n"
     "strategy: {tensor: 2}\n"},
    {"tensor ranks of stages",
     "model: gpt3-1.3b\n"
     "cluster: {nodes: [{type: hgx-h100, count: 2}]}\n"
     "training: {global_batch: 8}\n"
     "strategy: {tensor: 8, pipeline: 2}\n"},
};

// Values that are tried beside the words of the key's row in README.md.
const std::vector<std::string> kValues = {"llama3-8b",
                                          "[{type: dgx-a100-80g, count: 2}]",
                                          "megatron-lm-2022",
                                          "bf16",
                                          "true",
                                          "false",
                                          "1",
                                          "2",
                                          "3",
                                          "4",
                                          "8",
                                          "64",
                                          "800",
                                          "256",
                                          "0.5",
                                          "300e9",
                                          "[attention]",
                                          "[mlp]",
                                          "[core_attn]",
                                          "[layernorm]",
                                          "500",
                                          "64000",
                                          "{kg_per_gpu: 150, lifetime_years: 4}",
                                          "{rank: 8}",
                                          "{answers: 2}",
                                          "{learners: 2, every: 8}",
                                          "[{rank: 1, compute: 1.5}]",
                                          "[{node: 0, compute: 1.5}]",
                                          "[{rank: 1, factor: 1.5}]",
                                          "ib-hdr",
                                          "nvlink4",
                                          without_bridges(),
                                          "tcp-10g",
                                          "spot",
                                          "[12, 12]",
                                          "[{tensor: 4, data: 2}]",
                                          "[6, 6, 6, 6]",
                                          "[4, 3, 3, 3, 3, 3, 3, 2]",
                                          "[5, 3, 4, 4, 4, 4, 4, 4]",
                                          "[3, 5, 4, 4, 4, 4, 4, 4]",
                                          "[2, 4, 4, 4, 4, 4, 2, 8]"};

struct DocumentedKey {
  std::string key;
  std::vector<std::string> values;
};

std::vector<std::string> quoted_words(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t begin = text.find('`'); begin != std::string::npos;) {
    const std::size_t end = text.find('`', begin + 1);
    if (end == std::string::npos) break;
    out.push_back(text.substr(begin + 1, end - begin - 1));
    begin = text.find('`', end + 1);
  }
  return out;
}

// The keys of the section "Keys" of scenario/README.md, which other tests hold against the reader.
std::vector<DocumentedKey> documented_keys() {
  std::ifstream in(std::filesystem::path(source_root()) / "sim/files/scenario/README.md");
  std::vector<DocumentedKey> out;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) inside = line == "## Keys";
    if (!inside || !line.starts_with("| `")) continue;
    const std::size_t cell = line.find(" | ");
    for (std::string key : quoted_words(line.substr(0, cell))) {
      if (key.starts_with('.')) key = "cluster.nodes[]" + key;
      if (const std::size_t list = key.find("[]"); list != std::string::npos) key.replace(list, 2, "[0]");
      std::vector<std::string> values = quoted_words(line.substr(cell));
      values.insert(values.end(), kValues.begin(), kValues.end());
      out.push_back({key, std::move(values)});
    }
  }
  return out;
}

// The effect of a value of a key on a job.
enum class Effect { not_understood, refused, none, noted, changed };

struct Base {
  std::string text;
  Scenario scenario;
  IterationResult result;

  explicit Base(const std::string& job) : text(job), scenario(read(job)), result(simulate(scenario.job).result) {}
};

Effect effect_of(const Base& base, const std::string& key, const std::string& value) {
  try {
    const Scenario scenario = read(base.text, {key + '=' + value});
    if (scenario.resolved == base.scenario.resolved) return Effect::none;
    const IterationResult result = simulate(scenario.job).result;
    if (result != base.result) return Effect::changed;
    const std::vector<IdleKey> idle = idle_keys(scenario, sources(), result);
    INFO(key, ": ", value, " changes nothing and is not noted");
    CHECK(std::any_of(idle.begin(), idle.end(), [&](const IdleKey& one) { return one.key.starts_with(key); }));
    return Effect::noted;
  } catch (const Error& error) {
    return error.kind() == ErrorKind::input ? Effect::not_understood : Effect::refused;
  }
}

// Keys without which a job that has them is refused, or the other way round, so no two results can be compared.
const std::set<std::string> kDecideWhatRuns = {"strategy.data", "strategy.account_for_embedding_in_pipeline_split",
                                               "strategy.account_for_loss_in_pipeline_split"};

// Keys of which some jobs have no use for any value, and others have.
const std::set<std::string> kBesideOthers = {"cluster.fabric.routing_seed", "cluster.nodes[0].topology",
                                             "cluster.nodes[0].scale_up", "training.pad_to_capacity",
                                             "strategy.expert_weight_shards"};

// Keys that shape the network's graph, which `mirfak topology` prints; collectives are priced without it.
const std::set<std::string> kOnlyOfTheGraph = {"cluster.fabric.type",         "cluster.fabric.uplinks",
                                               "cluster.fabric.levels",       "cluster.fabric.group_routers",
                                               "cluster.fabric.global_links", "cluster.fabric.group_spines",
                                               "cluster.fabric.dimensions",   "cluster.fabric.file",
                                               "cluster.fabric.topology",     "cluster.fabric.switch_latency_s"};

// Keys that are drawn for many iterations, not for one.
const std::set<std::string> kOnlyOfSamples = {"cluster.perturbations.iterations", "cluster.perturbations.jitter",
                                              "cluster.perturbations.tokens", "cluster.perturbations.seed"};

}  // namespace

TEST_CASE("what has no effect is named, with its value") {
  CHECK(idle_in(kLone).empty());
  CHECK(idle_in(kLone, {"strategy.microbatch_group=4"}) == std::vector<std::string>{"strategy.microbatch_group=4"});
  CHECK(idle_in(kLone, {"strategy.recompute_modules=[mlp]"}) ==
        std::vector<std::string>{"strategy.recompute_modules=[mlp]"});
  CHECK(idle_in(kLone, {"training.fp8_parameters=true"}) == std::vector<std::string>{"training.fp8_parameters=true"});
  CHECK(idle_in(kLone, {"cluster.fabric.oversubscription=4"}) ==
        std::vector<std::string>{"cluster.fabric.oversubscription=4"});
  CHECK(idle_in(kLone, {"strategy.sequence_parallel=true"}) ==
        std::vector<std::string>{"strategy.sequence_parallel=true"});
  CHECK(idle_in(kLone, {"strategy.tensor=2", "strategy.sequence_parallel=true"}).empty());
  // Two nodes of eight ports hang on one leaf of 32.
  CHECK(idle_in(kLone, {"cluster.nodes[0].count=2", "cluster.fabric.oversubscription=2"}) ==
        std::vector<std::string>{"cluster.fabric.oversubscription=2"});
}

TEST_CASE("popularity of experts that no ranks divide is noted, drawn or measured") {
  const std::string text =
      "model: deepseek-v2-lite\ncluster:\n  nodes: [{type: hgx-h100, count: 2}]\ntraining: {global_batch: 64}\n"
      "strategy: {micro_batch: 1, zero: 1, expert: ";
  const auto notes = [&](const char* expert) {
    const Scenario scenario = read(text + expert + "}\n", {"cluster.perturbations.experts={skew: 0.5}"});
    return notes_on_keys(scenario, sources(), simulate(scenario.job).result);
  };
  const std::vector<std::string> none = notes("1");
  REQUIRE(none.size() == 2);
  CHECK(none.front().find("cluster.perturbations.experts: {skew: 0.5} changes nothing in this job") !=
        std::string::npos);
  CHECK(notes("8").size() == 1);  // that one iteration leaves it out
}

TEST_CASE("a list in which some items are mappings is one key") {
  const std::string framework = "training.framework={like: megatron-core, fusion: {chains: [{of: [softmax], kernels: ";
  CHECK(idle_in(kLone, {framework + "[{bytes: 4, cycles: 1}, 6]}, [gelu, multiply]]}}"}).empty());
}

TEST_CASE("the note has the place of the key") {
  const std::string text = kLone + "  microbatch_group: 4\n";
  const Scenario scenario = read(text);
  const std::vector<IdleKey> idle = idle_keys(scenario, sources(), simulate(scenario.job).result);
  REQUIRE(idle.size() == 1);
  CHECK(note_on(idle.front()) == "test.yaml:8:21: strategy.microbatch_group: 4 changes nothing in this job");
}

TEST_CASE("no scenario of this project states a key that does nothing") {
  for (const auto& entry : std::filesystem::directory_iterator(source_root() + "/scenarios")) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".yaml" || name.starts_with("search")) continue;
    CAPTURE(name);
    const Scenario scenario = load_scenario(entry.path(), {}, sources());
    for (const IdleKey& idle : idle_keys(scenario, sources(), simulate(scenario.job).result)) {
      INFO(note_on(idle));
      CHECK(false);
    }
  }
}

TEST_CASE("every key acts in some job, and wherever it does not it is noted or refused") {
  std::map<std::string, Base> bases;
  for (const auto& [name, text] : kJobs) bases.emplace(name, Base(text));
  const std::vector<DocumentedKey> keys = documented_keys();
  CHECK(keys.size() > 50);
  for (const DocumentedKey& of : keys) {
    CAPTURE(of.key);
    std::set<Effect> effects;
    for (const std::string& value : of.values) {
      CAPTURE(value);
      for (const auto& base : bases) {
        CAPTURE(base.first);
        const Effect effect = effect_of(base.second, of.key, value);
        effects.insert(effect);
        if (effect == Effect::not_understood && !kBesideOthers.contains(of.key))
          break;  // no value of it, whatever the job
      }
    }
    if (kOnlyOfTheGraph.contains(of.key) || kOnlyOfSamples.contains(of.key)) continue;
    CHECK(effects.contains(kDecideWhatRuns.contains(of.key) ? Effect::refused : Effect::changed));
  }
}

TEST_CASE("what no user wrote is not noted: it stands nowhere, or in the data") {
  const std::string of_program = data_folders().hardware.string() + "/launch/program.yaml";
  for (const std::string& file : {std::string("test.yaml"), std::string(), of_program}) {
    CAPTURE(file);
    Value value;
    value.kind = Value::Kind::scalar;
    value.scalar = "4";
    value.where = value.key_where = Location{file, 1, 1};
    Document document = Document::from_text(kLone, "test.yaml");
    document.assign(KeyPath("cluster.fabric.oversubscription", value.where), value, value.where);
    const Scenario scenario = parse_scenario(document, sources());
    CHECK(idle_keys(scenario, sources(), simulate(scenario.job).result).empty() == (file != "test.yaml"));
  }
}

}  // namespace idle_keys_test
