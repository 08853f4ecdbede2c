#include "import/interpolation.hpp"
#include "launch_files.hpp"

#include "base/yaml.hpp"
#include "model/model_spec.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <regex>

namespace nemo_test {

using namespace mirfak;

namespace {

ImportDraft nemo(const ImportFile& file, std::map<std::string, std::string> environment = {}) {
  ImportContext context{import_sources()};
  context.environment = std::move(environment);
  ImportDraft draft = import_format("nemo-yaml").read(std::span(&file, 1), context);
  draft.judge_unknown();
  return draft;
}

// A number that the file states under a key of `model`, by its text alone.
std::string stated(const ImportFile& file, const std::string& key) {
  std::smatch found;
  const std::regex line("\n  " + key + ": *([0-9]+)");
  return std::regex_search(file.text, found, line) ? found[1].str() : "";
}

Value filled(const std::string& text, const std::map<std::string, std::string>& environment = {}) {
  Value root = parse_yaml(text, "file.yaml");
  fill_interpolations(root, environment);
  return root;
}

std::string place_of_refusal(const std::string& text) {
  try {
    filled(text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.where().text();
  }
  return "filled";
}

}  // namespace

TEST_CASE("references of OmegaConf are filled, absolute, relative, computed and from the environment") {
  const Value root = filled(
      "model:\n  hidden: 4096\n  ffn: ${multiply:4, ${.hidden}}\n  inner: {up: \"${..hidden}\", same: "
      "\"${model.ffn}\"}\n"
      "  half: ${divide_ceil:${.layers}, 2}\n  layers: 7\n  list: [1, \"${training.model.layers}\"]\n"
      "paths: ${data_dir}/x\nwho: ${USER_NAME:me}\nhere: ${oc.env:PLACE,there}\n",
      {{"PLACE", "hall"}});
  const Value& model = *root.find("model");
  CHECK(model.find("ffn")->scalar == "16384");
  CHECK(model.find("inner")->find("up")->scalar == "4096");
  CHECK(model.find("inner")->find("same")->scalar == "16384");
  CHECK(model.find("half")->scalar == "4");
  CHECK(model.find("list")->items[1].scalar == "7");
  CHECK(root.find("paths")->scalar == "${data_dir}/x");
  CHECK(root.find("who")->scalar == "me");
  CHECK(root.find("here")->scalar == "hall");
}

TEST_CASE("references that lead to themselves, grow or compute nothing are refused at their place") {
  CHECK(place_of_refusal("a: ${b}\nb: ${a}\n") == "file.yaml:1:4");
  CHECK(place_of_refusal("a: 1\nb: ${multiply:x, 2}\n") == "file.yaml:2:4");
  CHECK(place_of_refusal("b: ${eval:1}\n") == "file.yaml:1:4");
  std::string inside = "a: ";
  for (int i = 0; i < 1000; ++i) inside += "${";
  CHECK(place_of_refusal(inside + std::string(1000, '}') + "\n") == "file.yaml:1:4");
  std::string growing = "a0: aaaaaaaaaaaaaaaa\n";
  for (int i = 1; i < 40; ++i) growing += fmt::format("a{0}: ${{a{1}}}${{a{1}}}\n", i, i - 1);
  CHECK(place_of_refusal(growing).starts_with("file.yaml:"));
}

TEST_CASE("all of NeMo's files import to the layout that they state, and run on the nodes that they state") {
  std::size_t read = 0;
  std::map<std::string, std::string> why;
  for (const auto& path : launch_configs("nemo-launcher", ".yaml")) {
    CAPTURE(path.string());
    const ImportFile file = import_file(path);
    CHECK(formats_of(file) == std::vector<std::string>{"nemo-yaml"});
    const ImportDraft draft = nemo(file);
    ++read;
    CHECK(said(draft, "strategy.tensor") == stated(file, "tensor_model_parallel_size"));
    CHECK(said(draft, "strategy.pipeline") == stated(file, "pipeline_model_parallel_size"));
    CHECK(said(draft, "strategy.micro_batch") == stated(file, "micro_batch_size"));
    CHECK(said(draft, "training.global_batch") == stated(file, "global_batch_size"));
    const std::string chunks = stated(file, "virtual_pipeline_model_parallel_size");
    if (!chunks.empty() && said(draft, "strategy.pipeline") != "1") {
      CHECK(said(draft, "strategy.virtual_pipeline") == chunks);
    }
    CHECK(draft.machine.gpus().has_value());
    for (const ImportLine& line : draft.lines()) {
      const bool explained = line.verdict != Verdict::unknown || !line.reason.empty();
      CHECK_MESSAGE(explained, line.text);
    }
    try {
      scenario_of(draft, "hgx-h100", static_cast<int>(*draft.machine.gpus() / 8));
    } catch (const Error& error) {
      CHECK(error.kind() != ErrorKind::internal);
      why[path.filename().string()] = error.message();
    }
  }
  if (read == 0) {
    MESSAGE("skipped: no ../shared/launch-configs/nemo-launcher");
    return;
  }
  CHECK(read == 64);
  // Global batches that their own numbers of nodes do not divide.
  CHECK(why.size() == 2);
  CHECK(why.contains("falcon_7b.yaml"));
  CHECK(why.contains("mixtral_8x22b.yaml"));
}

// Gemma 7B: 256,000 rows of 3,072, tied; 28 layers of four products of attention (3,072 x 4,096) and three of the MLP
// (3,072 x 24,576); two norms of each layer and one behind them, of 3,072.
TEST_CASE("NeMo's geglu is gated, whichever formula of GELU it takes") {
  const std::string text =
      "trainer: {num_nodes: 1, devices: 8, precision: bf16}\nmodel:\n  micro_batch_size: 1\n  global_batch_size: 8\n"
      "  encoder_seq_length: 4096\n  max_position_embeddings: 4096\n  num_layers: 28\n  hidden_size: 3072\n"
      "  ffn_hidden_size: 24576\n  num_attention_heads: 16\n  kv_channels: 256\n  vocab_size: 256000\n  bias: false\n"
      "  normalization: rmsnorm\n  position_embedding_type: rope\n  activation: geglu\n  openai_gelu: true\n";
  const ImportDraft draft = nemo({"gemma.yaml", text});
  CHECK(said(draft, "model.activation") == "geglu");
  const std::int64_t matrices = 256'000LL * 3072 + 28LL * (4 * 3072 * 4096 + 3 * 3072 * 24'576);
  CHECK(matrices + 57 * 3072 == 8'537'680'896);
  const Scenario scenario = scenario_of(draft, "hgx-h100", 1);
  CHECK(count_parameters(scenario.job.model).total == 8537680896.0);
}

TEST_CASE("NeMo's models of other kinds are read as what they are, or held back") {
  const std::string text =
      "trainer: {num_nodes: 1, devices: 8, precision: bf16}\nmodel:\n  micro_batch_size: 1\n  global_batch_size: 8\n"
      "  encoder_seq_length: 4096\n  max_position_embeddings: 4096\n  num_layers: 4\n  hidden_size: 768\n"
      "  num_attention_heads: 12\n  vocab_size: 65536\n";
  const ImportDraft mamba =
      nemo({"mamba.yaml",
            text + "  mamba_ssm_ngroups: 1\n  hybrid_attention_ratio: 0.0\n  hybrid_override_pattern: null\n"});
  CHECK(mamba.obstacles().empty());
  const std::string model = said(mamba, "model");
  CHECK(model.find("mamba2") != std::string::npos);
  CHECK(model.find("attention") == std::string::npos);
  for (const char* more : {"  hybrid_attention_ratio: 0.08\n", "  hyena: {short_conv_len: 4}\n",
                           "  retro: {retro_num_neighbors: 2}\n", "  mm_cfg: {llm: {freeze: true}}\n",
                           "  peft: {peft_scheme: lora}\n", "  dpo: {ref_policy_kl_penalty: 0.1}\n"}) {
    CAPTURE(more);
    CHECK_FALSE(nemo({"other.yaml", text + more}).obstacles().empty());
  }
}

// Changes count before references are filled in: tokens of positions follow the changed length.
TEST_CASE("NeMo's command changes the configuration that it names, by KEY=VALUE, and takes keys away") {
  const ImportFile config = {
      "mine.yaml",
      "trainer: {num_nodes: 1, devices: 8, precision: bf16}\nmodel:\n  micro_batch_size: 1\n  global_batch_size: 8\n"
      "  encoder_seq_length: 2048\n  max_position_embeddings: ${.encoder_seq_length}\n  num_layers: 24\n"
      "  hidden_size: 2048\n  num_attention_heads: 16\n  vocab_size: 51200\n  fp8: true\n"};
  const auto run = [&](const std::string& words, bool given = true) {
    std::vector<ImportFile> files = {{"run.sh", "python megatron_gpt_pretraining.py " + words + "\n"}};
    if (given) files.push_back(config);
    return imported(files, "hgx-h100:2");
  };
  const std::string named = "--config-path=/conf --config-name=mine ";
  const ImportedJob job =
      run(named + "trainer.num_nodes=2 model.encoder_seq_length=4096 +model.tensor_model_parallel_size=4 ~model.fp8");
  CHECK(job.complete);
  CHECK(said(job.draft, "training.sequence_length") == "4096");
  CHECK(said(job.draft, "model.max_sequence") == "4096");
  CHECK(said(job.draft, "strategy.tensor") == "4");
  CHECK(said(job.draft, "training.precision") == "bf16");
  CHECK(job.draft.machine.gpus() == 16);
  CHECK(job.draft.origins().at("strategy.tensor").starts_with("run.sh:1:"));
  CHECK(said(run("").draft, "training.sequence_length") == "2048");  // the only configuration that is given
  const auto refused = [&](const std::string& words, bool given, const char* why) {
    CAPTURE(words);
    try {
      run(words, given);
      FAIL_CHECK("read");
    } catch (const Error& error) {
      CHECK(error.message().find(why) != std::string::npos);
      CHECK(error.where().known());
    }
  };
  refused(named, false, "not among the files");
  refused(named + "~model.fp9", true, "no such key");
  refused("--config-name=other trainer.devices=4", true, "not among the files");
}

}  // namespace nemo_test
