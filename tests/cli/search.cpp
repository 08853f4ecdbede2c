// Output, files and refusals of a search. Small: 1.3 billion parameters on up to 16 GPUs, a few dimensions open.

#include "program.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>
#include <utility>

using namespace mirfak::test;
using nlohmann::json;

namespace {

constexpr const char* kJob = R"(model: gpt3-1.3b
cluster:
  nodes: [{type: dgx-a100-80g, count: 2}]
training: {global_batch: 64, tokens: 300e9}
search:
  top: 4
  space:
    context: [1]
    micro_batch: [1, 2]
    overlap_tensor: [false]
    uneven_layers: 0
)";

class Searches {
 public:
  explicit Searches(const std::string& text = kJob) { folder_.write("s.yaml", text); }
  Finished operator()(std::vector<std::string> options) const {
    options.insert(options.begin(), {"search", "s.yaml"});
    return run(Invocation{options, folder_.path()});
  }
  json result(std::vector<std::string> options = {}) const {
    options.insert(options.end(), {"--format", "json"});
    const Finished finished = (*this)(options);
    REQUIRE_MESSAGE(finished.status == 0, finished.err);
    return json::parse(finished.out);
  }
  const ScratchFolder& folder() const { return folder_; }

 private:
  ScratchFolder folder_;
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Checks that the text has these parts, each after the one before.
void check_in_order(const std::string& text, const std::vector<std::string>& parts) {
  std::size_t from = 0;
  for (const std::string& part : parts) {
    const std::size_t at = text.find(part, from);
    CHECK_MESSAGE(at != std::string::npos, "expected \"" << part << "\" in:\n" << text);
    if (at != std::string::npos) from = at + part.size();
  }
}

}  // namespace

TEST_CASE("a search for the time to finish names it, shows it, and may end on fewer nodes") {
  const auto asked = [](const char* rate) {
    return std::vector<std::string>{"--objective",
                                    "time-to-finish",
                                    "--set",
                                    "search.nodes=up-to",
                                    "--set",
                                    std::string("operations={failures: {rate_per_node_day: ") + rate +
                                        "}, restart_s: 600, checkpoint: {write_s: 10}}"};
  };
  const Searches searches;
  const json often = searches.result(asked("120"));
  CHECK(often.at("objective") == "time-to-finish");
  double before = 0;
  for (const json& strategy : often.at("strategies")) {
    CHECK(strategy.at("time_to_finish_s") >= before);
    CHECK(strategy.at("time_to_finish_s") > strategy.at("training_time_s"));
    before = strategy.at("time_to_finish_s");
  }
  CHECK(often.at("strategies")[0].at("gpus") == 8);
  CHECK(searches.result(asked("1")).at("strategies")[0].at("gpus") == 16);
  const Finished text = searches(asked("1"));
  check_in_order(text.out, {"wanted    the earliest expected end of the training", "finish  iteration",
                            "expected with failures, checkpoints and pauses"});
}

TEST_CASE("the JSON of a search has the keys that programs rely on") {
  const json result = Searches().result();
  for (const char* key :
       {"scenario", "model", "objective", "limits", "strategies", "funnel", "search_time_s", "wall_time_s",
        "least_shortage_bytes", "headroom", "headroom_that_fits", "tolerance", "least_possible", "notes"}) {
    CAPTURE(key);
    CHECK(result.contains(key));
  }
  CHECK(result.at("objective") == "time");
  CHECK(result.at("headroom") == 0.05);
  CHECK(result.at("limits").at("budget_usd").is_null());
  REQUIRE(result.at("strategies").size() == 4);
  double before = 0;
  for (const json& strategy : result.at("strategies")) {
    for (const char* key :
         {"strategy", "nodes", "variants", "iteration_time_s", "mfu", "fits", "energy_j", "stages", "gpus"}) {
      CAPTURE(key);
      CHECK(strategy.contains(key));
    }
    CHECK(strategy.at("strategy").at("tensor").is_number_integer());
    CHECK(strategy.at("strategy").at("sequence_parallel").is_boolean());
    CHECK(strategy.at("strategy").at("schedule").is_string());
    CHECK(strategy.at("nodes") == json::parse(R"([{"type": "dgx-a100-80g", "count": 2}])"));
    CHECK(strategy.at("memory_peak_bytes") <= 0.95 * strategy.at("memory_capacity_bytes").get<double>());
    CHECK(strategy.at("time_to_finish_s").is_null());
    CHECK(strategy.at("iteration_time_s") >= before);
    before = strategy.at("iteration_time_s");
  }
  std::vector<std::string> steps;
  for (const json& step : result.at("funnel")) {
    steps.push_back(step.at("name"));
    CHECK(step.at("count") >= 0);
    CHECK(step.at("time_s") >= 0);
  }
  REQUIRE(!steps.empty());
  CHECK(steps.front() == "enumerated");
  CHECK(steps.back() == "simulated");
}

TEST_CASE("the list has each layout once, and variants of it under it") {
  const Searches search;
  const auto layout_of = [](const json& strategy) {
    std::vector<int> out;
    for (const char* key : {"tensor", "context", "pipeline", "data", "expert"}) out.push_back(strategy.at(key));
    return out;
  };
  std::vector<std::vector<int>> layouts;
  std::size_t count = 0;
  const json result = search.result();
  const double last = result.at("strategies").back().at("iteration_time_s");
  for (const json& best : result.at("strategies")) {
    layouts.push_back(layout_of(best.at("strategy")));
    for (const json& variant : best.at("variants")) {
      CHECK(layout_of(variant.at("strategy")) == layouts.back());
      CHECK(variant.at("strategy") != best.at("strategy"));
      CHECK(variant.at("iteration_time_s") >= best.at("iteration_time_s"));
      CHECK(variant.at("iteration_time_s") <= last);
      CHECK(variant.at("energy_j") > 0);
      CHECK(variant.at("cost_usd_per_iteration") > 0);
      ++count;
    }
  }
  CHECK(count > 0);
  std::sort(layouts.begin(), layouts.end());
  CHECK(std::adjacent_find(layouts.begin(), layouts.end()) == layouts.end());
}

TEST_CASE("a search gives the same on any number of threads") {
  const Searches search;
  const auto strategies = [&](const char* jobs) {
    json found = search.result({"--jobs", jobs}).at("strategies");
    for (json& strategy : found) strategy.erase("wall_time_s");
    return found;
  };
  CHECK(strategies("1") == strategies("2"));
}

TEST_CASE("what is found is what a simulation of it says") {
  const Searches search;
  const json best = search.result({"--out", "best.yaml"}).at("strategies").front();
  CHECK(search.folder().names() == std::vector<std::string>{"best.yaml", "s.yaml"});
  const Finished finished = run(Invocation{{"simulate", "best.yaml", "--format", "json"}, search.folder().path()});
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  const json simulated = json::parse(finished.out);
  for (const char* key : {"iteration_time_s", "energy_j", "memory_peak_bytes", "cost_usd_per_iteration"}) {
    CAPTURE(key);
    CHECK(simulated.at(key) == best.at(key));
  }
}

// An H100 node and two V100 nodes, where stages by type are best.
TEST_CASE(
    "stages with a shape for each type of nodes are told, written, and not searched for programs that have none") {
  const Searches search(R"(model: llama2-7b
cluster:
  nodes: [{type: dgx-a100-80g, count: 1}, {type: jean-zay-v100-16g, count: 4}]
training: {global_batch: 256, precision: fp16}
strategy: {sequence_parallel: true, zero: 1}
search:
  top: 2
  space: {stages: by-type, context: [1], pipeline: [2, 3], virtual_pipeline: [1], micro_batch: [1, 2]}
)");
  const json result = search.result({"--out", "best.yaml"});
  const json& best = result.at("strategies").at(0);
  const json& stages = best.at("strategy").at("stages");
  REQUIRE(stages.size() == best.at("strategy").at("pipeline"));
  CHECK(stages.at(0).at("tensor") != stages.at(1).at("tensor"));
  const Finished simulated = run(Invocation{{"simulate", "best.yaml", "--format", "json"}, search.folder().path()});
  REQUIRE_MESSAGE(simulated.status == 0, simulated.err);
  CHECK(json::parse(simulated.out).at("iteration_time_s") == best.at("iteration_time_s"));

  const Finished text = search({});
  CHECK(contains(text.out, "1+1"));
  const json alike = search.result({"--set", "search.space.stages=alike"}).at("strategies").at(0);
  CHECK(alike.at("iteration_time_s") > best.at("iteration_time_s"));
  CHECK(!alike.at("strategy").contains("stages"));

  const Finished emitted = search({"--emit", "megatron"});
  REQUIRE_MESSAGE(emitted.status == 0, emitted.err);
  CHECK(
      contains(emitted.out, "search.space.stages is alike: these programs have no pipeline stages of their own shape"));
  const Finished refused = run(Invocation{{"search", "best.yaml", "--emit", "megatron"}, search.folder().path()});
  CHECK(refused.status == 3);
  CHECK(refused.out.empty());
  CHECK(contains(refused.err, "these programs have no pipeline stages of their own shape"));

  // The found stages are fixed and the rest is searched again: with the same result.
  const Finished again =
      run(Invocation{{"search", "best.yaml", "--set", "strategy.zero=1", "--format", "json"}, search.folder().path()});
  REQUIRE_MESSAGE(again.status == 0, again.err);
  CHECK(json::parse(again.out).at("strategies").at(0).at("iteration_time_s") == best.at("iteration_time_s"));
}

// A strategy of the same job that uses every GPU, and more than its best does.
const std::string kStated = "strategy: {tensor: 4, pipeline: 2, micro_batch: 2, recompute: full, zero: 1}\n";

TEST_CASE("what a scenario states is simulated and compared where its keys are freed") {
  const Searches search(std::string(kJob) + kStated);
  const Finished simulated = run(Invocation{{"simulate", "s.yaml", "--format", "json"}, search.folder().path()});
  REQUIRE_MESSAGE(simulated.status == 0, simulated.err);
  const json yours = json::parse(simulated.out);
  CHECK(search.result().at("baseline").is_null());
  const json all = search.result({"--free", "all"});
  CHECK(all.at("baseline").at("refused").is_null());
  for (const char* key : {"iteration_time_s", "energy_j", "memory_peak_bytes"}) {
    CHECK(all.at("baseline").at(key) == yours.at(key));
  }
  CHECK(all.at("strategies").at(0).at("iteration_time_s") < yours.at("iteration_time_s"));
  // Everything is free: the result is that of a scenario without a strategy.
  CHECK(all.at("strategies").at(0).at("strategy") == Searches().result().at("strategies").at(0).at("strategy"));
  const json sizes = search.result({"--free", "tensor,pipeline"});
  CHECK(sizes.at("strategies").at(0).at("strategy").at("recompute") == "full");
  CHECK(sizes.at("strategies").at(0).at("iteration_time_s") <= yours.at("iteration_time_s"));
  const json kept = search.result({"--keep", "tensor,recompute"});
  CHECK(kept.at("strategies").at(0).at("strategy").at("tensor") == 4);
  CHECK(kept.at("strategies").at(0).at("strategy").at("recompute") == "full");
  CHECK(kept.at("baseline").at("iteration_time_s") == yours.at("iteration_time_s"));
  const std::string text = search({"--free", "all"}).out;
  check_in_order(text, {"yours ", "; best ", "The best against yours: ", "faster", "it has "});
}

TEST_CASE("a baseline that cannot run is told, and a key that no search chooses is refused") {
  const Searches search(std::string(kJob) + "strategy: {tensor: 3}\n");
  const json result = search.result({"--free", "all"});
  CHECK(contains(result.at("baseline").at("refused"), "strategy.tensor"));
  CHECK(contains(search({"--free", "all"}).out, "yours     cannot run: strategy.tensor"));
  const Finished refused = search({"--free", "context_communication"});
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "--set search.free=[context_communication]"));
}

TEST_CASE("a robust search draws stragglers, names the least p90 beside the fastest, and writes that strategy") {
  const std::string slow = "cluster.perturbations={nodes: {compute: {two_point: {share: 0.1, value: 2}}}}";
  const Searches search;
  const Finished refused = search({"--set", slow});
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "set search.robust: true"));
  const Finished of_cost = search({"--robust", "--objective", "cost"});
  CHECK(of_cost.status == 2);
  CHECK(contains(of_cost.err, "search.robust"));
  CHECK(search.result().at("robust").is_null());
  const json result = search.result({"--robust", "--set", slow, "--out", "robust.yaml"});
  const json& robust = result.at("robust");
  CHECK(robust.at("fastest").at("iteration_time_s") == result.at("strategies").at(0).at("iteration_time_s"));
  CHECK(robust.at("robust").at("p90_s") <= robust.at("fastest").at("p90_s"));
  CHECK(robust.at("fastest").at("p90_s") > robust.at("fastest").at("iteration_time_s"));
  CHECK(robust.at("fastest").at("causes_add_s").at("node") > 0);
  const Finished simulated = run(Invocation{{"simulate", "robust.yaml", "--format", "json"}, search.folder().path()});
  REQUIRE_MESSAGE(simulated.status == 0, simulated.err);
  CHECK(json::parse(simulated.out).at("iteration_time_s") == robust.at("robust").at("iteration_time_s"));
  check_in_order(search({"--robust", "--set", slow}).out, {"The least p90 of ", "p90", "fastest "});
}

TEST_CASE("a launch script is the baseline of its search") {
  const std::string script = "scenarios/launch/pretrain_llama3_8b.sh";
  const std::vector<std::string> quick = {"--set", "search.space.recompute_layers=[all]", "--format", "json"};
  const auto with_quick = [&](std::vector<std::string> words) {
    words.insert(words.end(), quick.begin(), quick.end());
    const Finished finished = run(words);
    REQUIRE_MESSAGE(finished.status == 0, finished.err);
    return json::parse(finished.out);
  };
  const json yours = json::parse(run({"simulate", script, "--format", "json"}).out);
  const json found = with_quick({"search", script});
  CHECK(found.at("baseline").at("iteration_time_s") == yours.at("iteration_time_s"));
  CHECK(found.at("strategies").at(0).at("iteration_time_s") <= yours.at("iteration_time_s"));
  CHECK(found.at("strategies").size() > 1);
  const json kept = with_quick({"search", script, "--keep", "tensor,micro_batch"});
  CHECK(kept.at("strategies").at(0).at("strategy").at("tensor") == 2);
  CHECK(kept.at("strategies").at(0).at("strategy").at("micro_batch") == 1);
}

TEST_CASE("a model that is named by a path is found from where the best is written") {
  const ScratchFolder folder;
  folder.write("config.json", R"({"model_type": "llama", "hidden_size": 2048, "intermediate_size": 5504,
    "num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 32000,
    "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "tie_word_embeddings": false, "hidden_act": "silu"})");
  std::string text = kJob;
  text.replace(text.find("gpt3-1.3b"), 9, "./config.json");
  folder.write("s.yaml", text);
  std::filesystem::create_directory(folder.path() / "below");
  const auto here = [&](std::vector<std::string> arguments) {
    return run(Invocation{std::move(arguments), folder.path()});
  };
  for (const std::string best : {"below/best.yaml", "best.yaml"}) {
    REQUIRE(here({"search", "s.yaml", "--out", best}).status == 0);
    const Finished finished = here({"simulate", best});
    CHECK_MESSAGE(finished.status == 0, finished.err);
  }
}

TEST_CASE("the text says what was searched, the best, and where the others were lost") {
  const Finished finished = Searches()({});
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  CHECK(finished.err.empty());
  check_in_order(finished.out,
                 {"scenario  s.yaml\n", "model     gpt3-1.3b", "cluster   2 x dgx-a100-80g", "batch     64",
                  "wanted    least time", "memory    5.0 % of every memory stays free", "searched  ",
                  "All of them: 16 a100-80g", "iteration", "MFU", "\n1  ", "\n4  ",
                  "Variants: the next best of a layout", " instead of ", "Training on 300 G tokens",
                  "The best against the runner-up: ", "Where the strategies were lost", "enumerated", "simulated"});
  std::istringstream lines(finished.out);
  for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 110, line);
}

TEST_CASE("a stated key that changes nothing in the best strategy is noted with its place, in text and JSON") {
  const Searches of;
  const std::vector<std::string> set = {"--set", "training.fp8_parameters=true"};
  const std::string note = "--set " + set[1] + ": training.fp8_parameters: true changes nothing in this job";
  CHECK(of.result(set).at("notes").back() == note);  // behind what its program refuses
  CHECK(contains(of(set).out, "\nNotes\n"));
  CHECK(contains(of(set).out, "  " + note + "\n"));
  CHECK(of.result().at("notes").empty());
}

TEST_CASE("the best is compared with the best of another layout where one is among the results") {
  const Finished finished = Searches()({"--top", "200", "--set", "search.space.micro_batch=[1]", "--set",
                                        "search.space.pipeline=[1, 2]", "--set", "search.space.recompute=none"});
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  check_in_order(finished.out, {"The best against the best of another layout: ", " faster\n", "it has ", " instead of ",
                                "the time: ", "best", "other", "difference", "iteration", "energy"});
}

TEST_CASE("a Pareto set names its ends") {
  const Searches search;
  const std::vector<std::string> pareto = {"--objective", "pareto", "--set", "search.nodes=up-to"};
  const json result = search.result(pareto);
  const json& set = result.at("strategies");
  REQUIRE(set.size() >= 2);
  for (std::size_t i = 1; i < set.size(); ++i) {
    CHECK(set[i].at("iteration_time_s") >= set[i - 1].at("iteration_time_s"));
    CHECK((set[i].at("cost_usd_per_iteration") < set[i - 1].at("cost_usd_per_iteration") ||
           set[i].at("energy_j") < set[i - 1].at("energy_j")));
  }
  const Finished finished = search(pareto);
  REQUIRE(finished.status == 0);
  check_in_order(finished.out,
                 {"wanted    the Pareto set", "of the whole training", "time", "cost", "energy", "fastest"});
  for (const char* part : {"cheapest", "least energy", "knee: "}) CHECK_MESSAGE(contains(finished.out, part), part);
}

TEST_CASE("limits on the command line are those of the section") {
  const Searches search;
  const Finished shown = search({"--show-space", "--deadline", "30", "--budget", "1e6", "--power-cap", "5e4",
                                 "--objective", "cost", "--top", "7"});
  REQUIRE(shown.status == 0);
  for (const char* part :
       {"\n  headroom: 0.05\n", "\n  deadline_days: 30\n", "\n  budget_usd: 1000000\n", "\n  power_cap_w: 50000\n",
        "\n  objective: cost\n", "\n  top: 7\n", "\n    context: [1]\n"}) {
    CHECK_MESSAGE(contains(shown.out, part), part << " in:\n" << shown.out);
  }
  const Searches again(shown.out);
  CHECK(again({"--show-space"}).out == shown.out);
}

TEST_CASE("limits of the power over time leave out strategies above them, and only these") {
  const Searches search;
  const auto swing = [](const json& strategy) { return strategy.at("power_swing_w").get<double>(); };
  const auto searched = [&](const std::string& limit) {
    const std::string space =
        "search.space={context: [1], overlap_tensor: [false], uneven_layers: 0, recompute: [full], zero: [1], "
        "micro_batch: [1], schedule: [1f1b], overlap_grad_reduce: [true]}";
    std::vector<std::string> words = {"--top", "50", "--format", "json", "--set", space};
    if (!limit.empty()) words.insert(words.end(), {"--set", limit});
    return search(words);
  };
  const json all = json::parse(searched("").out).at("strategies");
  REQUIRE(all.size() > 1);
  const double most = swing(all.front()) * (1 - 1e-9);
  const json result = json::parse(searched(fmt::format("search.power_swing_w={}", most)).out);
  const json& kept = result.at("strategies");
  CHECK(result.at("limits").at("power_swing_w") == most);
  const auto keeping = std::count_if(all.begin(), all.end(), [&](const json& of) { return swing(of) <= most; });
  CHECK(keeping < static_cast<std::ptrdiff_t>(all.size()));
  CHECK(static_cast<std::ptrdiff_t>(kept.size()) >= keeping);
  for (const json& strategy : kept) CHECK(swing(strategy) <= most);
  const Finished none = searched("search.power_peak_w=100");
  CHECK(none.status == 3);
  CHECK_MESSAGE(contains(none.err, "no strategy keeps the limits"), none.err);
  CHECK(contains(none.err, "another limit of power"));
}

TEST_CASE("a search that finds nothing says why, and what to change") {
  const Searches search;
  const Finished memory = search({"--set", "model=gpt3-175b", "--set", "cluster.nodes[0].count=1"});
  CHECK(memory.status == 3);
  CHECK(contains(memory.err, "fits in memory"));
  CHECK(contains(memory.err, " GPUs would do ("));
  CHECK(contains(memory.out, "Where the strategies were lost"));

  CHECK(!contains(memory.err, "it fits with search.headroom"));
  CHECK(contains(memory.err, "the nearest lacks "));

  const Finished deadline = search({"--deadline", "0.01", "--format", "json"});
  CHECK(deadline.status == 3);
  CHECK(contains(deadline.err, "no strategy keeps the limits; fastest possible "));
  CHECK(contains(deadline.err, "; cheapest $"));
  CHECK(json::parse(deadline.out).at("strategies").empty());

  const Finished layout = search({"--set", "strategy.tensor=5"});
  CHECK(layout.status == 3);
  CHECK(contains(layout.err, "no strategy of the space divides 16 GPUs"));

  const Finished rules = search({"--set", "search.space.micro_batch=[128]"});
  CHECK(rules.status == 3);
  CHECK(contains(rules.err, "keeps the rules"));
}

TEST_CASE("a job that fits only without the headroom is told with which one it fits") {
  const Searches search;
  const std::vector<std::string> one_layout = {"--set", "strategy.tensor=8",
                                               "--set", "strategy.pipeline=2",
                                               "--set", "search.space.micro_batch=[16]",
                                               "--set", "strategy.recompute=none",
                                               "--set", "strategy.sequence_parallel=true"};
  const auto with = [&](const std::string& headroom) {
    std::vector<std::string> options = one_layout;
    options.insert(options.end(), {"--set", "search.headroom=" + headroom});
    return search(options);
  };
  const Finished refused = with("0.99");
  REQUIRE(refused.status == 3);
  CHECK_MESSAGE(contains(refused.err, "where 99.0 % of every memory stays free; the nearest lacks "), refused.err);
  const std::string before = "it fits with search.headroom: ";
  REQUIRE_MESSAGE(contains(refused.err, before), refused.err);
  const double fits = std::stod(refused.err.substr(refused.err.find(before) + before.size()));
  CHECK(fits > 0);
  CHECK(with(std::to_string(fits)).status == 0);
  CHECK(with(std::to_string(fits + 0.001)).status == 3);
}

TEST_CASE("launch arguments of the best, and nothing else") {
  constexpr const char* job = R"(model: llama3-8b
cluster:
  nodes: [{type: hgx-h100, count: 1}]
training: {global_batch: 64, sequence_length: 4096}
search:
  top: 1
  space: {context: [1], uneven_layers: 0, overlap_tensor: [false], recompute_layers: [all]}
)";
  struct Target {
    std::string name;
    std::string framework;
    std::string fixed;
    std::string gradients;  // what the program reduces them in
    std::string part;
  };
  const std::vector<Target> targets = {
      {"megatron", "megatron-core", "strategy.micro_batch=1", "fp32", "--tensor-model-parallel-size"},
      {"megatron-yaml", "megatron-core", "strategy.micro_batch=1", "fp32", "  tensor_model_parallel_size: "},
      {"torchtitan", "torchtitan", "strategy.zero=3", "fp32", "--parallelism.tensor_parallel_degree"},
      {"torchtitan-toml", "torchtitan", "strategy.zero=3", "fp32", "tensor_parallel_degree = "},
      {"deepspeed", "megatron-deepspeed", "strategy.overlap_param_gather=false", "bf16", "ds_config.json"},
  };
  const Searches search(job);
  for (const Target& target : targets) {
    CAPTURE(target.name);
    const Finished finished = search({"--emit", target.name, "--set", "training.framework=" + target.framework, "--set",
                                      target.fixed, "--set", "training.gradient_precision=" + target.gradients});
    REQUIRE_MESSAGE(finished.status == 0, finished.err);
    CHECK_MESSAGE(contains(finished.out, target.part), finished.out);
    CHECK(finished.out.starts_with("# "));
    CHECK(!contains(finished.out, "Where the strategies were lost"));
  }
  const Finished refused = search({"--emit", "torchtitan", "--set", "training.framework=torchtitan", "--set",
                                   "strategy.zero=1", "--out", "best.yaml"});
  CHECK(refused.status == 3);
  CHECK(refused.out.empty());
  CHECK(contains(refused.err, "strategy.zero: "));
  CHECK(contains(refused.err, "has no ZeRO 1"));
  CHECK(search.folder().names() == std::vector<std::string>{"s.yaml"});
}

TEST_CASE("what a search does not take is refused before it starts") {
  const Searches search;
  struct Case {
    std::vector<std::string> options;
    std::string said;
  };
  const std::vector<Case> cases = {
      {{"--emit", "megatorn"}, "did you mean 'megatron'?"},
      {{"--emit", "megatron", "--format", "json"}, "--emit prints text, not JSON"},
      {{"--launcher", "slurm"}, "--launcher needs --emit"},
      {{"--emit", "megatron", "--launcher", "slrum"}, "did you mean 'slurm'?"},
      {{"--jobs", "-1"}, "--jobs: expected 0 or more"},
      {{"--objective", "tme"}, "--set search.objective=tme: search.objective: "},
      {{"--top", "0"}, "search.top: "},
      {{"--power-cap", "0"}, "search.power_cap_w: expected more than 0"},
      {{"--tolerance", "2"}, "search.tolerance: expected a number from 0 to 1"},
      {{"--set", "search.headroom=1"}, "search.headroom: expected less than 1"},
      {{"--set", "search.headroom=-0.1"}, "search.headroom: expected a number from 0 to 1"},
      {{"--time-limit", "-1"}, "--time-limit: expected 0"},
      {{"--objective", "cost", "--set", "cluster.nodes[0].type=titan-rtx-8", "--set", "training.precision=fp16"},
       "search.objective: nobody is known to offer"},
      {{"--budget", "1e6", "--set", "cluster.nodes[0].type=titan-rtx-8", "--set", "training.precision=fp16"},
       "search.budget_usd: nobody is known to offer"},
      {{"--budget", "some"}, "search.budget_usd: expected a number"},
      {{"--set", "search.space.tensr=[1]"}, "did you mean 'tensor'?"},
      {{"--set", "strategy.layer_split=[24]"}, "uneven_layers"},
  };
  for (const Case& wrong : cases) {
    CAPTURE(wrong.said);
    const Finished finished = search(wrong.options);
    CHECK(finished.status == 2);
    CHECK(finished.out.empty());
    CHECK_MESSAGE(contains(finished.err, wrong.said), finished.err);
  }
  CHECK(search.folder().names() == std::vector<std::string>{"s.yaml"});
}

namespace {

// Small enough for all of Alpa's planner in a moment; stages of unlike shape pay.
constexpr const char* kAlpaJob =
    R"(model: {name: small, layers: 6, hidden: 1024, heads: 16, vocab: 32000, max_sequence: 1024}
cluster:
  nodes: [{type: aws-p3, count: 1, gpus: 4}]
training: {global_batch: 32, precision: fp16, framework: jax-alpa}
strategy: {recompute: full, schedule: 1f1b, virtual_pipeline: 1, sequence_parallel: false}
search: {headroom: 0, top: 2}
)";

}  // namespace

TEST_CASE("--planner alpa prints its stages, its work and the search's best beside it, and writes what simulate runs") {
  const Searches search(kAlpaJob);
  const Finished text = search({"--planner", "alpa", "--out", "best.yaml"});
  REQUIRE_MESSAGE(text.status == 0, text.err);
  check_in_order(text.out, {"planner   Alpa, intra- and inter-operator parallelism", "integer programs, ",
                            "Alpa's plan: an iteration takes ", "by the planner's count", "Stages", "in flight",
                            "By the engine", "search", "The planner's work", "integer programs", "partitions"});
  const json result = search.result({"--planner", "alpa"});
  const json& plan = result.at("plan");
  const json& best = result.at("strategies").at(0);
  CHECK(result.at("planner") == "alpa");
  CHECK(result.at("levels") == "both");
  CHECK(plan.at("iteration_time_s") == best.at("iteration_time_s"));
  CHECK(result.at("planning").at("integer_programs") > 0);
  CHECK(result.at("planning").at("executed") > 0);
  CHECK(plan.at("any_sharding").at("any_s") <= plan.at("any_sharding").at("expressible_s"));
  int layers = 0;
  for (const json& stage : plan.at("stages")) {
    CHECK(stage.at("first_layer") == layers);
    layers += stage.at("layers").get<int>();
    CHECK(stage.at("mesh").at(0) == stage.at("data"));
    CHECK(stage.at("mesh").at(1) == stage.at("tensor"));
    CHECK(stage.at("memory_bytes") > 0);
  }
  CHECK(layers == 6);
  CHECK(best.at("iteration_time_s") <= 1.1 * result.at("search").at("iteration_time_s").get<double>());
  const Finished simulated = run(Invocation{{"simulate", "best.yaml", "--format", "json"}, search.folder().path()});
  REQUIRE_MESSAGE(simulated.status == 0, simulated.err);
  CHECK(json::parse(simulated.out).at("iteration_time_s") == best.at("iteration_time_s"));
}

TEST_CASE("--intra-only has one stage, --inter-only a GPU for each, and neither beats both") {
  const Searches search(kAlpaJob);
  const auto time = [](const json& result) {
    return result.at("strategies").at(0).at("iteration_time_s").get<double>();
  };
  const json both = search.result({"--planner", "alpa"});
  const json intra = search.result({"--planner", "alpa", "--intra-only"});
  const json inter = search.result({"--planner", "alpa", "--inter-only", "--jobs", "1"});
  CHECK(intra.at("strategies").at(0).at("strategy").at("pipeline") == 1);
  CHECK(inter.at("strategies").at(0).at("strategy").at("pipeline") == 4);
  CHECK(intra.at("levels") == "intra-only");
  CHECK(inter.at("levels") == "inter-only");
  CHECK(time(both) <= time(intra));
  CHECK(time(both) <= time(inter));
}

TEST_CASE("options of Alpa's planner that have no effect, or that it cannot keep, are refused") {
  const Searches search(kAlpaJob);
  const auto refused = [&](std::vector<std::string> options, const std::string& reason, int status) {
    const Finished finished = search(std::move(options));
    CHECK(finished.status == status);
    CHECK_MESSAGE(contains(finished.err, reason), finished.err);
    CHECK(finished.out.empty());
  };
  refused({"--intra-only"}, "--intra-only is for Alpa's planner", 2);
  refused({"--inter-only", "--planner", "search"}, "--inter-only is for Alpa's planner", 2);
  refused({"--planner", "alpa", "--intra-only", "--inter-only"}, "leave nothing to plan", 2);
  refused({"--planner", "alps"}, "--planner", 2);
  refused({"--planner", "alpa", "--objective", "energy"}, "Alpa's planner minimises time alone", 2);
  refused({"--planner", "alpa", "--power-cap", "1000"}, "Alpa's planner knows no limits", 2);
  refused({"--planner", "alpa", "--tolerance", "0.1"}, "a tolerance is for the exact search", 2);
  refused({"--planner", "alpa", "--set", "search.nodes=up-to"}, "Alpa's planner uses all nodes", 2);
  refused({"--planner", "alpa", "--set", "strategy.schedule=gpipe"}, "1f1b in search.space.schedule", 3);
  refused({"--planner", "alpa", "--set", "cluster.nodes=[{type: aws-p3, count: 1}, {type: dgx-a100-80g, count: 1}]"},
          "nodes of one type", 3);
}

TEST_CASE("a plan that finds nothing says why, and a time limit ends it") {
  const Searches search(kAlpaJob);
  const Finished none = search({"--planner", "alpa", "--inter-only", "--set", "cluster.nodes[0].gpus=8"});
  CHECK(none.status == 3);
  CHECK(contains(none.err, "a GPU for each stage, which has whole layers"));
  CHECK(contains(none.err, "leave --inter-only out"));
  const Finished hurried = search({"--planner", "alpa", "--time-limit", "1e-6"});
  CHECK(hurried.status == 3);
  CHECK(contains(hurried.err, "stopped before a plan was found"));
}
