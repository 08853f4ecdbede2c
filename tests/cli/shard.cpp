// mirfak shard: annotations of a few tensors, completed.

#include "program.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <map>

using namespace mirfak::test;
using nlohmann::json;

namespace {

json sharded(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "shard");
  arguments.insert(arguments.end(), {"--format", "json"});
  const Finished finished = run(arguments);
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  return json::parse(finished.out);
}

std::string sharding_of(const json& model, const std::string& block, const std::string& tensor) {
  for (const json& entry : model["tensors"]) {
    if (entry["block"] == block && entry["name"] == tensor) return entry["sharding"];
  }
  return "none";
}

// Counts the collectives of each kind in a phase of a block.
std::map<std::string, int> collectives_of(const json& model, const std::string& block, const std::string& phase) {
  std::map<std::string, int> out;
  for (const json& entry : model["collectives"]) {
    if (entry["block"] == block && entry["phase"] == phase) ++out[entry["kind"]];
  }
  return out;
}

// A layer of GPT-3 13B as Megatron-LM divides it.
const std::vector<std::string> kMegatron = {
    "gpt3-13b",
    "--mesh",
    "data=8,tensor=4",
    "--annotate",
    "layer.attention.query_weight: (hidden, kv_heads@tensor, attention.g, head_dim)",
    "--annotate",
    "layer.mlp.up_weight: (hidden, ffn@tensor)",
    "--annotate",
    "token_ids: (batch@data, sequence)"};

}  // namespace

TEST_CASE("three annotations divide a layer as Megatron-LM does: two all-reduces forward, two backward") {
  const json model = sharded(kMegatron);
  CHECK(model["devices"] == 32);
  CHECK(model["batch"] == 8);
  CHECK(model["sequence"] == 2048);
  CHECK(sharding_of(model, "layer", "mlp.down_weight") == "(ffn@tensor, hidden)");
  CHECK(sharding_of(model, "layer", "d_mlp.up_weight") == "(hidden, ffn@tensor)");
  CHECK(collectives_of(model, "layer", "forward") == std::map<std::string, int>{{"all-reduce", 2}});
  CHECK(collectives_of(model, "layer", "backward") == std::map<std::string, int>{{"all-reduce", 2}});
  CHECK(model["time_s"].is_null());
  for (const json& entry : model["collectives"]) {
    if (entry["block"] != "layer" || entry["phase"] != "forward") continue;
    CHECK(entry["bytes"] == 2.0 * 1 * 2048 * 5120);  // s b h of one sequence in 16 bits
    CHECK(entry["mesh_axes"] == json::array({"tensor"}));
  }
}

TEST_CASE("with nodes, what a device does has a time") {
  std::vector<std::string> arguments = kMegatron;
  arguments.insert(arguments.end(), {"--nodes", "dgx-a100-80g:4"});
  const json model = sharded(arguments);
  CHECK(model["time_s"] > 0);
  CHECK(model["memory_bytes"] > model["parameter_bytes"]);
  std::vector<std::string> few = kMegatron;
  few.insert(few.end(), {"--nodes", "dgx-a100-80g:2"});
  few.insert(few.begin(), "shard");
  CHECK(run(few).status == 3);  // 32 devices, 16 GPUs
}

TEST_CASE("the picture has collectives as nodes of their own") {
  std::vector<std::string> arguments = kMegatron;
  arguments.insert(arguments.begin(), "shard");
  arguments.insert(arguments.end(), {"--format", "dot"});
  const Finished finished = run(arguments);
  REQUIRE(finished.status == 0);
  CHECK(finished.out.starts_with("digraph sharded {"));
  CHECK(finished.out.find("all-reduce over tensor") != std::string::npos);
}
