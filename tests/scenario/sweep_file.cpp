#include "scenario/sweep_file.hpp"

#include "base/error.hpp"
#include "fixture.hpp"
#include "scenario/point_reader.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace {

const std::string kScenario =
    "scenario:\n"                                             // 1
    "  model: gpt3-1.3b\n"                                    // 2
    "  cluster: {nodes: [{type: dgx-a100-80g, count: 1}]}\n"  // 3
    "  training: {global_batch: 64}\n"                        // 4
    "  strategy: {micro_batch: 2}\n";                         // 5

SweepFile sweep(const std::string& rest) { return parse_sweep(Document::from_text(kScenario + rest, "sweep.yaml")); }

std::string refused(const std::string& rest) {
  try {
    sweep(rest);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.where().text() + ": " + error.message();
  }
  return "accepted";
}

std::vector<std::string> values_of(const std::string& range) {
  std::vector<std::string> out;
  const SweepFile file = sweep("axes: [{grid: {training.global_batch: " + range + "}}]\n");
  for (const Value& value : file.axes()[0].columns[0].values) out.push_back(value.scalar);
  return out;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("points are numbered as an odometer counts: the last axis fastest") {
  const SweepFile file = sweep(
      "axes:\n"
      "  - grid: {strategy.tensor: [1, 2], training.global_batch: [8, 16, 32]}\n"
      "  - zip: {strategy.zero: [0, 1], training.precision: [bf16, fp16]}\n");
  CHECK(file.points() == 12);
  std::vector<std::uint32_t> digits;
  for (std::uint32_t point = 0; point < 12; ++point) {
    file.find_digits(point, digits);
    CHECK(digits == std::vector<std::uint32_t>{point / 6, point / 2 % 3, point % 2});
  }
}

TEST_CASE("the order of work is a permutation in which only batches change fastest and hardware slowest") {
  const SweepFile file = sweep(
      "axes:\n"
      "  - grid:\n"
      "      training.global_batch: [8, 16, 32]\n"
      "      strategy.tensor: [1, 2]\n"
      "      cluster.nodes[0].count: [1, 2]\n");
  std::vector<bool> seen(12);
  std::vector<std::uint32_t> digits;
  for (std::uint32_t position = 0; position < 12; ++position) {
    const std::uint64_t point = file.point_at(position);
    CHECK(!seen.at(point));
    seen[point] = true;
    file.find_digits(point, digits);
    CHECK(digits == std::vector<std::uint32_t>{position % 3, position / 3 % 2, position / 6});
  }
}

TEST_CASE("ranges end at their end or before it, and hold no noise of the arithmetic") {
  CHECK(values_of("{from: 1, to: 7, step: 2}") == Texts{"1", "3", "5", "7"});
  CHECK(values_of("{from: 1, to: 6, step: 2}") == Texts{"1", "3", "5"});
  CHECK(values_of("{from: 4, to: 2, step: -1}") == Texts{"4", "3", "2"});
  CHECK(values_of("{from: 1, to: 64, factor: 4}") == Texts{"1", "4", "16", "64"});
  CHECK(values_of("{from: 8, to: 1, factor: 0.5}") == Texts{"8", "4", "2", "1"});
  CHECK(values_of("{from: 0.1, to: 0.3, step: 0.1}") == Texts{"0.1", "0.2", "0.3"});
  CHECK(values_of("{from: 5, to: 5, step: 1}") == Texts{"5"});
}

TEST_CASE("the type of a column is the narrowest that holds all values") {
  const auto type = [](const std::string& values) {
    return sweep("axes: [{grid: {training.tokens: " + values + "}}]\n").axes()[0].columns[0].type;
  };
  CHECK(type("[1, 2e3]") == AxisType::integer);
  CHECK(type("[1, 2.5]") == AxisType::number);
  CHECK(type("[true, false]") == AxisType::boolean);
  CHECK(type("[1, true]") == AxisType::text);
  CHECK(type("['1', '2']") == AxisType::text);
  CHECK(type("[{rank: 8}, null]") == AxisType::text);
  CHECK(
      text_of(sweep("axes: [{grid: {training.lora: [{rank: 8, targets: [qkv]}]}}]\n").axes()[0].columns[0].values[0]) ==
      "{rank: 8, targets: [qkv]}");
}

TEST_CASE("what is wrong with a sweep file is said at its place") {
  CHECK(refused("") == "sweep.yaml:1:1: the key 'axes' is missing");
  CHECK(refused("axes: []\n") == "sweep.yaml:6:7: axes: expected at least one axis");
  CHECK(refused("axis: []\naxes: []\n") == "sweep.yaml:6:1: axis: unknown key");
  CHECK(refused("axes: [{gird: {a: [1]}}]\n") == "sweep.yaml:6:9: axes[0].gird: unknown key");
  CHECK(refused("axes: [{}]\n") ==
        "sweep.yaml:6:8: axes[0]: expected an axis: either 'grid' or 'zip' with keys and values");
  CHECK(refused("axes: [{grid: {}}]\n").starts_with("sweep.yaml:6:15: axes[0].grid: expected keys of the scenario"));
  CHECK(refused("axes: [{grid: {strategy.tensor: 4}}]\n")
            .starts_with("sweep.yaml:6:33: axes[0].grid.strategy.tensor: expected a list of values or a range"));
  CHECK(refused("axes: [{grid: {strategy.tensor: []}}]\n")
            .starts_with("sweep.yaml:6:33: axes[0].grid.strategy.tensor: expected at least one value"));
  CHECK(refused("axes: [{grid: {strategy..tensor: [1]}}]\n") == "sweep.yaml:6:16: the path has an empty key");
  CHECK(refused("axes: [{zip: {a: [1, 2], b: [1]}}]\n") == "sweep.yaml:6:26: zip: 'a' has 2 values and 'b' has 1");
  CHECK(refused("axes: [{grid: {a: [1]}}, {grid: {a: [2]}}]\n") ==
        "sweep.yaml:6:34: the key 'a' has values already, in line 6");
  CHECK(refused("axes: [{grid: {a.b: [1]}}, {grid: {a: [2]}}]\n") ==
        "sweep.yaml:6:36: 'a' replaces 'a.b', which comes before it");
  CHECK(refused("axes: [{grid: {a: {from: 1, to: 2}}}]\n")
            .starts_with("sweep.yaml:6:19: axes[0].grid.a: expected a range with either a step or a factor"));
  CHECK(refused("axes: [{grid: {a: {from: 1, to: 2, step: 0}}}]\n").find("step that is not 0") != std::string::npos);
  CHECK(refused("axes: [{grid: {a: {from: 1, to: 2, step: -1}}}]\n").find("starts at 1 and moves away from 2") !=
        std::string::npos);
  CHECK(refused("axes: [{grid: {a: {from: -1, to: 2, factor: 2}}}]\n").find("cannot reach or cross 0") !=
        std::string::npos);
  CHECK(refused("axes: [{grid: {a: {from: 1, to: 1e9, step: 1}}}]\n").find("more than 65536 values") !=
        std::string::npos);
  CHECK(refused("axes: [{grid: {a: {from: 1, to: 6e4, step: 1}, b: {from: 1, to: 6e4, step: 1}, c: [1, 2]}}]\n") ==
        "sweep.yaml:6:7: axes: the axes make more than 2^32 points");
  CHECK(refused("set: {model.layers: 3}\naxes: [{grid: {a: [1]}}]\n") ==
        "sweep.yaml:6:7: 'layers' is asked of a value that is not a mapping");
}

TEST_CASE("a scenario file that is not there is refused where it is named") {
  try {
    parse_sweep(Document::from_text("scenario: none.yaml\naxes: []\n", "sweep.yaml"));
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.where().text() == "sweep.yaml:1:11");
    CHECK(error.message() == "scenario: there is no scenario file 'none.yaml'");
  }
}

TEST_CASE("the definition of a sweep is a sweep file of the same points") {
  const SweepFile file = sweep(
      "set: {strategy.zero: 1}\n"
      "axes:\n"
      "  - grid: {model: [gpt3-1.3b, {layers: 2, hidden: 64, heads: 4, vocab: 100, max_sequence: 64}]}\n"
      "  - zip: {strategy.tensor: {from: 1, to: 4, factor: 2}, training.tokens: [1e9, 2e9, 3e9]}\n");
  const SweepFile again = parse_sweep(Document::from_text(file.definition(), "again.yaml"));
  CHECK(again.definition() == file.definition());
  CHECK(again.points() == file.points());
}

TEST_CASE("a point is read as its scenario would be with the values of the axes as overrides") {
  const SweepFile file = sweep(
      "axes:\n"
      "  - grid: {cluster: [{nodes: [{type: dgx-a100-80g, count: 2}]}, {nodes: [{type: hgx-h100, count: 1}]}]}\n"
      "  - grid: {'cluster.nodes[0].count': [1, 2]}\n"
      "  - grid: {model: [gpt3-1.3b, llama3-8b], strategy: [{tensor: 2}, {tensor: 4, zero: 1}]}\n"
      "  - grid: {training.global_batch: [64, 128], strategy.micro_batch: [1, 2]}\n");
  PointReader reader(file, Catalog(data_folders().hardware), data_folders());
  for (std::uint64_t position = 0; position < file.points(); ++position) {
    const std::uint64_t point = file.point_at(position);
    std::vector<std::uint32_t> digits;
    file.find_digits(point, digits);
    Document document = file.base();
    for (std::size_t i = 0; i < digits.size(); ++i) {
      for (const AxisColumn& column : file.axes()[i].columns) {
        document.assign(column.path, column.values[digits[i]], column.where);
      }
    }
    reader.read(point);
    std::string resolved;
    for (const std::string_view section : reader.resolved()) resolved += section;
    CHECK(resolved == parse_scenario(document, data_folders()).resolved);
  }
}

TEST_CASE(
    "a scenario that mirfak import or search wrote has points: what it notes, and what it searched, are none of "
    "theirs") {
  const SweepFile file = sweep(
      "set: {notes: ['train.sh:3: has no effect'], search: {objective: time}}\n"
      "axes: [{grid: {strategy.tensor: [2, 4]}}]\n");
  PointReader reader(file, Catalog(data_folders().hardware), data_folders());
  CHECK(reader.read(1).strategy.tensor == 4);
}

TEST_CASE("a point that cannot be read does not disturb the next") {
  const SweepFile file = sweep("axes: [{grid: {strategy.tensor: [2, 0, 3, 4], training.precision: [bf16, f16]}}]\n");
  PointReader reader(file, Catalog(data_folders().hardware), data_folders());
  std::string outcome;
  for (std::uint64_t point = 0; point < file.points(); ++point) {
    try {
      outcome += fmt::format("{} ", reader.read(point).strategy.tensor);
    } catch (const Error& error) {
      outcome += fmt::format("{}:{} ", error.kind() == ErrorKind::input ? "input" : "infeasible", error.where().column);
    }
  }
  // Infeasible: 8 GPUs do not divide by 3.
  CHECK(outcome == "2 input:74 input:37 input:74 infeasible:40 input:74 4 input:74 ");
}
