#include "launch/launch_arguments.hpp"
#include "launch_files.hpp"
#include "round_trip.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>

using namespace mirfak;

namespace {

ImportDraft titan(const ImportFile& file, std::optional<std::int64_t> gpus = {}) {
  ImportContext context{import_sources()};
  context.gpus = gpus;
  return import_format("torchtitan-toml").read(std::span(&file, 1), context);
}

ImportDraft titan(const std::string& text, std::optional<std::int64_t> gpus = {}) {
  return titan(ImportFile{"job.toml", text}, gpus);
}

// What was not understood, by the option.
std::vector<std::string> unknown_in(const ImportDraft& draft) {
  std::vector<std::string> out;
  for (const ImportLine& line : draft.lines()) {
    if (line.verdict == Verdict::unknown) out.push_back(line.text + ": " + line.reason);
  }
  return out;
}

// A drawn strategy of a model that torchtitan has, on four nodes: not every draw can run, or be run by torchtitan.
std::string drawn_job(std::mt19937& random) {
  const bool mixture = random() % 3 == 0;
  std::string out = fmt::format("model: {}\n", mixture ? "deepseek-v2-lite" : "llama3-8b");
  out += "cluster: {nodes: [{type: hgx-h100, count: 4}]}\n";
  out += fmt::format("training: {{global_batch: 64, sequence_length: 4096, framework: {}, precision: {}}}\nstrategy:\n",
                     drawn(random, {"torchtitan", "torchtitan", "pytorch-fsdp"}),
                     drawn(random, {"bf16", "bf16", "fp8-current, fp8_parameters: true", "fp8-current", "fp32"}));
  const int tensor = drawn(random, {1, 1, 2, 4});
  out += fmt::format("  tensor: {}\n", tensor);
  if (tensor > 1) out += fmt::format("  sequence_parallel: true\n  overlap_tensor: {}\n", random() % 2 == 0);
  const int pipeline = drawn(random, {1, 1, 2, 4});
  out += fmt::format("  pipeline: {}\n  micro_batch: {}\n", pipeline, drawn(random, {1, 2, 4}));
  if (pipeline > 1) {
    const std::string schedule = drawn(random, {"1f1b", "gpipe", "interleaved-1f1b", "zb-v", "dualpipe-v"});
    out += fmt::format("  schedule: {}\n", schedule);
    if (schedule == "interleaved-1f1b") out += fmt::format("  virtual_pipeline: {}\n", drawn(random, {2, 4}));
    if (random() % 3 == 0) {
      out += "  account_for_embedding_in_pipeline_split: true\n  account_for_loss_in_pipeline_split: true\n";
    } else if (!mixture && pipeline == 4 && schedule == "1f1b" && random() % 2 == 0) {
      out += "  layer_split: [7, 9, 9, 7]\n";
    }
  }
  const int context = drawn(random, {1, 1, 2});
  out += fmt::format("  context: {}\n", context);
  if (context > 1) out += fmt::format("  context_communication: {}\n", drawn(random, {"p2p", "all-gather"}));
  if (mixture && random() % 2 == 0) {
    out += fmt::format("  expert: {}\n  expert_tensor: {}\n", drawn(random, {2, 4, 8}), drawn(random, {1, tensor}));
    out += fmt::format("  expert_dispatcher: {}\n", drawn(random, {"alltoall", "deepep"}));
  }
  out += fmt::format("  zero: {}\n", drawn(random, {0, 2, 3, 3}));
  if (random() % 3 == 0) out += fmt::format("  zero_group: {}\n", drawn(random, {2, 4, 8}));
  out += "  overlap_grad_reduce: true\n";
  out +=
      fmt::format("  recompute: {}\n",
                  drawn(random, {"none", "full", "full, recompute_layers: 4", "selective, recompute_modules: [op]"}));
  std::replace(out.begin(), out.end(), ';', '\n');
  return out;
}

// The keys in one line of the above, each on its own.
std::string with_lines(std::string text) {
  const std::size_t start = text.find("strategy:");
  for (const std::string_view key : {", recompute_layers", ", recompute_modules"}) {
    const std::size_t at = text.find(key, start);
    if (at != std::string::npos) text.replace(at, 2, "\n  ");
  }
  return text;
}

std::optional<Scenario> drawn_scenario(std::mt19937& random) {
  try {
    return parse_scenario(Document::from_text(with_lines(drawn_job(random)), "drawn.yaml"), import_sources());
  } catch (const Error& error) {
    REQUIRE(error.kind() != ErrorKind::internal);
    return std::nullopt;
  }
}

std::optional<std::string> emitted(const Job& job) {
  try {
    return launch_arguments(job, LaunchTarget::torchtitan);
  } catch (const Error& error) {
    REQUIRE(error.kind() == ErrorKind::infeasible);
    return std::nullopt;
  }
}

void check_same(const Job& before, const Job& after) {
  check_same_strategy(before, after);
  CHECK(before.training.fp8_parameters == after.training.fp8_parameters);
  // Asynchronous tensor parallelism is the compiler's.
  const bool compiled = before.strategy.overlap_tensor;
  CHECK(after.training.framework == (compiled ? "torchtitan" : before.training.framework));
  CHECK(before.model.name == after.model.name);
}

}  // namespace

TEST_CASE("a torchtitan file becomes a scenario, its defaults assumed, its places kept") {
  const ImportDraft draft = titan(
      "[model]\nname = \"llama3\"\nflavor = \"70B\"\nconverters = [\"quantize.linear.float8\"]\n"
      "[training]\nlocal_batch_size = 8\nseq_len = 8192\n"
      "[parallelism]\ntensor_parallel_degree = 8\nenable_async_tensor_parallel = true\npipeline_parallel_degree = 4\n"
      "pipeline_parallel_schedule = \"Interleaved1F1B\"\n"
      "[activation_checkpoint]\nmode = \"full\"\n[compile]\nenable = true\n",
      256);
  CHECK(unknown_in(draft).empty());
  CHECK(said(draft, "model") == "llama3-70b");
  CHECK(said(draft, "strategy.data") == "8");
  CHECK(said(draft, "training.global_batch") == "64");
  CHECK(said(draft, "training.precision") == "fp8-current");
  CHECK(said(draft, "strategy.micro_batch") == "1");
  CHECK(said(draft, "strategy.virtual_pipeline") == "2");
  CHECK(said(draft, "strategy.layer_split") == "[10, 11, 10, 10, 10, 10, 10, 9]");
  CHECK(said(draft, "strategy.zero") == "2");  // default: not resharded behind forward passes of stages
  CHECK(draft.scenario().find("strategy")->find("tensor")->where.line == 9);
  const Scenario scenario = scenario_of(draft, "hgx-h100", 32);
  CHECK(scenario.job.strategy.ranks() == 256);
}

TEST_CASE("without nodes a torchtitan file is read as far as it says, and what is missing is told") {
  const ImportDraft draft = titan("[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 4\n");
  CHECK(said(draft, "training.global_batch").empty());
  CHECK(said(draft, "strategy.data").empty());
  CHECK(said(draft, "strategy.zero") == "3");
  REQUIRE(draft.obstacles().size() == 1);
  CHECK(draft.obstacles()[0].where.line == 5);
}

TEST_CASE("names of older torchtitan releases mean the same") {
  const ImportDraft draft = titan(
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nbatch_size = 2\ncompile = true\n"
      "tensor_parallel_degree = 2\nglobal_batch_size = 64\n[experimental]\ncontext_parallel_degree = 2\n"
      "enable_async_tensor_parallel = true\n[float8]\nenable_fsdp_float8_all_gather = true\n");
  CHECK(said(draft, "strategy.micro_batch") == "2");
  CHECK(said(draft, "strategy.context") == "2");
  CHECK(said(draft, "strategy.overlap_tensor") == "true");
  CHECK(said(draft, "training.framework") == "torchtitan");
  CHECK(unknown_in(draft).empty());
}

TEST_CASE("values that torchtitan does not take are refused at their place") {
  const auto refused = [](const std::string& text) {
    try {
      titan("[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\n" + text);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      return error.where().text();
    }
    return std::string("read");
  };
  CHECK(refused("local_batch_size = \"${BATCH}\"") == "job.toml:5:20");
  CHECK(refused("seq_len = 0") == "job.toml:5:11");
  CHECK(refused("seq_len = 4096\nseq_len = 8192") == "job.toml:6:11");
  CHECK(refused("seq_len = ") == "job.toml:5:11");
  CHECK(refused("dtype = \"float16\"") == "job.toml:5:9");
  CHECK(refused("[parallelism]\npipeline_parallel_degree = 64") == "job.toml:6:28");
  CHECK(refused("[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_microbatch_size = 3") ==
        "job.toml:7:37");
  CHECK(refused("[parallelism]\ntensor_parallel_degree = 1000000\ncontext_parallel_degree = 1000000") ==
        "job.toml:7:27");
}

TEST_CASE("torchtitan cuts a model into parts as generate_llm_fqn_per_model_part does") {
  const ImportDraft draft = titan(
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 8\n[parallelism]\n"
      "pipeline_parallel_degree = 4\n",
      32);
  CHECK(said(draft, "strategy.layer_split") == "[8, 9, 8, 7]");
}

TEST_CASE("all of torchtitan's TOML files import, and only what no prediction has is unknown") {
  std::size_t runs = 0;
  std::size_t read = 0;
  for (const char* folder : {"torchtitan-toml-v0.1.0", "torchtitan-toml-v0.2.2"}) {
    const auto files = launch_configs(folder, ".toml");
    if (files.empty()) MESSAGE("skipped: no ../shared/launch-configs/", std::string(folder));
    for (const auto& path : files) {
      CAPTURE(path.string());
      const ImportFile file = import_file(path);
      CHECK(formats_of(file) == std::vector<std::string>{"torchtitan-toml"});
      const ImportDraft draft = titan(file, 256);
      ++read;
      try {
        scenario_of(draft, "hgx-h100", 32);
        ++runs;
      } catch (const Error& error) {
        CHECK(error.kind() != ErrorKind::internal);
      }
    }
  }
  // Three name models without a known shape, one states two ranks.
  if (read > 0) CHECK(read == 28);
  if (read > 0) CHECK(runs == 24);
}

TEST_CASE("what is written for torchtitan is read back as the same strategy") {
  std::mt19937 random(19);
  int compared = 0;
  for (int i = 0; i < 4000 && compared < 300; ++i) {
    const std::optional<Scenario> before = drawn_scenario(random);
    if (!before) continue;
    const std::optional<std::string> text = emitted(before->job);
    if (!text) continue;
    CAPTURE(*text);
    CAPTURE(before->resolved);
    const ImportDraft draft = titan(*text, 32);
    CHECK(unknown_in(draft).empty());
    check_same(before->job, scenario_of(draft, "hgx-h100", 4).job);
    ++compared;
  }
  CHECK(compared == 300);
}
