// Every wrong scenario is refused with the status that its kind of mistake has, at the place of the mistake, with what
// was expected or what to do, and leaves nothing behind: no output, no file.

#include "program.hpp"

#include <doctest/doctest.h>

namespace errors_test {

using namespace mirfak::test;

namespace {

// 24 layers, hidden 2048, 16 heads of 128, on 16 GPUs.
constexpr const char* kGood = R"(model: gpt3-1.3b
cluster:
  nodes: [{type: dgx-a100-80g, count: 2}]
training:
  global_batch: 96
strategy:
  tensor: 2
  pipeline: 4
)";

struct Mistake {
  std::string what;
  std::string line;         // of kGood, replaced ...
  std::string replacement;  // ... by this; the line begins with it
  int status;
  std::vector<std::string> said;
};

std::string with(const Mistake& mistake) {
  std::string text = kGood;
  const std::size_t at = text.find(mistake.line);
  REQUIRE(at != std::string::npos);
  return text.replace(at, mistake.line.size(), mistake.replacement);
}

Finished simulate(const ScratchFolder& folder, const std::string& scenario, std::vector<std::string> options = {}) {
  std::vector<std::string> arguments = {"simulate", scenario, "--trace", "t.h5", "--timeline", "t.json"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return run(Invocation{arguments, folder.path()});
}

void check_refused(const Finished& finished, int status, const std::vector<std::string>& said) {
  CHECK(finished.signal == 0);
  CHECK(finished.status == status);
  CHECK(finished.out.empty());
  CHECK_MESSAGE(finished.err.starts_with("mirfak: error: "), finished.err);
  for (const std::string& part : said) {
    CHECK_MESSAGE(finished.err.find(part) != std::string::npos, "expected \"" << part << "\" in: " << finished.err);
  }
}

const std::vector<Mistake> kMistakes = {
    {"unknown key", "tensor: 2", "tensr: 2", 2, {"s.yaml:7:3: strategy.tensr: unknown key", "'tensor'"}},
    {"unknown section", "strategy:", "strategie:", 2, {"s.yaml:6:1: ", "unknown key", "'strategy'"}},
    {"a key of another section", "tensor: 2", "global_batch: 2", 2, {"s.yaml:7:3: ", "unknown key"}},
    {"key twice", "pipeline: 4", "tensor: 4", 2, {"s.yaml:8:3: ", "tensor"}},
    {"missing key", "global_batch: 96", "tokens: 1e9", 2, {"s.yaml:5:3: training: the key 'global_batch' is missing"}},
    {"missing section", "model: gpt3-1.3b\n", "", 2, {"s.yaml:1:1: the key 'model' is missing"}},
    {"word for a number", "tensor: 2", "tensor: two", 2, {"s.yaml:7:11: ", "expected a whole number, found 'two'"}},
    {"quoted number", "tensor: 2", "tensor: '2'", 2, {"s.yaml:7:11: ", "expected a whole number"}},
    {"fraction", "tensor: 2", "tensor: 1.5", 2, {"s.yaml:7:11: ", "expected a whole number, found '1.5'"}},
    {"list for a number", "tensor: 2", "tensor: [2]", 2, {"s.yaml:7:11: ", "expected a whole number, found a list"}},
    {"number for a section", "strategy:\n  tensor: 2\n  pipeline: 4", "strategy: 4", 2, {"s.yaml:6:11: ", "mapping"}},
    {"mapping for a list",
     "[{type: dgx-a100-80g, count: 2}]",
     "{type: dgx-a100-80g, count: 2}",
     2,
     {"s.yaml:3:10: cluster.nodes: expected a list"}},
    {"negative", "tensor: 2", "tensor: -2", 2, {"s.yaml:7:11: ", "expected a whole number from 1 to", "'-2'"}},
    {"zero", "global_batch: 96", "global_batch: 0", 2, {"s.yaml:5:17: ", "from 1 to", "'0'"}},
    {"huge", "global_batch: 96", "global_batch: 1e300", 2, {"s.yaml:5:17: ", "from 1 to"}},
    {"too large to be a number", "global_batch: 96", "global_batch: 1e999", 2, {"s.yaml:5:17: ", "too large"}},
    {"infinite", "global_batch: 96", "global_batch: .inf", 2, {"s.yaml:5:17: ", "expected a whole number"}},
    {"not a number", "global_batch: 96", "global_batch: .nan", 2, {"s.yaml:5:17: ", "expected a whole number"}},
    {"no nodes", "count: 2", "count: 0", 2, {"s.yaml:3:39: ", "from 1 to"}},
    {"more nodes than there are", "count: 2", "count: 1e9", 2, {"s.yaml:3:39: ", "from 1 to"}},
    {"empty list of nodes", "[{type: dgx-a100-80g, count: 2}]", "[]", 2, {"s.yaml:3:10: ", "at least one entry"}},
    {"unknown model", "gpt3-1.3b", "gpt3-1.4b", 2, {"s.yaml:1:8: there is no model 'gpt3-1.4b'", "'gpt3-1.3b'"}},
    {"missing model file", "gpt3-1.3b", "./config.json", 2, {"config.json"}},
    {"a link within nodes as their network",
     "count: 2}",
     "count: 2, network: nvlink3}",
     2,
     {"s.yaml:3:", "'nvlink3' joins a GPU to gpus, not to nodes"}},
    {"more recomputed layers than there are",
     "pipeline: 4",
     "pipeline: 4\n  recompute: full\n  recompute_layers: 7",
     3,
     {"s.yaml:10:21: ", "the largest has 6"}},
    {"unknown node", "dgx-a100-80g", "dgx-a100", 2, {"s.yaml:3:18: ", "unknown node type 'dgx-a100'"}},
    {"unknown framework",
     "global_batch: 96",
     "global_batch: 96\n  framework: megatron-cor",
     2,
     {"s.yaml:6:14: ", "'megatron-core'"}},
    {"unknown precision", "global_batch: 96", "global_batch: 96\n  precision: bf61", 2, {"s.yaml:6:14: ", "'bf16'"}},
    {"unknown schedule", "pipeline: 4", "pipeline: 4\n  schedule: 1f2b", 2, {"s.yaml:9:13: ", "'1f1b'"}},
    {"unknown fabric", "training:", "  fabric: {type: fattree}\ntraining:", 2, {"s.yaml:4:18: ", "'fat-tree'"}},
    {"unknown provider", "training:", "  price: avs/spot\ntraining:", 2, {"s.yaml:4:10: ", "'aws'"}},
    {"syntax: bracket", "count: 2}]", "count: 2}", 2, {"s.yaml:"}},
    {"syntax: tab", "  tensor: 2", "\ttensor: 2", 2, {"s.yaml:7:"}},
    {"syntax: indentation", "  pipeline: 4", " pipeline: 4", 2, {"s.yaml:8:"}},
    {"two documents", "strategy:", "---\nstrategy:", 2, {"s.yaml:6:1: "}},
    {"layers not divisible",
     "pipeline: 4",
     "pipeline: 16\n",
     3,
     {"s.yaml:7:11: ", "16 GPUs", "tensor 2 x pipeline 16"}},
    {"layers not divisible over stages",
     "tensor: 2\n  pipeline: 4",
     "tensor: 1\n  pipeline: 16",
     3,
     {"s.yaml:8:13: ", "24 layers cannot be divided into pipeline 16", "1, 2, 3, 4, 6, 8, 12, 24"}},
    {"GPUs not divisible", "pipeline: 4", "pipeline: 3", 3, {"16 GPUs cannot be divided", "tensor 2 x pipeline 3 = 6"}},
    {"heads not divisible",
     "gpt3-1.3b",
     "gpt2-1.5b",
     3,
     {"s.yaml:7:11: ", "25 attention heads", "possible sizes: 1, 5"}},
    {"product beyond any integer",
     "tensor: 2\n  pipeline: 4",
     "tensor: 1048576\n  pipeline: 1048576",
     3,
     {"s.yaml:7:11: ", "16 GPUs cannot be divided"}},
    {"batch not divisible", "global_batch: 96", "global_batch: 97", 3, {"s.yaml:5:17: ", "97 cannot be divided"}},
    {"ranks do not fill the cluster",
     "pipeline: 4",
     "pipeline: 4\n  data: 3",
     3,
     {"s.yaml:9:9: ", "24 ranks", "16 GPUs"}},
    {"chunks without interleaving",
     "pipeline: 4",
     "pipeline: 4\n  virtual_pipeline: 2\n  schedule: 1f1b",
     3,
     {"s.yaml:9:21: ", "set strategy.schedule: interleaved-1f1b"}},
    {"a team on two types of GPU",
     "count: 2}]",
     "count: 1, gpus: 7}, {type: hgx-h100, count: 3, gpus: 3}]\n# ",
     3,
     {"s.yaml:3:", "dgx-a100-80g"}},
    {"a layer split that is none",
     "pipeline: 4",
     "pipeline: 4\n  layer_split: [6, 6, 6]",
     3,
     {"s.yaml:9:16: ", "with 24"}},
    {"a precision the GPU lacks", "dgx-a100-80g", "dgx-1-v100-32g", 3, {"bf16", "choose another precision or GPU"}},
};

}  // namespace

TEST_CASE("the scenario that the mistakes are made in is right") {
  const ScratchFolder folder;
  folder.write("s.yaml", kGood);
  const Finished finished = simulate(folder, "s.yaml");
  CHECK(finished.status == 0);
  CHECK(finished.err.empty());
  CHECK(folder.names() == std::vector<std::string>{"s.yaml", "t.h5", "t.json"});
}

TEST_CASE("a wrong scenario is refused at the place of the mistake") {
  for (const Mistake& mistake : kMistakes) {
    CAPTURE(mistake.what);
    const ScratchFolder folder;
    folder.write("s.yaml", with(mistake));
    check_refused(simulate(folder, "s.yaml"), mistake.status, mistake.said);
    CHECK(folder.names() == std::vector<std::string>{"s.yaml"});
  }
}

TEST_CASE("more tensor parallelism than heads is refused") {
  const ScratchFolder folder;
  folder.write("s.yaml", kGood);
  const Finished finished = simulate(
      folder, "s.yaml", {"--set", "model=gpt2-124m", "--set", "strategy.tensor=16", "--set", "strategy.pipeline=1"});
  check_refused(finished, 3, {"--set strategy.tensor=16: ", "12 attention heads", "possible sizes: 1, 2, 3, 4, 6, 12"});
}

TEST_CASE("an override is named as it was given") {
  struct Override {
    std::string assignment;
    int status;
    std::string said;
  };
  const std::vector<Override> overrides = {
      {"strategy.tensr=4", 2, "did you mean 'tensor'?"},
      {"strategy.tensor=four", 2, "expected a whole number, found 'four'"},
      {"strategy.tensor=[", 2, ""},
      {"strategy.tensor.size=4", 2, "not a mapping"},
      {"strategy", 2, "expected key=value"},
      {"=4", 2, "expected key=value"},
      {"strategy..tensor=4", 2, "empty key"},
      {"cluster.nodes[1].count=4", 2, "index 1 is outside the list"},
      {"cluster.nodes[x].count=4", 2, "expected an index"},
      {"cluster.nodes[0.count=4", 2, "["},
      {"cluster[0]=4", 2, "not a list"},
      {"model=gpt3-1.3c", 2, "did you mean 'gpt3-1.3b'?"},
      {"strategy.tensor=32", 3, "16 GPUs cannot be divided"},
  };
  const ScratchFolder folder;
  folder.write("s.yaml", kGood);
  for (const Override& given : overrides) {
    CAPTURE(given.assignment);
    const Finished finished = simulate(folder, "s.yaml", {"--set", given.assignment});
    check_refused(finished, given.status, {"--set " + given.assignment + ": ", given.said});
  }
  CHECK(folder.names() == std::vector<std::string>{"s.yaml"});
}

TEST_CASE("what is no scenario is refused") {
  const ScratchFolder folder;
  folder.write("empty.yaml", "");
  folder.write("comment.yaml", "# nothing\n");
  folder.write("list.yaml", "- model\n");
  folder.write("word.yaml", "gpt3-175b\n");
  folder.write("binary.yaml", "\x89HDF\r\n\x1a\n\xff\xfe\x01");
  folder.write("zeros.yaml", std::string(100'000, '\0'));
  folder.write("large.yaml", std::string(3 << 20, ' '));
  folder.write("deep.yaml", std::string(100'000, '['));
  folder.write("aliases.yaml",
               "a: &a [x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\n"
               "c: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c]\n"
               "e: &e [*d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e]\n");
  const std::vector<std::string> before = folder.names();
  for (const std::string& name : before) {
    CAPTURE(name);
    check_refused(simulate(folder, name), 2, {name + ":"});
  }
  check_refused(simulate(folder, "missing.yaml"), 2, {"missing.yaml: there is no such file"});
  check_refused(simulate(folder, "models"), 2, {"models: this is a folder, expected a file"});
  check_refused(simulate(folder, ""), 2, {"empty"});
  CHECK(folder.names() == before);
}

TEST_CASE("an output file that cannot be written is refused") {
  const ScratchFolder folder;
  folder.write("s.yaml", kGood);
  for (const std::string option : {"--trace", "--timeline", "--links"}) {
    for (const std::string path : {"no/such/folder/file", "models", ""}) {
      CAPTURE(option);
      CAPTURE(path);
      const Finished finished = run(Invocation{{"simulate", "s.yaml", option, path}, folder.path()});
      check_refused(finished, 2, {path});
      CHECK(folder.names() == std::vector<std::string>{"s.yaml"});
    }
  }
}

TEST_CASE("data folders that are not there are refused") {
  const ScratchFolder folder;
  folder.write("s.yaml", kGood);
  check_refused(simulate(folder, "s.yaml", {"--data", "nowhere"}), 2, {"nowhere/models: ", "MIRFAK_DATA"});
  const Finished from_environment =
      run(Invocation{{"simulate", "s.yaml"}, folder.path(), {"MIRFAK_DATA=" + (folder.path() / "gone").string()}});
  check_refused(from_environment, 2, {"gone/models: "});
  const Finished chosen = run(Invocation{{"simulate", "s.yaml", "--data", "."}, folder.path(), {"MIRFAK_DATA=/gone"}});
  CHECK(chosen.status == 0);
}

}  // namespace errors_test
