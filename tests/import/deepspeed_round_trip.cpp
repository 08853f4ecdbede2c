#include "launch/launch_arguments.hpp"
#include "launch_files.hpp"
#include "round_trip.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <optional>
#include <random>

namespace deepspeed_round_trip_test {

using namespace mirfak;

namespace {

// A drawn strategy on four nodes: not every draw can run, or be run by DeepSpeed.
std::string drawn_job(std::mt19937& random) {
  const bool mixture = random() % 4 == 0;
  std::string out = fmt::format("model: {}\n", mixture ? "mixtral-8x7b" : "gpt3-13b");
  out += "cluster: {nodes: [{type: hgx-h100, count: 4}]}\n";
  out +=
      fmt::format("training: {{global_batch: 256, sequence_length: 2048, framework: {}, precision: {}}}\nstrategy:\n",
                  drawn(random, {"deepspeed", "megatron-deepspeed"}), drawn(random, {"bf16", "fp16", "fp32"}));
  const int tensor = drawn(random, {1, 1, 2, 4});
  const int pipeline = drawn(random, {1, 1, 2, 4});
  out += fmt::format("  tensor: {}\n  pipeline: {}\n  micro_batch: {}\n", tensor, pipeline, drawn(random, {1, 2, 4}));
  if (tensor > 1 && random() % 2 == 0) out += "  sequence_parallel: true\n";
  if (tensor == 1 && pipeline == 1 && random() % 3 == 0) out += "  context: 2\n  context_communication: a2a\n";
  if (mixture && random() % 2 == 0) out += fmt::format("  expert: {}\n", drawn(random, {2, 4, 8}));
  const int zero = drawn(random, {0, 1, 2, 3});
  out += fmt::format("  zero: {}\n", zero);
  if (zero == 1 && random() % 2 == 0) out += "  overlap_grad_reduce: true\n";
  if (zero == 3 && random() % 3 == 0) out += "  zero_group: 8\n";
  if (zero > 0 && random() % 4 == 0) {
    out += fmt::format("  offload_optimizer: {}\n", zero == 3 ? drawn(random, {"0.25", "1"}) : "1");
  }
  out += fmt::format("  recompute: {}\n", drawn(random, {"none", "full", "selective",
                                                         "full\n  recompute_method: uniform\n  recompute_layers: 2"}));
  return out;
}

std::optional<Scenario> drawn_scenario(std::mt19937& random) {
  try {
    return parse_scenario(Document::from_text(drawn_job(random), "drawn.yaml"), import_sources());
  } catch (const Error& error) {
    REQUIRE(error.kind() != ErrorKind::internal);
    return std::nullopt;
  }
}

std::optional<std::string> written(const Job& job) {
  try {
    return launch_arguments(job, LaunchTarget::deepspeed);
  } catch (const Error& error) {
    REQUIRE(error.kind() == ErrorKind::infeasible);
    return std::nullopt;
  }
}

ImportDraft read_back(const std::vector<ImportFile>& files) {
  ImportContext context{import_sources()};
  context.gpus = 32;
  return import_format("megatron-deepspeed").read(files, context);
}

}  // namespace

TEST_CASE("what is written for DeepSpeed is read back as the same strategy") {
  std::mt19937 random(20);
  int compared = 0;
  for (int i = 0; i < 4000 && compared < 200; ++i) {
    const std::optional<Scenario> before = drawn_scenario(random);
    if (!before) continue;
    const std::optional<std::string> text = written(before->job);
    if (!text) continue;
    CAPTURE(*text);
    CAPTURE(before->resolved);
    const ImportDraft draft = read_back({{"launch.txt", *text}});
    check_same_strategy(before->job, scenario_of(draft, "hgx-h100", 4).job);
    ++compared;
  }
  CHECK(compared == 200);
}

TEST_CASE("the JSON of Megatron-DeepSpeed's arguments may stand beside them, and is missed where it does not") {
  std::mt19937 random(21);
  std::optional<std::string> text;
  while (!text) {
    const std::optional<Scenario> scenario = drawn_scenario(random);
    if (scenario && scenario->job.strategy.zero == 3) text = written(scenario->job);
  }
  const std::size_t start = text->find("\n{") + 1;
  const ImportFile arguments{"arguments.txt", text->substr(0, start)};
  CHECK(formats_of(arguments) == std::vector<std::string>{"megatron-deepspeed"});
  const ImportDraft draft = read_back({arguments, {"ds_config.json", text->substr(start)}});
  CHECK(said(draft, "strategy.zero") == "3");
  const ImportDraft alone = read_back({arguments});
  CHECK(alone.obstacles().size() == 1);
}

}  // namespace deepspeed_round_trip_test
