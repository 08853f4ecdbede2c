#include "emitted.hpp"
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

// Lists the options that were not understood, each with the reason.
std::vector<std::string> unknown_in(const ImportDraft& draft) {
  std::vector<std::string> out;
  for (const ImportLine& line : draft.lines()) {
    if (line.verdict == Verdict::unknown) out.push_back(line.text + ": " + line.reason);
  }
  return out;
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

TEST_CASE("recipes of float8 are precisions: a scale for a tensor or for a row, weight gradients wide or narrow") {
  const auto precision = [](const std::string& recipe) {
    return said(
        titan("[model]\nname = \"llama3\"\nflavor = \"8B\"\nconverters = [\"quantize.linear.float8\"]\n" + recipe, 8),
        "training.precision");
  };
  const std::string section = "[quantize.linear.float8]\nrecipe_name = ";
  CHECK(precision("") == "fp8-current");
  CHECK(precision(section + "\"\"\n") == "fp8-current");
  CHECK(precision(section + "\"tensorwise\"\n") == "fp8-current");
  CHECK(precision(section + "\"rowwise\"\n") == "fp8-rowwise");
  CHECK(precision(section + "\"rowwise_with_gw_hp\"\n") == "fp8-rowwise-gw-hp");
}

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

TEST_CASE("replicas that torchft joins are learners, and one configuration is that of one of them") {
  const std::string before = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[fault_tolerance]\nenable = true\n";
  const auto read = [&](const std::string& more) { return titan(before + more, 8); };
  const ImportDraft streamed = read(
      "group_size = 4\nmin_replica_size = 2\nsemi_sync_method = \"diloco\"\nsync_steps = 20\n"
      "num_fragments = 2\nfragment_sync_delay = 1\nshould_quantize = true\n");
  const LocalSteps steps = scenario_of(streamed, "hgx-h100", 1).job.training.local_steps;
  CHECK(steps == LocalSteps{4, 20, 2, 1, "fp8"});
  const LocalSteps each = scenario_of(read("group_size = 3\n"), "hgx-h100", 1).job.training.local_steps;
  CHECK(each == LocalSteps{3, 1});
  // The number of replicas is not in the file.
  CHECK(said(read("semi_sync_method = \"diloco\"\n"), "training.local_steps.learners").empty());
  CHECK_THROWS_AS(read("group_size = 4\nsemi_sync_method = \"diloco\"\nsync_steps = 0\n"), Error);
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
  if (read > 0) CHECK(runs == 26);
}

TEST_CASE("what is written for torchtitan is read back as the same strategy") {
  std::mt19937 random(19);
  int compared = 0;
  for (int i = 0; i < 4000 && compared < 300; ++i) {
    const std::optional<Scenario> before = drawn_scenario(drawn_torchtitan_job(random));
    if (!before) continue;
    const auto files = written_files(before->job, LaunchTarget::torchtitan_toml);
    if (!files) continue;
    CAPTURE(files->front().text);
    CAPTURE(before->resolved);
    const ImportDraft draft = titan(files->front().text, 32);
    CHECK(unknown_in(draft).empty());
    check_same(before->job, scenario_of(draft, "hgx-h100", 4).job);
    ++compared;
  }
  CHECK(compared == 300);
}
