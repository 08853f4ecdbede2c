#include "fixture.hpp"

#include "scenario/search_scenario.hpp"
#include "simulation/iteration.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace mirfak;
using namespace mirfak::test;

TEST_CASE("what is left out has the default a Megatron-LM user would expect") {
  const Job job = parse(kSmall).job;
  CHECK(job.strategy.data == 8);
  CHECK(job.strategy.tensor == 1);
  CHECK(job.strategy.schedule == schedule_named("1f1b"));
  CHECK(job.training.precision == "bf16");
  CHECK(job.training.sequence_length == 2048);
  CHECK(job.framework.name == "megatron-core");
  REQUIRE(job.cluster.groups()[0].price);
  CHECK(job.cluster.groups()[0].price->kind == PriceKind::on_demand);
}

TEST_CASE("the keys left to their defaults are known: those of the resolved scenario that nobody wrote") {
  const std::vector<std::string> keys = parse(kSmall, {"training.precision=fp16"}).defaulted;
  const auto defaulted = [&](const char* key) { return std::find(keys.begin(), keys.end(), key) != keys.end(); };
  for (const char* key :
       {"strategy.tensor", "strategy.data", "training.framework", "cluster.price", "cluster.fabric.type"}) {
    CHECK(defaulted(key));
  }
  for (const char* key :
       {"model", "cluster.nodes", "training.global_batch", "training.precision", "strategy.micro_batch"}) {
    CHECK_FALSE(defaulted(key));
  }
  CHECK(parse(parse(kSmall).resolved).defaulted.empty());
}

TEST_CASE("chunks imply the interleaved schedule") {
  const Job job = parse(kSmall, {"strategy.pipeline=2", "strategy.virtual_pipeline=3"}).job;
  CHECK(job.strategy.schedule == schedule_named("interleaved-1f1b"));
  CHECK(job.strategy.data == 4);
}

TEST_CASE("overrides reach every key, sections that are not there included") {
  const Job job = parse(
                      "model: gpt3-1.3b\ncluster: {nodes: [{type: dgx-a100-80g, count: 1}]}\n"
                      "training: {global_batch: 64}\n",
                      {"cluster.nodes[0].count=4", "strategy.tensor=4", "training.precision=fp16", "cluster.price=spot",
                       "model=llama2-7b"})
                      .job;
  CHECK(job.cluster.gpus() == 32);
  CHECK(job.strategy.tensor == 4);
  CHECK(job.strategy.data == 8);
  CHECK(job.training.precision == "fp16");
  CHECK(job.cluster.groups()[0].price->kind == PriceKind::spot);
  CHECK(job.model.name == "llama2-7b");
}

TEST_CASE("adapters read back") {
  const Scenario first = parse(kSmall, {"training.lora={rank: 16, targets: [attention, fc2], dropout: 0.1}"});
  const LowRankAdapters& adapters = first.job.training.adapters;
  CHECK(adapters.rank == 16);
  CHECK(adapters.dropout == 0.1);
  CHECK((adapters.query_key_value && adapters.attention_output && adapters.mlp_down && !adapters.mlp_up));
  CHECK(parse(first.resolved).resolved == first.resolved);
}

TEST_CASE("lengths of documents read back, shortest first; one number is that of all") {
  const Scenario first = parse(kSmall, {"training.document_lengths={2048: 1, 512: 0.3}"});
  CHECK(first.job.training.documents == std::vector<DocumentCount>{{512, 0.3}, {2048, 1}});
  CHECK(parse(first.resolved).resolved == first.resolved);
  CHECK(parse(kSmall, {"training.document_lengths=700"}).job.training.documents ==
        std::vector<DocumentCount>{{700, 1}});
  CHECK(parse(kSmall, {"training.document_lengths=null"}).job.training.documents.empty());
}

TEST_CASE("the resolved scenario reads back as the same job, and resolves to itself") {
  const std::string folder = source_root() + "/scenarios";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    INFO(entry.path().string());
    if (entry.path().filename().string().starts_with("search-")) {
      const SearchScenario searched = load_search(entry.path(), {}, data_folders());
      CHECK(parse_search(Document::from_text(searched.resolved, "resolved"), data_folders()).resolved ==
            searched.resolved);
      continue;
    }
    const Scenario first = load_scenario(entry.path(), {}, data_folders());
    const Scenario second = parse(first.resolved);
    CHECK(second.resolved == first.resolved);
    if (first.job.strategy.ranks() > 64) continue;
    CHECK(simulate(second.job).timeline.hash() == simulate(first.job).timeline.hash());
    ++count;
  }
  CHECK(count > 0);
}

TEST_CASE("a node type given by its path reads back from anywhere, the links that it names by their paths too") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / "mirfak_node_by_path";
  fs::remove_all(folder);
  fs::create_directories(folder / "profile");
  fs::copy_file(data_folders().hardware / "links/ib-hdr.yaml", folder / "profile/own-link.yaml");
  std::ifstream in(data_folders().hardware / "nodes/dgx-a100-80g.yaml");
  std::string node((std::istreambuf_iterator<char>(in)), {});
  const std::string network = "network: ib-hdr\n";
  REQUIRE(node.find(network) != std::string::npos);
  node.replace(node.find(network), network.size(), "network: ./own-link.yaml\n");
  std::ofstream(folder / "profile/own-node.yaml") << node;
  std::string text = kSmall;
  const std::string type = "type: dgx-a100-80g";
  std::ofstream(folder / "job.yaml") << text.replace(text.find(type), type.size(), "type: profile/own-node.yaml");

  const Scenario first = load_scenario(folder / "job.yaml", {}, data_folders());
  const Scenario second = parse(first.resolved);  // of no file: relative paths would be those of the working directory
  CHECK(second.resolved == first.resolved);
  CHECK(second.job.cluster.groups()[0].hardware.spec.name == "own-node");
  CHECK(second.job.cluster.groups()[0].hardware.network.name == "own-link");

  const std::string override_type = "cluster.nodes[0].type=" + (folder / "profile/../profile/own-node.yaml").string();
  const std::string override_link = "cluster.nodes[0].network=" + (folder / "profile/own-link.yaml").string();
  CHECK(parse(kSmall, {override_type}).resolved == first.resolved);
  CHECK(parse(kSmall, {override_type, override_link}).resolved == first.resolved);
  CHECK(parse(parse(kSmall, {override_link}).resolved).job.cluster.groups()[0].hardware.network.name == "own-link");
  fs::remove_all(folder);
}
