// Tables of what there is: machines in hw_profiles/README.md, tricks in sim/GUIDE.md. They follow from the data files.
// MIRFAK_WRITE_PAGES=1 writes them.

#include "fixture.hpp"

#include "base/error.hpp"
#include "cluster/catalog.hpp"
#include "support/frameworks.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace overview_tables_test {

namespace {

const std::filesystem::path kSource = source_root();

std::string joined(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "`" : ", `") + name + "`";
  return out;
}

// Replaces what stands between the marks of a table.
void check_table(const std::filesystem::path& file, const std::string& name, const std::string& table) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  const std::string page = text.str();
  const std::size_t begin = page.find("-->\n", page.find("<!-- " + name + ":")) + 4;
  const std::size_t end = page.find("<!-- end of " + name + " -->");
  REQUIRE(begin <= end);
  const std::string wanted = page.substr(0, begin) + table + page.substr(end);
  if (std::getenv("MIRFAK_WRITE_PAGES") != nullptr) std::ofstream(file) << wanted;
  CHECK_MESSAGE(page == wanted, file.string(), ": the data say otherwise; MIRFAK_WRITE_PAGES=1 writes the table");
}

// The GPUs, with the types of nodes that have them.
std::string table_of_machines() {
  const Catalog catalog(kSource / "hw_profiles");
  std::map<std::string, std::set<std::string>> nodes;
  for (const std::string& node : catalog.names(ProfileKind::node)) {
    nodes[catalog.node(node).gpu.name].insert(node);
  }
  std::string out = "| GPU | what it is | memory, GB | GB/s | nodes |\n|---|---|---|---|---|\n";
  for (const std::string& name : catalog.names(ProfileKind::gpu)) {
    const GpuSpec gpu = catalog.gpu(name);
    out += fmt::format("| `{}` | {} | {:.1f} | {:.0f} | {} |\n", name, gpu.title, gpu.memory_bytes.value / 1e9,
                       gpu.memory_bandwidth.value / 1e9, joined(nodes[name]));
  }
  return out;
}

// A trick that only some frameworks have, and how a scenario asks for it.
struct Trick {
  std::string name;
  std::string key;                    // the key that asks for it
  std::vector<std::string> settings;  // of a job that uses it
};

std::vector<Trick> tricks() {
  return {
      {"frozen weights in 4 bits, with adapters (QLoRA)", "training.lora.base", {"training.lora={rank: 8, base: nf4}"}},
      {"adapters with magnitudes (DoRA)", "training.lora.decomposed", {"training.lora={rank: 8, decomposed: true}"}},
      {"words, head, projector or tower trained whole beside adapters",
       "training.lora.whole",
       {"model=llama2-7b", "training.lora={rank: 8, whole: [embedding, head]}"}},
      {"head and loss in chunks", "training.loss_chunks", {"strategy.zero=3", "training.loss_chunks=8"}},
      {"the optimizer alone on the host",
       "strategy.offload_optimizer",
       {"strategy.zero=1", "strategy.offload_optimizer=1"}},
      {"parameters on the host",
       "strategy.offload_parameters",
       {"strategy.zero=3", "strategy.offload_parameters=true", "strategy.offload_optimizer=1"}},
      {"activations of single modules on the host",
       "strategy.offload_modules",
       {"strategy.offload_modules=[core_attn]"}},
      {"the optimizer on disks",
       "strategy.optimizer_on_disk",
       {"strategy.zero=3", "strategy.offload_optimizer=1", "strategy.optimizer_on_disk=true",
        "cluster.nodes[0].disk_read_bandwidth=2e10", "cluster.nodes[0].disk_write_bandwidth=1e10"}},
      {"parameters on disks",
       "strategy.parameters_on_disk",
       {"strategy.zero=3", "strategy.offload_parameters=true", "strategy.offload_optimizer=1",
        "strategy.parameters_on_disk=true", "cluster.nodes[0].disk_read_bandwidth=2e10"}},
      {"shards in groups of ranks", "strategy.zero_group", {"strategy.zero=3", "strategy.zero_group=4"}},
      {"parameters gathered in 8 bits (qwZ of ZeRO++)",
       "strategy.quantized_gathers",
       {"strategy.zero=3", "strategy.quantized_gathers=true"}},
      {"a second copy of parameters in groups (hpZ of ZeRO++)",
       "strategy.zero_second_group",
       {"strategy.zero=3", "strategy.zero_second_group=4"}},
      {"gradients exchanged in 4 bits (qgZ of ZeRO++)",
       "strategy.quantized_reductions",
       {"strategy.zero=3", "strategy.quantized_reductions=true"}},
      {"collectives on few multiprocessors, by registered buffers",
       "strategy.registered_buffers",
       {"strategy.zero=1", "strategy.registered_buffers=true"}},
      {"layers recomputed in groups",
       "strategy.recompute_method",
       {"strategy.recompute=full", "strategy.recompute_method=uniform", "strategy.recompute_layers=2"}},
      {"all stages of a replica next to each other",
       "strategy.rank_order",
       {"strategy.pipeline=2", "strategy.rank_order=tp-cp-ep-pp-dp"}},
      {"context ranks that divide heads in groups, with a ring between them (a2a+p2p)",
       "strategy.context_heads",
       {"strategy.context=4", "strategy.context_heads=2"}},
      {"as many context ranks for each document as its length asks",
       "strategy.context_tokens",
       {"strategy.micro_batch=1", "strategy.context_tokens=4096"}},
      {"weights over tensor ranks and replicas (generalized tensor parallelism)",
       "strategy.weight_shards",
       {"strategy.zero=1", "strategy.weight_shards=8"}},
      {"experts with room for a fixed number of rows, without a wait for counts",
       "strategy.expert_rank_capacity",
       {"model=mixtral-8x7b", "strategy.expert=4", "strategy.expert_tensor=1", "strategy.expert_dispatcher=hybridep",
        "strategy.zero=1", "strategy.expert_rank_capacity=1.5"}},
      {"rows that experts keep in pages (paged stash)",
       "strategy.expert_stash",
       {"model=mixtral-8x7b", "strategy.expert=4", "strategy.expert_tensor=1", "strategy.expert_dispatcher=hybridep",
        "strategy.zero=1", "strategy.expert_rank_capacity=1.5", "training.precision=mxfp8",
        "cluster.nodes[0].type=hgx-b200", "strategy.expert_stash=1.1"}},
      {"optimizer states of low rank (GaLore)",
       "training.low_rank_gradients",
       {"training.low_rank_gradients={rank: 64}"}},
      {"learners that step apart (DiLoCo, torchft)",
       "training.local_steps",
       {"training.local_steps={learners: 4, every: 24}"}},
      {"microbatches in two halves", "strategy.nanobatches", {"strategy.tensor=2", "strategy.nanobatches=2"}},
  };
}

// The frameworks with which the job is not refused.
std::set<std::string> frameworks_with(const Trick& trick) {
  std::set<std::string> out;
  for (const std::string& name : framework_names()) {
    std::vector<std::string> settings = trick.settings;
    settings.push_back("training.framework=" + name);
    try {
      parse(kSmall, settings);
      out.insert(name);
    } catch (const Error& error) {
      CHECK(error.kind() != ErrorKind::internal);
    }
  }
  return out;
}

// True if an entry of a list of options decides the key.
bool decides(const Value& entry, const std::string& key) {
  if (entry.kind != Value::Kind::mapping) return false;
  const Value* const own = entry.find("key");
  return own != nullptr && own->scalar == key;
}

// The options of training programs that decide the key, by their lists.
std::set<std::string> options_for(const std::string& key) {
  std::set<std::string> out;
  for (const auto& file : std::filesystem::directory_iterator(kSource / "hw_profiles/launch/options")) {
    const Document list = Document::from_file(file.path());
    const Value* const options = list.root().find("options");
    REQUIRE(options != nullptr);
    for (const Value::Field& option : options->fields) {
      if (decides(option.value, key)) out.insert(option.key);
    }
  }
  return out;
}

std::string table_of_tricks() {
  std::string out = "| what | key | frameworks whose file has it | options that are imported |\n|---|---|---|---|\n";
  for (const Trick& trick : tricks()) {
    const std::set<std::string> frameworks = frameworks_with(trick);
    CHECK_MESSAGE(!frameworks.empty(), trick.name);
    out += fmt::format("| {} | `{}` | {} | {} |\n", trick.name, trick.key, joined(frameworks),
                       joined(options_for(trick.key)));
  }
  return out;
}

}  // namespace

TEST_CASE("hw_profiles/README.md has the table of machines") {
  check_table(kSource / "hw_profiles/README.md", "machines", table_of_machines());
}

TEST_CASE("sim/GUIDE.md has the table of tricks that only some frameworks have") {
  check_table(kSource / "sim/GUIDE.md", "tricks", table_of_tricks());
}

}  // namespace overview_tables_test
