#include "validation/run_scenario.hpp"

#include "fixture.hpp"
#include "scenario/scenario.hpp"
#include "validation/row_reader.hpp"

#include <doctest/doctest.h>

using namespace mirfak;
using namespace mirfak::test;

namespace {

std::string scenario_with(const std::vector<Cell>& cells) {
  const ValidatedRun run = row_with(cells);
  INFO(run.skipped);
  CHECK(run.skipped.empty());
  return run.scenario;
}

std::string cluster_of(const std::string& gpu, const std::string& gpus, const std::string& per_node,
                       const std::string& interconnect) {
  return scenario_with({{"gpu", gpu},
                        {"n_gpus", gpus},
                        {"gpus_per_node", per_node},
                        {"interconnect", interconnect},
                        {"tp", "1"},
                        {"global_batch", std::to_string(4 * std::stoi(gpus))}});
}

}  // namespace

TEST_CASE("the scenario as text gives the same job as the row") {
  const ValidatedRun run =
      row_with({{"interconnect", "8x HDR200 IB per node"}, {"n_gpus", "32"}, {"global_batch", "16"}});
  const RunReading reading =
      completed(read_cells(table("gpu,n_gpus,micro_batch,global_batch,seq_len,model,s_per_iter_derived\n"
                                 "A100,8,1,8,2048,gpt-22b,1\n"),
                           0, mappings().vocabulary()),
                mappings().vocabulary());
  const ModelLibrary models(folders().models);
  const Document direct = scenario_of(reading, models);
  const std::string resolved = parse_scenario(direct, folders()).resolved;
  CHECK(parse_scenario(Document::from_text(direct.to_yaml(), "row"), folders()).resolved == resolved);
  // Values keep the places of their cells.
  CHECK(direct.root().find("training")->find("global_batch")->where.text() == "runs.csv:2:10");
  CHECK(job_of(run).cluster.gpus() == 32);
}

TEST_CASE("ports and rate come from the words of the interconnect") {
  const auto says = [](const std::string& interconnect, const char* expected) {
    INFO(interconnect);
    CHECK(cluster_of("A100-80GB", "64", "8", interconnect).find(expected) != std::string::npos);
  };
  says("NVLink3 NVSwitch; 8x HDR200 IB per node (Selene)", "network: ib-hdr, ports: 8}");
  says("intra-node 150 GB/s, inter-node 800 Gbps per node as configured in config/validation",
       "network: ib-hdr, ports: 4}");
  says("1600 Gbps node-node RoCE", "network: roce-200g, ports: 8}");
  says("4x100Gb RoCE per node", "network: roce-100g, ports: 4}");
  says("8 x NDR400", "network: ib-ndr, ports: 8}");
  says("2 x HDR", "network: ib-hdr, ports: 2}");
  says("NVLink2 in node; 25 Gbps Ethernet between nodes", "network: tcp-25g, ports: 1}");
  says(
      "NVLINK Gen4 900 GB/s + NVSWITCH Gen3 | Storage: 2x ConnectX-7 IB NDR 400Gb/s, Compute: 8x ConnectX-7 IB NDR "
      "400Gb/s",
      "network: ib-ndr, ports: 8}");
  says("NVLINK 4.0 | 1x Ethernet 100Gb/Sec, 8x NVIDIA Quantum-2 CX7 InfiniBand (400Gb/s)",
       "network: ib-ndr, ports: 8}");
}

TEST_CASE("rates of nobody knows what are refused") {
  for (const char* word : {"100 GB/s", "fast", "NVLink | 100GbE InfiniBand", "8 x QDR"}) {
    INFO(word);
    CHECK(row_with({{"interconnect", word}}).refusal);
  }
}

TEST_CASE("an interconnect that says nothing leaves the node type its own network") {
  for (const char* text :
       {"", "NVLink3 NVSwitch (DGX A100)", "NVLINK Gen5 1800 GB/s + NVSWITCH Gen5 | Ethernet", "NVL72"}) {
    INFO(text);
    CHECK(cluster_of("H100-80GB", "16", "8", text).find("network") == std::string::npos);
  }
  // Nor does a network that a job on one node never uses.
  CHECK(cluster_of("A100-80GB", "8", "8", "8x HDR200 IB").find("network") == std::string::npos);
}

TEST_CASE("GPUs fill whole nodes, and one in part") {
  CHECK(cluster_of("A100", "4", "8", "").find("{type: dgx-a100-80g, count: 1, gpus: 4}") != std::string::npos);
  const std::string mixed = cluster_of("GB300", "10", "4", "");
  CHECK(mixed.find("{type: gb300-nvl72, count: 2, gpus: 4}") != std::string::npos);
  CHECK(mixed.find("{type: gb300-nvl72, count: 1, gpus: 2}") != std::string::npos);
}

TEST_CASE("the interconnect tells nodes of one GPU apart") {
  const auto node = [](const char* gpu, const char* interconnect, const char* type) {
    INFO(gpu);
    INFO(interconnect);
    CHECK(cluster_of(gpu, "4", "4", interconnect).find(std::string("type: ") + type + ",") != std::string::npos);
  };
  node("H100", "NVLink4 8-GPU + IB (DGX-H100)", "hgx-h100");
  node("H100-80GB", "PCIe", "h100-pcie-8");
  node("H100-NVL-94GB", "", "h100-nvl-8");
  node("A100-40GB (DGX-A100)", "", "dgx-a100-40g");
  node("A100-80GB", "Jean Zay: NVLink3 in node, 4x OmniPath 100 per node", "jean-zay-a100");
  node("V100-32GB", "Jean Zay V100 node: 4x V100 NVLink2, 4x OmniPath 100 per node", "jean-zay-v100-32g");
  node("H200-141GB", "4-way NVIDIA NVLINK bridge", "h200-nvl-8");
}

TEST_CASE("models of one shape are told apart by their names") {
  const std::vector<Cell> shape = {{"n_layers", "80"},      {"hidden", "8192"}, {"n_heads", "64"},  {"n_kv_heads", "8"},
                                   {"ffn_hidden", "28672"}, {"vocab", "32000"}, {"seq_len", "4096"}};
  std::vector<Cell> cells = shape;
  cells.push_back({"model", "LLaMA2-70B (SFT)"});
  CHECK(scenario_with(cells).find("swiglu") != std::string::npos);
  cells = shape;
  cells[4].text = "32768";
  cells.push_back({"model", "a family of its own"});
  const ValidatedRun own = row_with(cells);
  CHECK(own.scenario.find("gelu") != std::string::npos);
  CHECK(own.reading.find("the name is of no known family") != std::string::npos);
}

TEST_CASE("parameters that Megatron Core shards are Megatron FSDP's") {
  const auto framework = [](const char* zero) {
    return job_of(row_with({{"model", "llama3-8b"},
                            {"n_layers", "32"},
                            {"hidden", "4096"},
                            {"n_heads", "32"},
                            {"vocab", "128256"},
                            {"gpu", "H100-80GB"},
                            {"dtype", "bf16"},
                            {"flags", ""},
                            {"tp", "1"},
                            {"global_batch", "32"},
                            {"zero_stage", zero}}))
        .training.framework;
  };
  CHECK(framework("1") == "megatron-core");
  CHECK(framework("3 (FSDP)") == "megatron-fsdp");
}

TEST_CASE("what a recipe does without printing it stands in its source's mapping") {
  const std::string header =
      "source,model,n_layers,hidden,n_heads,vocab,seq_len,gpu,n_gpus,tp,micro_batch,global_batch,"
      "dtype,recompute,s_per_iter_derived\n";
  const std::string row = ",llama3-8b,32,4096,32,128256,8192,H100-80GB,8,2,1,32,fp8,none,1\n";
  const auto runs = read(header + "NVIDIA/NeMo:docs/page.md" + row + "a page on NeMo" + row);
  const Job recipe = job_of(runs[0]);
  CHECK(recipe.training.gradient_precision == "bf16");
  CHECK(recipe.training.fp8_parameters);
  CHECK(recipe.strategy.sequence_parallel);
  CHECK(runs[0].reading.find("nvidia-recipes.map.yaml") != std::string::npos);
  const Job other = job_of(runs[1]);
  CHECK(other.training.gradient_precision.empty());
  CHECK_FALSE(other.training.fp8_parameters);
  CHECK_FALSE(other.strategy.sequence_parallel);
}

TEST_CASE("a run under XLA is sharded over the ranks that its flags say, and has the attention that they say") {
  const auto job_with = [](const std::string& flags) {
    const ValidatedRun run = row_with({{"gpu", "H100-80GB"},
                                       {"n_gpus", "256"},
                                       {"gpus_per_node", "8"},
                                       {"tp", "1"},
                                       {"micro_batch", "2"},
                                       {"global_batch", "512"},
                                       {"zero_stage", ""},
                                       {"sequence_parallel", ""},
                                       {"flags", flags}});
    INFO(run.skipped);
    REQUIRE(run.skipped.empty());
    return job_of(run);
  };
  const Job fused = job_with("JAX/XLA FSDP=128 DP=2; TransformerEngine; flash attention");
  CHECK(fused.strategy.zero == 3);
  CHECK(fused.strategy.zero_group == 128);
  CHECK(fused.framework.fusion.attention.front() == "cudnn");
  const Job plain = job_with("JAX/XLA FSDP=256 DP=1; TransformerEngine");
  CHECK(plain.strategy.zero == 3);
  CHECK(plain.strategy.zero_group == 0);
  CHECK(plain.framework.fusion.attention.empty());
  CHECK(job_with("JAX/XLA FSDP=1 DP=256").strategy.zero == 0);
}

TEST_CASE("flash attention is refused under a framework that is not known to have it") {
  const std::vector<Cell> eager = {{"tp", "1"}, {"zero_stage", "0"}, {"flags", "native DDP; flash attention"}};
  CHECK(row_with(eager).skipped.find("the framework has no flash attention") != std::string::npos);
  const Job neox = job_of(row_with({{"flags", "Megatron-DeepSpeed; flash attention"}}));
  CHECK(neox.framework.fusion.attention == std::vector<std::string>{"flash-1"});
}
