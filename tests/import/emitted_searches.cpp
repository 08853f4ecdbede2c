// The law of `mirfak search --emit`: a search for a target is refused before it begins, or each strategy that it finds
// is written for the target, read back as the same strategy, and simulates to the figure that was promised. Where the
// program's options do not say everything that the figure depends on (another framework's habits, a vocabulary, the
// precision of gradients), comments in the files say so.

#include "base/error.hpp"
#include "emitted.hpp"
#include "import/imported_job.hpp"
#include "import/read_back.hpp"
#include "launch/runnable_search.hpp"
#include "plan/search.hpp"
#include "round_trip.hpp"
#include "scenario/search_scenario.hpp"
#include "simulation/iteration.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>

using namespace mirfak;

namespace {

struct Program {
  LaunchTarget target;
  std::vector<std::string> frameworks;  // as which the program is read back
  std::vector<std::string> others;
  std::vector<std::string> models;
};

const std::vector<Program>& programs() {
  static const std::vector<Program> all = {
      {LaunchTarget::megatron, {"megatron-core", "megatron-fsdp"}, {"megatron-lm-2021"}, {"gpt3-13b", "mixtral-8x7b"}},
      {LaunchTarget::megatron_yaml, {"megatron-core"}, {"megatron-lm-2022"}, {"gpt3-13b", "mixtral-8x7b"}},
      {LaunchTarget::megatron_bridge, {"megatron-core"}, {"megatron-fsdp"}, {"llama3-8b", "qwen3-30b-a3b"}},
      {LaunchTarget::torchtitan, {"torchtitan"}, {"megatron-core"}, {"llama3-8b", "deepseek-v2-lite"}},
      {LaunchTarget::torchtitan_toml, {"torchtitan"}, {"pytorch-fsdp"}, {"llama3-8b", "deepseek-v2-lite"}},
      {LaunchTarget::deepspeed, {"megatron-deepspeed"}, {"deepspeed", "megatron-core"}, {"gpt3-13b"}},
      {LaunchTarget::accelerate, {"huggingface-fsdp"}, {"pytorch-fsdp"}, {"llama3-8b", "gpt2-1.5b"}},
      {LaunchTarget::llama_factory, {"huggingface-fsdp"}, {"pytorch-fsdp"}, {"llama3-8b", "gpt2-1.5b"}},
      {LaunchTarget::axolotl, {"huggingface-fsdp"}, {"pytorch-fsdp"}, {"llama3-8b", "gpt2-1.5b"}},
  };
  return all;
}

struct DrawnSearch {
  const Program& program;
  bool own_framework = false;
  std::string text;
};

template <typename T>
const T& one_of(std::mt19937& random, const std::vector<T>& all) {
  return all[random() % all.size()];
}

// A search of some hundred strategies; keys of `strategy` that it states may be beyond the program.
DrawnSearch drawn_search(std::mt19937& random) {
  const Program& program = one_of(random, programs());
  DrawnSearch out{program, random() % 4 != 0, {}};
  out.text = fmt::format("model: {}\ncluster: {{nodes: [{{type: hgx-h100, count: {}}}]}}\n",
                         one_of(random, program.models), drawn(random, {1, 2, 4}));
  out.text += fmt::format("training: {{global_batch: 64, sequence_length: 2048, precision: {}, framework: {}}}\n",
                          drawn(random, {"bf16", "bf16", "bf16", "fp16", "fp8-current"}),
                          one_of(random, out.own_framework ? program.frameworks : program.others));
  out.text += fmt::format("search:\n  top: 2\n  fit_probability: 0\n  space:\n    tensor: {}\n    pipeline: {}\n",
                          drawn(random, {"[1]", "[1, 2]", "[2, 4]", "[1, 8]"}),
                          drawn(random, {"[1]", "[1, 2]", "[2, 4]", "[1, 4]"}));
  out.text += fmt::format("    context: {}\n    micro_batch: {}\n    virtual_pipeline: {}\n",
                          drawn(random, {"[1]", "[1]", "[1, 2]"}), drawn(random, {"[1]", "[2]", "[1, 4]"}),
                          drawn(random, {"[1]", "[1, 2]", "[1, 4]"}));
  out.text += fmt::format("    uneven_layers: {}\n    uneven_end_chunks: 0\n", random() % 2);
  out.text += fmt::format("    recompute_layers: {}\n", drawn(random, {"[all]", "[all, 1, 2]"}));
  if (random() % 3 == 0) out.text += "    zero: [0, 1, 2, 3]\n";
  out.text += "strategy:\n";
  if (random() % 2 == 0) out.text += fmt::format("  recompute: {}\n", drawn(random, {"none", "full", "selective"}));
  if (random() % 4 == 0) out.text += fmt::format("  overlap_tensor: {}\n", random() % 2 == 0);
  if (random() % 4 == 0) out.text += fmt::format("  overlap_param_gather: {}\n", random() % 2 == 0);
  if (random() % 4 == 0) out.text += "  context_communication: a2a\n";
  out.text += "  expert_dispatcher: alltoall\n";
  return out;
}

// Numbers of drawn searches, by their end.
struct Tally {
  int refused = 0;    // before the search
  int empty = 0;      // nothing fits, or keeps the rules
  int answered = 0;   // with a strategy
  int promised = 0;   // strategies that simulate to the promised figure
  int left_open = 0;  // strategies whose files say what else their figure depends on
};

// True if comments of written files say what their options leave open of the scenario, with another iteration time.
bool leaves_open(const std::vector<LaunchFile>& files) {
  return files.front().text.find("# What these options do not say of the scenario") != std::string::npos;
}

void check_written(const DrawnSearch& drawn, const FoundStrategy& found, int nodes, Tally& tally) {
  const LaunchRequest request{drawn.program.target, Launcher::none,
                              std::filesystem::path(source_root()) / "hw_profiles"};
  const std::vector<LaunchFile> files = noted_launch_files(found.job, request, import_sources());
  CAPTURE(launch_text(files));
  const Job after = read_back_job(files, fmt::format("hgx-h100:{}", nodes));
  Job expected = found.job;
  compare_schedules(expected, after);
  check_same_strategy(expected, after);
  if (leaves_open(files)) {
    ++tally.left_open;
    return;
  }
  CHECK(simulate(after).result.iteration_time_s == doctest::Approx(found.iteration_time_s).epsilon(1e-9));
  ++tally.promised;
}

void run(const DrawnSearch& drawn, Tally& tally) {
  CAPTURE(drawn.text);
  const std::filesystem::path root = source_root();
  const Document document = Document::from_text(drawn.text, "drawn.yaml");
  std::optional<SearchScenario> scenario;
  std::optional<SearchResult> result;
  try {
    scenario = parse_search(document, {root / "models", root / "hw_profiles"});
    keep_to_framework(*scenario, root / "hw_profiles");
    keep_to_target(*scenario, {drawn.program.target, Launcher::none, root / "hw_profiles"});
  } catch (const Error& error) {
    CAPTURE(error.message());
    CHECK(error.kind() == ErrorKind::infeasible);
    CHECK(error.where().line > 0);
    ++tally.refused;
    return;
  }
  result = search(scenario->job, scenario->search.spec, 1);
  ++(result->strategies.empty() ? tally.empty : tally.answered);
  for (const FoundStrategy& found : result->strategies) {
    check_written(drawn, found, scenario->job.cluster.nodes(), tally);
  }
}

}  // namespace

TEST_CASE("What a search for a target finds is written, read back and simulated to the promised figure") {
  constexpr int kSearches = 300;
  std::mt19937 random(39);
  Tally tally;
  for (int i = 0; i < kSearches; ++i) run(drawn_search(random), tally);
  CAPTURE(tally.refused);
  CAPTURE(tally.empty);
  CAPTURE(tally.promised);
  CAPTURE(tally.left_open);
  CHECK(tally.answered > kSearches / 3);
  CHECK(tally.promised > tally.left_open);
  CHECK(tally.promised > kSearches / 4);
  CHECK(tally.refused > 10);
}
