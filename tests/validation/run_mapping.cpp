// Contents of mapping files, and that every fault in one is an error at its place.

#include "fixture.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace run_mapping_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

// A file of its own, removed at the end.
class MappingFile {
 public:
  explicit MappingFile(const std::string& text) {
    std::string name = (std::filesystem::temp_directory_path() / "mirfak-map-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder_ = name;
    std::ofstream(path()) << text;
  }
  MappingFile(const MappingFile&) = delete;
  MappingFile& operator=(const MappingFile&) = delete;
  ~MappingFile() { std::filesystem::remove_all(folder_); }

  std::filesystem::path path() const { return folder_ / "own.map.yaml"; }

 private:
  std::filesystem::path folder_;
};

void refused(const std::string& text, const char* why) {
  INFO(text);
  const MappingFile file(text);
  CHECK_THROWS_WITH_AS(mappings().own(file.path()), doctest::Contains(why), Error);
}

// The rows of a table read by a mapping of its own.
std::vector<ValidatedRun> read_by(const std::string& mapping, const std::string& rows) {
  const MappingFile file(mapping);
  const RunMapping own = mappings().own(file.path());
  return read_runs(table(rows), mappings(), folders(), &own);
}

const std::string kColumns =
    "card,cards,model,n_layers,hidden,n_heads,vocab,seq_len,micro_batch,global_batch,s_per_iter_derived\n";
const std::string kRow = ",8,GPT 22B,48,6144,64,51200,2048,1,8,1\n";
const std::string kMapping = R"(needs: [[card]]
columns:
  cards: {count: gpus}
  card:
    rules:
      - {words: the big one, set: {node: hgx-h100, strategy.tensor: 8}, inferred: a guess}
      - {words: "{n} of the old", set: {node: dgx-a100-80g, strategy.tensor: "{n}"}}
)";

}  // namespace

TEST_CASE("a user's table needs a file and no code") {
  // The vocabulary asks for gpu and n_gpus or for the keys themselves: the columns here are named otherwise.
  const std::string keys = "node,gpus," + kColumns.substr(kColumns.find("model"));
  const auto direct = read(keys + "hgx-h100" + kRow);
  REQUIRE_MESSAGE(direct[0].skipped.empty(), direct[0].skipped);
  CHECK(job_of(direct[0]).cluster.gpus() == 8);
  CHECK(read("strategy.tensor,training.precision," + keys + "4,fp8,hgx-h100" + kRow)[0].scenario.find("tensor: 4") !=
        std::string::npos);
}

TEST_CASE("faults of a mapping file are errors at their place") {
  refused("colums: {}", "own.map.yaml:1:1: colums: unknown key");
  refused("columns: {gpu: {}}", "own.map.yaml:1:16: columns.gpu: expected count, number, text, ignore or rules");
  refused("columns: {tp: {count: strategy.tensor, text: model.name}}", "one of count, number and text");
  refused("columns: {dtype: {rules: [{words: x}]}}", "expected exactly one of set, ignore and refuse");
  refused("columns: {dtype: {rules: [{words: x, set: {strategi.tensor: 2}}]}}", "'strategi.tensor' is neither a key");
  refused("columns: {dtype: {rules: [{words: x, set: {nodes: 2}}]}}", "did you mean 'node'?");
  refused("columns: {dtype: {rules: [{words: x, ignore: y, inferred: z}]}}", "only what a rule sets can be inferred");
  refused("columns: {dtype: {rules: [{words: x, set: {strategy.tensor: \"{n}\"}}]}}", "'n' is neither a column");
  refused("columns: {dtype: {rules: [{words: \"{n}\", set: {strategy.tensor: \"{n / 0}\"}}]}}", "expected {name}");
  refused("columns: {dtype: {rules: [{words: x, when: {gpus_per_nod: 8}, ignore: y}]}}",
          "did you mean 'gpus_per_node'?");
  refused("columns: {dtype: {rules: [{words: x, when: {strategy.zero: 1}, ignore: y}]}}", "may depend only on columns");
  refused("inferred: [{set: {strategy.tensor: 2}}]", "'note'");
  refused("inferred: [{note: x}]", "expected exactly one of set, drop and refuse");
  refused("memory_saving: {measures: {a: {set: {strategy.zero: 1}, note: x}}, order: [[b]]}", "'b'");
}

TEST_CASE("a key that no scenario has is an error of the mapping, not of the row") {
  const std::string rows = "node,gpus," + kColumns.substr(kColumns.find("model")) + "hgx-h100" + kRow;
  CHECK_THROWS_WITH_AS(read_by("inferred: [{set: {strategy.tensr: 2}, note: x}]", rows),
                       doctest::Contains("own.map.yaml:1:19"), Error);
  CHECK_THROWS_WITH_AS(read_by("inferred: [{set: {training.framework: my-fork}, note: x}]", rows),
                       doctest::Contains("own.map.yaml:1:39"), Error);
  // A value that the strategy's rules refuse is the row's fault.
  const auto runs = read_by("inferred: [{set: {strategy.tensor: 7}, note: x}]", rows);
  CHECK_FALSE(runs[0].skipped.empty());
}

TEST_CASE("rules of an own file come before those of the vocabulary, inferences too") {
  const std::string rows = "gpu,n_gpus,dtype," + kColumns.substr(kColumns.find("model"));
  const std::string row = "H100,8,half,GPT 22B,48,6144,64,51200,2048,1,8,1\n";
  CHECK(read(rows + row)[0].refusal.has_value());
  const auto runs = read_by(
      "columns: {dtype: {rules: [{words: half, set: {training.precision: fp16}}]}}\n"
      "inferred: [{set: {training.framework: deepspeed}, note: their code}]\n",
      rows + row);
  const Job job = job_of(runs[0]);
  CHECK(job.training.precision == "fp16");
  CHECK(job.training.framework == "deepspeed");
  CHECK(runs[0].reading.find("their code") != std::string::npos);
}

TEST_CASE("conditions compare cells, keys and what is computed of them") {
  const std::string rows = "gpu,n_gpus,tp,flags," + kColumns.substr(kColumns.find("model"));
  const std::string row = "H100,16,4,swiglu; rotary,GPT 22B,48,6144,64,51200,2048,1,8,1\n";
  const auto applies = [&](const std::string& condition) {
    const auto runs =
        read_by("inferred: [{when: {" + condition + "}, set: {training.optimizer: sgd}, note: x}]", rows + row);
    REQUIRE_MESSAGE(runs[0].skipped.empty(), runs[0].skipped);
    return runs[0].scenario.find("optimizer: sgd") != std::string::npos;
  };
  CHECK(applies("tp: 4"));
  CHECK_FALSE(applies("tp: [2, 8]"));
  CHECK(applies("tp: \">= 4\", n_gpus: \"> {tp * 3}\""));
  CHECK_FALSE(applies("n_gpus: \"< {tp * 3}\""));
  CHECK(applies("flags: ROTARY"));
  CHECK(applies("flags: \"!= alibi\""));
  CHECK_FALSE(applies("flags: \"!= rotary\""));
  CHECK(applies("recompute: open, gpu: stated"));
  CHECK(applies("data: 4"));  // 16 / 4
}

}  // namespace run_mapping_test
