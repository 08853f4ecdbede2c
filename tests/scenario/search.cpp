// The `search` section: what it bounds, what the strategy fixes, and that every limit can be seen and read back.

#include "fixture.hpp"

#include "scenario/idle_keys.hpp"
#include "scenario/search_scenario.hpp"
#include "scenario/search_section.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace search_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

// 3 x 8 A100, GPT-3 1.3B (24 layers, 16 heads), 1e9 tokens in iterations of 64 x 2048.
const std::string kJob =
    "model: gpt3-1.3b\n"                            // 1
    "cluster:\n"                                    // 2
    "  nodes: [{type: dgx-a100-80g, count: 3}]\n"   // 3
    "training: {global_batch: 64, tokens: 1e9}\n";  // 4
const std::string kSearch = kJob + "search:\n";     // 5

SearchScenario read(const std::string& text, const std::vector<std::string>& overrides = {}) {
  Document document = Document::from_text(text, "test.yaml");
  for (const std::string& assignment : overrides) document.override_value(assignment);
  return parse_search(document, data_folders());
}

std::string failure_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    read(text, overrides);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return "no failure";
}

std::vector<int> counted(int first, int last) {
  std::vector<int> out(static_cast<std::size_t>(last - first + 1));
  std::iota(out.begin(), out.end(), first);
  return out;
}

}  // namespace

TEST_CASE("without a section the search is through the default space") {
  const SearchScenario scenario = read(kJob);
  const SearchSpec& spec = scenario.search.spec;
  CHECK(spec.objective == SearchObjective::time);
  CHECK(spec.top == 10);
  CHECK_FALSE(spec.any_count);
  CHECK(spec.mixed);
  CHECK(spec.rules.empty());
  CHECK(spec.space.tensor == std::vector<int>{1, 2, 4, 8, 16});
  CHECK(spec.space.pipeline == counted(1, 24));
  CHECK(spec.deadline_s == 0);
  CHECK(scenario.job.cluster.gpus() == 24);
}

TEST_CASE("every key of the section is read") {
  const SearchSpec spec =
      read(kSearch +
           "  objective: pareto\n  top: 3\n  nodes: up-to\n  node_counts: [1, 3]\n  mixed: false\n"
           "  rules: [\"tensor <= 8\", \"not (recompute == 'full' and micro_batch > 4)\"]\n"
           "  deadline_days: 30\n  budget_usd: 1e6\n  power_cap_w: 5e3\n"
           "  power_peak_w: 6e3\n  power_swing_w: 2e3\n  power_max_ramp_w_per_s: 1e5\n"
           "  space: {tensor: [1, 4], tensor_across_domains: true, context: 2, expert: [1], expert_tensor: [tensor],\n"
           "          pipeline: [2..4, 8], virtual_pipeline: [1, 3], schedule: [1f1b], micro_batch: [2, 1],\n"
           "          sequence_parallel: [true], overlap_tensor: false, recompute: [full, none],\n"
           "          recompute_method: uniform, recompute_layers: [all, 2..3], zero: [0, 1], overlap_grad_reduce: "
           "[true, false],\n"
           "          overlap_param_gather: [false], offload_optimizer: [0, 0.5], uneven_layers: 0, uneven_end_chunks: "
           "3}\n")
          .search.spec;
  CHECK(spec.objective == SearchObjective::pareto);
  CHECK(spec.top == 3);
  CHECK(spec.any_count);
  CHECK(spec.node_counts == std::vector<int>{1, 3});
  CHECK_FALSE(spec.mixed);
  REQUIRE(spec.rules.size() == 2);
  CHECK(spec.rules[0].text() == "tensor <= 8");
  // 1e9 tokens / (64 x 2048) = 7629.39 iterations
  CHECK(spec.deadline_s == doctest::Approx(30.0 * 86400 * 64 * 2048 / 1e9));
  CHECK(spec.budget_usd == doctest::Approx(1e6 * 64 * 2048 / 1e9));
  CHECK(spec.power_cap_w == 5e3);
  CHECK(spec.power_limits == PowerFigures{6e3, 2e3, 1e5});
  const StrategySpace& space = spec.space;
  CHECK(space.tensor == std::vector<int>{1, 4});
  CHECK(space.tensor_across_domains);
  CHECK(space.context == std::vector<int>{2});
  CHECK(space.expert_tensor == std::vector<int>{0});
  CHECK(space.pipeline == std::vector<int>{2, 3, 4, 8});
  CHECK(space.schedule == std::vector<ScheduleId>{schedule_named("1f1b")});
  CHECK(space.micro_batch == std::vector<int>{2, 1});
  CHECK(space.sequence_parallel == std::vector<bool>{true});
  CHECK(space.recompute == std::vector<Recompute>{Recompute::full, Recompute::none});
  CHECK(space.recompute_method == std::vector<RecomputeMethod>{RecomputeMethod::uniform});
  CHECK(space.recompute_layers == std::vector<int>{0, 2, 3});
  CHECK(space.overlap_grad_reduce == std::vector<bool>{true, false});
  CHECK(space.offload_optimizer == std::vector<double>{0, 0.5});
  CHECK(space.uneven_layers == 0);
  CHECK(space.uneven_end_chunks == 3);
}

TEST_CASE("numbers of nodes to try are powers of two and the cap") {
  CHECK(read(kSearch + "  nodes: up-to\n").search.spec.node_counts == std::vector<int>{1, 2, 3});
}

TEST_CASE("what stands under strategy is fixed, by the file or by an override") {
  const std::string text =
      kJob + "strategy: {tensor: 8, recompute: full, expert_tensor: 8, data: 3, context_communication: a2a}\n";
  const SearchSpec spec = read(text, {"strategy.zero=1"}).search.spec;
  CHECK(spec.space.tensor == std::vector<int>{8});
  CHECK(spec.space.recompute == std::vector<Recompute>{Recompute::full});
  CHECK(spec.space.zero == std::vector<int>{1});
  CHECK(spec.space.expert_tensor == std::vector<int>{0});
  CHECK(spec.space.others.context_communication == ContextCommunication::all_to_all);
  CHECK(spec.space.pipeline == counted(1, 24));
  REQUIRE(spec.rules.size() == 1);
  CHECK(spec.rules[0].text() == "data == 3");
}

TEST_CASE("shapes of stages are alike unless asked for by type, or fixed by the strategy") {
  CHECK(read(kJob).search.spec.space.stages == StageShapes::alike);
  const SearchScenario by_type = read(kSearch + "  space: {stages: by-type}\n");
  CHECK(by_type.search.spec.space.stages == StageShapes::by_type);
  CHECK(read(by_type.resolved).search.spec.space.stages == StageShapes::by_type);

  const std::string text =
      kJob + "strategy: {zero: 1, stages: [{nodes: 1, tensor: 4, layers: 8}, {nodes: 2, tensor: 8, layers: 24}]}\n";
  const SearchScenario fixed = read(text, {"model=llama2-7b"});
  const StrategySpace& space = fixed.search.spec.space;
  CHECK(space.stages == StageShapes::fixed);
  CHECK(space.others.stages == std::vector<StageShape>{{4, 2, 1}, {8, 2, 1}});
  CHECK(space.others.layer_split == std::vector<int>{8, 24});
  CHECK(space.zero == std::vector<int>{1});
  CHECK(space.micro_batch.size() > 1);
  const SearchScenario again = read(fixed.resolved);
  CHECK(again.resolved == fixed.resolved);
  CHECK(again.search.spec.space.others.stages == space.others.stages);
  CHECK(again.search.spec.space.others.layer_split == space.others.layer_split);
}

TEST_CASE("stages that no search could run are refused where they stand") {
  const auto refusal = [](const std::string& stages) {
    try {
      read(kJob + "strategy: {stages: " + stages + "}\n", {"model=llama2-7b"});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no failure");
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[{gpus: 8, tensor: 4}, {gpus: 8, tensor: 8}]", "the stages take 16 GPUs, but the cluster has 24"},
      {"[{nodes: 1, tensor: 8, layers: 8}, {nodes: 2, tensor: 4, layers: 8}]",
       "16 layers in all, but the model has 32"},
      {"[{nodes: 1, tensor: 8}, {gpus: 12, tensor: 4}, {gpus: 4, tensor: 2}]", "one of the two sizes must divide"},
  };
  for (const auto& [stages, said] : cases) {
    const std::string found = refusal(stages);
    INFO(found);
    CHECK_MESSAGE(found.find("test.yaml:5:") != std::string::npos, found);
    CHECK_MESSAGE(found.find(said) != std::string::npos, found);
  }
}

TEST_CASE("a fixed value narrows a list that has it") {
  CHECK(read(kSearch + "  space: {tensor: [2, 4]}\n", {"strategy.tensor=4"}).search.spec.space.tensor ==
        std::vector<int>{4});
}

TEST_CASE("a strategy that could not run as a whole is no fault of a search") {
  const std::string text = kJob + "strategy: {tensor: 16, pipeline: 5}\nsearch: {top: 2}\n";
  CHECK(read(text).search.spec.top == 2);
  CHECK_THROWS_AS(parse(text), Error);
}

TEST_CASE("the complete section reads back as the same search") {
  const std::vector<std::string> texts = {
      kJob,
      kJob + "strategy: {tensor: 4, data: 3, zero_group: 3, recompute_modules: [core_attn, mlp]}\n",
      kSearch +
          "  objective: cost\n  nodes: up-to\n  rules: ['recompute == \"full\"']\n  deadline_days: 0.3\n"
          "  budget_usd: 12345.678\n  power_cap_w: 7e3\n  power_swing_w: 4e3\n  space: {pipeline: [1, 3, 4..9, 12], "
          "expert_tensor: [1]}\n",
  };
  for (const std::string& text : texts) {
    CAPTURE(text);
    const SearchScenario first = read(text);
    const SearchScenario second = read(first.resolved);
    CHECK(second.resolved == first.resolved);
    const SearchSpec& a = first.search.spec;
    const SearchSpec& b = second.search.spec;
    CHECK(b.deadline_s == a.deadline_s);
    CHECK(b.budget_usd == a.budget_usd);
    CHECK(b.power_limits == a.power_limits);
    CHECK(b.node_counts == a.node_counts);
    CHECK(b.space.pipeline == a.space.pipeline);
    CHECK(b.space.recompute_layers == a.space.recompute_layers);
    CHECK(b.space.others.zero_group == a.space.others.zero_group);
    CHECK(b.space.others.recompute_modules == a.space.others.recompute_modules);
    REQUIRE(b.rules.size() == a.rules.size());
    for (std::size_t i = 0; i < a.rules.size(); ++i) CHECK(b.rules[i].text() == a.rules[i].text());
  }
  CHECK(read(kJob).resolved.find("recompute_layers: [all, 1..23]") != std::string::npos);
}

TEST_CASE("a model without a name has that of its file in what a search writes, too") {
  std::string text = kJob;
  const std::size_t at = text.find("model: ");
  text.replace(at, text.find('\n', at) - at,
               "model: {layers: 24, hidden: 1024, heads: 16, vocab: 51200, max_sequence: 2048}");
  const SearchScenario scenario = read(text);
  CHECK_FALSE(scenario.job.model.name.empty());
  CHECK(read(scenario.resolved).job.model.name == scenario.job.model.name);
}

TEST_CASE("strategies have to fit with a probability unless a headroom or another probability is stated") {
  const auto asked = [](const std::string& keys) {
    const SearchSpec& spec = read(kSearch + "  top: 1\n" + keys).search.spec;
    return std::pair(spec.headroom, spec.fit_probability);
  };
  CHECK(read(kJob).search.spec.fit_probability == 0.9);
  CHECK(asked("") == std::pair(0.05, 0.9));
  CHECK(asked("  fit_probability: 0.5\n") == std::pair(0.05, 0.5));
  CHECK(asked("  fit_probability: 0\n") == std::pair(0.05, 0.0));
  CHECK(asked("  headroom: 0\n") == std::pair(0.0, 0.0));
  CHECK(asked("  headroom: 0.1\n  fit_probability: 0.8\n") == std::pair(0.1, 0.8));
  for (const char* keys : {"", "  headroom: 0.1\n", "  fit_probability: 0.5\n"}) {
    const SearchScenario scenario = read(kSearch + "  top: 1\n" + keys);
    CHECK(read(scenario.resolved).resolved == scenario.resolved);
  }
}

TEST_CASE("where nothing is known of the error of needs, the headroom stands and a stated probability is noted") {
  SearchScenario search = read(kSearch + "  fit_probability: 0.8\n");
  Job found = search.job;
  found.strategy.data = 8;
  found.strategy.pipeline = 3;
  const ScenarioSources sources(data_folders());
  const auto notes = [&] {
    const std::vector<std::string> all = notes_on_keys(search, found, sources);
    return std::count_if(all.begin(), all.end(), [](const std::string& note) {
      return note.find("test.yaml:6:20: search.fit_probability: 0.8 changes nothing") != std::string::npos;
    });
  };
  CHECK(notes() == 0);
  search.job.ranges.memory = {};
  CHECK(notes() == 1);
  const Node root(search.document);
  const SearchSection section = read_search(Mapping(root).require("search"), search.job);
  CHECK(section.spec.fit_probability == 0);
  CHECK(section.spec.headroom == 0.05);
}

TEST_CASE("a simulation checks the section and is not changed by it") {
  const std::string text = std::string(kSmall) + "search: {space: {tensor: [1, 2]}, rules: [\"tensor == 2\"]}\n";
  CHECK(parse(text).resolved == parse(kSmall).resolved);
  CHECK_THROWS_WITH_AS(parse(std::string(kSmall) + "search: {tpo: 4}\n"), doctest::Contains("did you mean 'top'?"),
                       Error);
}

TEST_CASE("what is wrong is refused at its place") {
  struct Case {
    std::string keys;
    std::vector<std::string> said;
  };
  const std::vector<Case> cases = {
      {"  objectiv: time\n", {"test.yaml:6:3: search.objectiv: unknown key", "'objective'"}},
      {"  objective: tme\n", {"test.yaml:6:14: search.objective: ", "'time'"}},
      {"  top: 0\n", {"test.yaml:6:8: search.top: ", "from 1 to 1000"}},
      {"  nodes: upto\n", {"test.yaml:6:10: search.nodes: ", "'up-to'"}},
      {"  node_counts: [1]\n", {"test.yaml:6:16: search.node_counts: ", "set search.nodes: up-to"}},
      {"  nodes: up-to\n  node_counts: [0]\n", {"test.yaml:7:17: search.node_counts[0]: ", "from 1 to"}},
      {"  mixed: maybe\n", {"test.yaml:6:10: search.mixed: ", "true or false"}},
      {"  rules: tensor == 1\n", {"test.yaml:6:10: search.rules: ", "a list"}},
      {"  rules: [tenser == 1]\n", {"test.yaml:6:11: search.rules[0]: ", "unknown name 'tenser'"}},
      {"  deadline_days: 0\n", {"test.yaml:6:18: search.deadline_days: ", "more than 0"}},
      {"  power_cap_w: -1\n", {"test.yaml:6:16: search.power_cap_w: "}},
      {"  power_swing_w: 0\n", {"test.yaml:6:18: search.power_swing_w: ", "more than 0"}},
      {"  fit_probability: 1\n", {"test.yaml:6:20: search.fit_probability: ", "a number from 0 to 0.999"}},
      {"  fit_probability: often\n", {"test.yaml:6:20: search.fit_probability: "}},
      {"  fit_probability: -0.1\n", {"test.yaml:6:20: search.fit_probability: "}},
      {"  space: [1]\n", {"test.yaml:6:10: search.space: ", "mapping"}},
      {"  space: {tensr: [1]}\n", {"test.yaml:6:11: search.space.tensr: unknown key", "'tensor'"}},
      {"  space: {tensor: []}\n", {"test.yaml:6:19: search.space.tensor: ", "at least one value"}},
      {"  space: {tensor: [1, 2, 1]}\n", {"test.yaml:6:26: search.space.tensor[2]: ", "already in the list"}},
      {"  space: {tensor: [two]}\n", {"test.yaml:6:20: search.space.tensor[0]: ", "a whole number, found 'two'"}},
      {"  space: {pipeline: [4..2]}\n", {"search.space.pipeline[0]: ", "a range such as 1..8, found '4..2'"}},
      {"  space: {pipeline: [0..2]}\n", {"search.space.pipeline[0]: ", "a range from 1 to"}},
      {"  space: {zero: [4]}\n", {"search.space.zero[0]: ", "from 0 to 3"}},
      {"  space: {schedule: [1f2b]}\n", {"search.space.schedule[0]: ", "'1f1b'"}},
      {"  space: {recompute: [ful]}\n", {"search.space.recompute[0]: ", "'full'"}},
      {"  space: {recompute_layers: [some]}\n", {"search.space.recompute_layers[0]: ", "all or a whole number"}},
      {"  space: {expert_tensor: [2]}\n", {"search.space.expert_tensor[0]: ", "from 1 to 1"}},
      {"  space: {sequence_parallel: [1]}\n", {"search.space.sequence_parallel[0]: ", "true or false"}},
      {"  space: {stages: by_type}\n", {"search.space.stages: ", "'by-type'"}},
      {"  space: {stages: by-type}\nstrategy: {stages: [{nodes: 1, tensor: 4}, {nodes: 2, tensor: 8}]}\n",
       {"test.yaml:7:20: strategy.stages: ", "search.space.stages cannot stand together with",
        "leave one of the two out"}},
      {"  space: {uneven_layers: -1}\n", {"search.space.uneven_layers: ", "from 0 to"}},
      {"  space: {tensor: [1, 2]}\nstrategy: {tensor: 4}\n",
       {"test.yaml:7:20: strategy.tensor: ", "that is not in search.space.tensor, [1, 2]", "leave one of the two out"}},
      {"  top: 1\nstrategy: {layer_split: [24]}\n", {"strategy.layer_split: ", "uneven_layers"}},
      {"  top: 1\nstrategy: {replica_microbatches: [4, 4]}\n", {"strategy.replica_microbatches: ", "leave it out"}},
      {"  top: 1\nstrategy: {account_for_loss_in_pipeline_split: true}\n",
       {"strategy.account_for_loss_in_pipeline_split: ", "uneven_end_chunks"}},
      {"  top: 1\nstrategy: {expert_tensor: 4}\n", {"strategy.expert_tensor: ", "fix strategy.tensor too"}},
      {"  top: 1\nstrategy: {tensr: 4}\n", {"strategy.tensr: unknown key", "'tensor'"}},
  };
  for (const Case& wrong : cases) {
    CAPTURE(wrong.keys);
    const std::string found = failure_of(kSearch + wrong.keys);
    for (const std::string& part : wrong.said) CHECK_MESSAGE(found.find(part) != std::string::npos, found);
  }
  const std::string untold = failure_of(kSearch + "  budget_usd: 5\n", {"training.tokens=null"});
  CHECK_MESSAGE(untold.find("give training.tokens") != std::string::npos, untold);
  CHECK(failure_of(kSearch, {"search.top=x"}).find("--set search.top=x: search.top: ") != std::string::npos);
}

TEST_CASE("ranks that share GPUs are refused where they stand") {
  const std::string found = failure_of(kSearch, {"cluster.nodes[0].ranks_per_gpu=2"});
  CHECK_MESSAGE(found.find("cluster.nodes: a search gives every rank a GPU of its own") != std::string::npos, found);
}

TEST_CASE("ranks that are slower than others are refused where they stand") {
  const std::string found = failure_of(kSearch, {"cluster.perturbations={ranks: [{rank: 0, compute: 2}]}"});
  CHECK_MESSAGE(found.find("cluster.perturbations: a search decides where ranks lie") != std::string::npos, found);
}

TEST_CASE("a GPU that cannot compute in the precision is refused before any search") {
  CHECK_THROWS_WITH_AS(read(kJob, {"cluster.nodes[0].type=dgx-1-v100-32g"}),
                       doctest::Contains("cannot compute in bf16"), Error);
}

}  // namespace search_test
