// Every error names its place, what was expected, and what to do.

#include "fixture.hpp"

#include <doctest/doctest.h>

using namespace mirfak;
using namespace mirfak::test;

namespace {

struct Bad {
  const char* override_text;
  ErrorKind kind;
  const char* expected;  // part of the message
};

Error caught(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    parse(text, overrides);
  } catch (const Error& error) {
    return error;
  }
  FAIL("no error for ", text);
  return {ErrorKind::internal, {}, ""};
}

}  // namespace

TEST_CASE("errors in the file have line and column") {
  const std::string start = "model: gpt3-1.3b\ncluster:\n  nodes: [{type: dgx-a100-80g, count: 1}]\n";
  const Error unknown = caught(start + "training: {global_batch: 64}\nstrategy:\n  tensr: 2\n");
  CHECK(unknown.kind() == ErrorKind::input);
  CHECK(unknown.where().line == 6);
  CHECK(unknown.where().column == 3);
  CHECK(std::string(unknown.what()).find("tensor") != std::string::npos);

  const Error type = caught(start + "training: {global_batch: many}\n");
  CHECK(type.where().line == 4);
  CHECK(type.where().column == 26);

  const Error rule = caught(start + "training: {global_batch: 64}\nstrategy:\n  tensor: 3\n");
  CHECK(rule.kind() == ErrorKind::infeasible);
  CHECK(rule.where().line == 6);

  const Error missing = caught(start);
  CHECK(std::string(missing.what()).find("'training' is missing") != std::string::npos);
}

TEST_CASE("errors in overrides name the override") {
  const Bad all[] = {
      {"strategy.tensor=0", ErrorKind::input, "from 1"},
      {"strategy.tensor=-8", ErrorKind::input, "found '-8'"},
      {"strategy.tensor=two", ErrorKind::input, "whole number"},
      {"strategy.tensor=1.5", ErrorKind::input, "whole number"},
      {"strategy.context=0", ErrorKind::input, "from 1"},
      {"strategy.context_communication=ring", ErrorKind::input, "p2p, all-gather or a2a"},
      {"strategy.context=16", ErrorKind::infeasible, "8 GPUs"},
      {"strategy.overlap_tensor=true", ErrorKind::infeasible, "sequence_parallel"},
      {"strategy.recompute_layers=2", ErrorKind::infeasible, "strategy.recompute is none"},
      {"strategy.schedule=1f1f", ErrorKind::input, "did you mean '1f1b'"},
      {"strategy.recompute=some", ErrorKind::input, "none, selective or full"},
      {"strategy.zero=4", ErrorKind::input, "from 0 to 3"},
      {"strategy.sequence_parallel=maybe", ErrorKind::input, "true or false"},
      {"training.framework=megatron", ErrorKind::input, "megatron-core"},
      {"training.precision=fp9", ErrorKind::input, "fp8-current"},
      {"training.precision=fp8", ErrorKind::infeasible, "cannot compute in fp8-delayed"},
      {"training.global_batch=0", ErrorKind::input, "from 1"},
      {"training.lora={rank: 0}", ErrorKind::input, "from 1"},
      {"training.lora={rank: 8, targets: [qkv, head]}", ErrorKind::input, "found 'head'"},
      {"training.lora={rank: 8, targets: []}", ErrorKind::input, "at least one"},
      {"training.lora={rank: 8, whole: [norm]}", ErrorKind::input, "embedding, head, projector or tower"},
      {"training.lora={rank: 8, whole: projector}", ErrorKind::infeasible, "no tower for images, and no projector"},
      {"training.document_lengths=0", ErrorKind::input, "from 1"},
      {"training.document_lengths={short: 1}", ErrorKind::input, "found 'short'"},
      {"training.document_lengths={512: 0}", ErrorKind::input, "found '0'"},
      {"training.document_lengths={}", ErrorKind::input, "at least one length"},
      {"training.tokens=-1", ErrorKind::input, "found '-1'"},
      {"cluster.nodes[0].type=dgx-a100-80", ErrorKind::input, "dgx-a100-80g"},
      {"cluster.nodes[0].count=0", ErrorKind::input, "found '0'"},
      {"cluster.nodes[1].count=2", ErrorKind::input, "index 1"},
      {"cluster.fabric.type=torus", ErrorKind::input, "rail-optimized"},
      {"cluster.fabric.oversubscription=0.5", ErrorKind::input, "0.5"},
      {"cluster.perturbations={rank: 1}", ErrorKind::input, "did you mean 'ranks'?"},
      {"cluster.perturbations={ranks: [{rank: 8, compute: 1.2}]}", ErrorKind::input, "from 0 to 7"},
      {"cluster.perturbations={ranks: [{rank: 1, comput: 1.2}]}", ErrorKind::input, "compute"},
      {"cluster.perturbations={ranks: [{rank: 1, compute: 0}]}", ErrorKind::input, "found '0'"},
      {"cluster.perturbations={ranks: [{rank: 1, host: 2}, {rank: 1, host: 3}]}", ErrorKind::input,
       "has factors already"},
      {"cluster.price=cheap", ErrorKind::input, "on-demand"},
      {"model=gpt3-1.4b", ErrorKind::input, "gpt3-1.3b"},
      {"model=./nowhere.json", ErrorKind::input, "nowhere.json"},
      {"strategy.tensor=16", ErrorKind::infeasible, "8 GPUs"},
      {"strategy.pipeline=5", ErrorKind::infeasible, "8 GPUs"},
      {"strategy.data=3", ErrorKind::infeasible, "leave strategy.data out"},
      {"strategy.micro_batch=3", ErrorKind::infeasible, "64"},
      {"strategy.virtual_pipeline=2", ErrorKind::infeasible, "at least 2 pipeline stages"},
      {"strategy.layer_split=[12, 13]", ErrorKind::infeasible, "25"},
  };
  for (const Bad& bad : all) {
    INFO(bad.override_text);
    const Error error = caught(kSmall, {bad.override_text});
    CHECK(error.kind() == bad.kind);
    const std::string what = error.what();
    CHECK_MESSAGE(what.find(bad.expected) != std::string::npos, what);
    // A rule may point at another key than the one overridden, but always at some place.
    CHECK(error.where().known());
    if (bad.kind == ErrorKind::input) CHECK(error.where().file.find("--set") == 0);
  }
}

TEST_CASE("a team, an expert group or a sharding group on two types of nodes is refused at cluster.nodes") {
  const std::string mixed =
      "model: mixtral-8x7b\ncluster:\n  nodes:\n    - {type: dgx-a100-80g, count: 1}\n"
      "    - {type: hgx-h100, count: 1}\ntraining: {global_batch: 240, framework: pytorch-fsdp}\n";
  CHECK(parse(mixed).job.strategy.data == 16);
  const struct {
    std::vector<std::string> overrides;
    const char* expected;
  } all[] = {
      {{"strategy.tensor=16", "strategy.sequence_parallel=true", "model=llama3-70b",
        "training.framework=megatron-core"},
       "replica 0 of pipeline stage 0"},
      {{"cluster.nodes[0].gpus=4", "strategy.expert=8", "strategy.data=12"}, "cannot be cut"},
      {{"cluster.nodes[0].gpus=4", "cluster.nodes[1].gpus=4", "strategy.expert=8"}, "replicas 0 to 7 of pipeline"},
      {{"strategy.zero=2", "strategy.zero_group=8"}, ""},
      {{"strategy.zero=2", "strategy.zero_group=16"}, ""},
      {{"cluster.nodes[0].gpus=7", "strategy.zero=2", "strategy.zero_group=5"}, "replicas 5 and 7 share"},
      {{"cluster.nodes[0].gpus=4", "model=gpt3-1.3b", "training.framework=deepspeed", "strategy.zero=3",
        "strategy.quantized_reductions=true"},
       "the first node holds 4 data-parallel ranks of a stage, and others do not: rank 8"},
  };
  for (const auto& bad : all) {
    if (std::string(bad.expected).empty()) {
      CHECK_NOTHROW(parse(mixed, bad.overrides));
      continue;
    }
    const Error error = caught(mixed, bad.overrides);
    CHECK(error.kind() == ErrorKind::infeasible);
    INFO(error.what());
    CHECK(std::string(error.what()).find(bad.expected) != std::string::npos);
    CHECK(error.where().known());
  }
}

namespace {

// Overrides of a small job, and a part of what is told about them; "": the job is possible.
struct Told {
  std::vector<std::string> overrides;
  const char* expected;
};

void check_told(const std::vector<Told>& all, const std::vector<std::string>& first) {
  for (const Told& job : all) {
    std::vector<std::string> overrides = first;
    overrides.insert(overrides.end(), job.overrides.begin(), job.overrides.end());
    if (std::string(job.expected).empty()) {
      CHECK_NOTHROW(parse(kSmall, overrides));
      continue;
    }
    const Error error = caught(kSmall, overrides);
    CHECK(error.kind() == ErrorKind::infeasible);
    CHECK(error.where().known());
    INFO(error.what());
    const std::string told = std::string(error.what()) + error.hint();
    CHECK(told.find(job.expected) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("ZeRO++ needs a framework that has it, and ZeRO 3 over all replicas") {
  check_told(
      {
          {{"strategy.zero=3"}, ""},
          {{"strategy.zero=3", "strategy.zero_second_group=4", "strategy.quantized_gathers=true"}, ""},
          {{"strategy.zero=3", "strategy.zero_second_group=3"}, "possible sizes: 1, 2, 4, 8"},
          {{"strategy.zero=2", "strategy.zero_second_group=4"}, "ZeRO 2 has none"},
          {{"strategy.zero=1", "strategy.quantized_gathers=true"}, "ZeRO 1 has none"},
          {{"strategy.zero=3", "strategy.zero_group=4", "strategy.quantized_reductions=true"},
           "in groups of 4 already"},
          {{"strategy.zero=3", "strategy.quantized_gathers=true", "training.framework=pytorch-fsdp"},
           "pytorch-fsdp does not have it"},
          {{"strategy.zero=3", "strategy.quantized_reductions=true", "training.framework=deepspeed-2021"},
           "deepspeed-2021 does not have it"},
          {{"strategy.zero=3", "strategy.zero_second_group=4", "strategy.offload_parameters=true",
            "strategy.offload_optimizer=1"},
           "second copy of parameters on the host"},
          {{"strategy.zero=3", "strategy.expert=4", "strategy.quantized_gathers=true", "model=mixtral-8x7b"},
           "experts that are divided over replicas"},
      },
      {"training.framework=deepspeed"});
}

TEST_CASE("buffers are registered with ZeRO, where a framework does that") {
  check_told(
      {
          {{"strategy.zero=1"}, ""},
          {{"strategy.zero=0"}, "no figure is known"},
          {{"strategy.zero=1", "training.framework=deepspeed"}, "deepspeed does not have it"},
          {{"strategy.zero=1", "training.framework={like: megatron-core, memory: {expandable_segments: true}}"},
           "segments that grow"},
          // FSDP2's come from a pool of their own.
          {{"strategy.zero=3", "training.framework=torchtitan"}, ""},
      },
      {"training.framework=megatron-core", "strategy.registered_buffers=true"});
}

TEST_CASE("documents take ranks of their own where a framework does that, and all ranks are alike") {
  check_told(
      {
          {{}, ""},
          {{"training.framework=torchtitan"}, "torchtitan does not have it"},
          {{"strategy.pipeline=2"}, "pipeline stages"},
          {{"strategy.micro_batch=4"}, "several sequences in a microbatch"},
          {{"cluster.nodes[0].ranks_per_gpu=2"}, "ranks that share GPUs"},
          {{"cluster.perturbations={ranks: [{rank: 0, compute: 1.1}]}"}, "cluster.perturbations"},
      },
      {"training.framework=megatron-core", "strategy.micro_batch=1", "strategy.context_tokens=4096",
       "training.document_lengths={512: 4, 1024: 1}"});
}

TEST_CASE("modules wait on the host where a framework has that, in layers that keep something") {
  check_told(
      {
          {{"strategy.offload_modules=[core_attn, attn_proj]"}, ""},
          {{"strategy.offload_modules=[attn_proj]"}, "add core_attn"},
          {{"strategy.offload_modules=[core_attn]", "strategy.recompute=full"}, "recomputed in full"},
          {{"strategy.offload_modules=[core_attn]", "strategy.offload_layers=2"}, "takes all activations"},
          {{"strategy.offload_modules=[core_attn]", "training.framework=deepspeed"}, "offload: modules"},
          {{"strategy.offload_modules=[core_attn]", "strategy.pipeline=2", "strategy.schedule=zb-h1"}, ""},
      },
      {"training.framework=megatron-core"});
}

TEST_CASE("state lies on disks with ZeRO 3, in frameworks that have it, of nodes whose disks are known") {
  const std::string optimizer = "strategy.optimizer_on_disk=true";
  const std::string known = "cluster.nodes[0].disk_read_bandwidth=2e10";
  const std::string written = "cluster.nodes[0].disk_write_bandwidth=1e10";
  check_told(
      {
          {{optimizer, known, written, "strategy.overlap_disk=true"}, ""},
          {{known, "strategy.offload_parameters=true", "strategy.parameters_on_disk=true"}, ""},
          {{"strategy.overlap_disk=true"}, "no state of the optimizer"},
          {{optimizer, "strategy.zero=1"}, "set strategy.zero: 3"},
          {{optimizer, "strategy.offload_optimizer=0.5"}, "set offload_optimizer: 1"},
          {{"strategy.parameters_on_disk=true"}, "set strategy.offload_parameters: true"},
          {{optimizer, "training.framework=deepspeed-2021"}, "deepspeed-2021 keeps nothing on disks"},
      },
      {"training.framework=deepspeed", "strategy.zero=3", "strategy.offload_optimizer=1"});
  const Error error = caught(
      kSmall, {"training.framework=deepspeed", "strategy.zero=3", "strategy.offload_optimizer=1", optimizer, known});
  CHECK(error.kind() == ErrorKind::input);
  CHECK(error.hint().find("cluster.nodes[0].disk_read_bandwidth and disk_write_bandwidth") != std::string::npos);
}

TEST_CASE("gradients are projected where a framework does that, of whole matrices") {
  check_told(
      {
          {{"strategy.zero=0"}, ""},
          {{"training.framework=megatron-core"}, "megatron-core keeps optimizer states for whole gradients"},
          {{"training.optimizer=sgd"}, "adam, adam-8bit or adafactor"},
          {{"training.first_moment=bf16"}, "have the type of the gradients"},
          {{"training.lora={rank: 8}"}, "adapters are of low rank themselves"},
          {{"strategy.tensor=2"}, "whole matrices are decomposed"},
          {{"training.low_rank_gradients.rank=100000"}, "more than the hidden size"},
      },
      {"training.framework=huggingface", "training.low_rank_gradients={rank: 64}"});
}

TEST_CASE("passes without gradients are of whole models, and adapters are off where there are some") {
  const std::string off = "training.preferences={answers: 2, reference: adapters-off}";
  check_told(
      {
          {{}, ""},
          {{"strategy.pipeline=2"}, "set strategy.pipeline: 1"},
          {{"strategy.zero=2", "training.framework=pytorch-fsdp"}, "stay whole until a backward pass"},
          {{"strategy.tensor=2", "strategy.micro_batch=2", "strategy.nanobatches=2", "training.framework=kareus"},
           "leave nanobatches out"},
          {{off, "training.lora={rank: 8}"}, ""},
      },
      {"training.preferences={answers: 2, reference: model}"});
  CHECK(caught(kSmall, {off}).hint().starts_with("state training.lora"));
  CHECK(caught(kSmall, {"training.preferences={reference: model}"}).message().ends_with("'answers' is missing"));
}

TEST_CASE("microbatches of replicas are a list that makes up the batch") {
  const std::string start =
      "model: gpt3-1.3b\ncluster: {nodes: [{type: dgx-a100-80g, count: 1}]}\n"
      "training: {global_batch: 20}\nstrategy: {tensor: 4, replica_microbatches: [15, 5]}\n";
  const Job job = parse(start).job;
  CHECK(job.strategy.replica_microbatches == std::vector<int>{15, 5});
  CHECK(parse(parse(start).resolved).job.strategy.replica_microbatches == std::vector<int>{15, 5});
  for (const char* list : {"[]", "[0, 20]", "[a, b]", "7"}) {
    CHECK(caught(start, {std::string("strategy.replica_microbatches=") + list}).kind() == ErrorKind::input);
  }
  for (const char* list : {"[20]", "[10, 5]", "[5, 5, 10]"}) {
    const Error error = caught(start, {std::string("strategy.replica_microbatches=") + list});
    CHECK(error.kind() == ErrorKind::infeasible);
    CHECK(std::string(error.what()).find("expected 2 entries") != std::string::npos);
  }
}

TEST_CASE("a GPU that cannot compute in the precision is refused at training.precision") {
  const Error error = caught(
      "model: gpt3-1.3b\ncluster: {nodes: [{type: dgx-1-v100-32g, count: 1}]}\n"
      "training:\n  global_batch: 64\n  precision: bf16\n");
  CHECK(error.kind() == ErrorKind::infeasible);
  CHECK(error.where().line == 5);
  CHECK(std::string(error.what()).find("V100") != std::string::npos);
}
