// One table says what the keys of `training` are; reader, resolved scenario, schema and documentation follow from it.

#include "fixture.hpp"

#include "base/values.hpp"
#include "scenario/resolved.hpp"
#include "scenario/training_section.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace training_fields_test {

namespace {

const std::filesystem::path kPage = std::filesystem::path(source_root()) / "sim/files/scenario/README.md";
constexpr const char* kRow = "| `training.";

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::vector<std::string> out;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// True if the row says what the table does, and then a name that no source has: that of a framework.
bool goes_on(const std::string& row, const std::string& fallback, std::string_view sentence) {
  const std::size_t meaning = row.find(fmt::format(" | {}: `", sentence));
  return row.find("` | " + fallback + ": `") != std::string::npos && meaning != std::string::npos;
}

// Replaces the row of each key, and puts rows of new keys after the others.
std::vector<std::string> with_rows(std::vector<std::string> page) {
  for (const auto& field : training_fields().fields()) {
    const std::string begin = fmt::format("{}{}` |", kRow, field.key());
    const std::string row = fmt::format("{} {} | {} |", begin, field.default_in_words(), field.sentence());
    const auto own = std::find_if(page.begin(), page.end(), [&](const auto& line) { return line.starts_with(begin); });
    if (own != page.end() && field.key() == "framework" && goes_on(*own, field.default_in_words(), field.sentence())) {
      continue;
    }
    if (own != page.end()) {
      *own = row;
      continue;
    }
    const auto last = std::find_if(page.rbegin(), page.rend(), [](const auto& line) { return line.starts_with(kRow); });
    page.insert(last.base(), row);
  }
  return page;
}

}  // namespace

TEST_CASE("README.md of scenario/ has the row of every key of `training`, and no other") {
  const std::vector<std::string> page = lines_of(kPage);
  const std::vector<std::string> wanted = with_rows(page);
  if (std::getenv("MIRFAK_WRITE_PAGES") != nullptr) {
    std::ofstream out(kPage);
    for (const std::string& line : wanted) out << line << '\n';
  }
  CHECK_MESSAGE(page == wanted, kPage.string(), ": the table says otherwise; MIRFAK_WRITE_PAGES=1 writes it anew");
  const auto rows = std::count_if(page.begin(), page.end(), [](const auto& line) { return line.starts_with(kRow); });
  CHECK(rows == std::ssize(training_fields().fields()));
}

TEST_CASE("every key of `training` is read, written and reads back") {
  // A value of each key that is not its default, as the resolved scenario has it.
  const std::map<std::string, std::string, std::less<>> values = {
      {"global_batch", "128"},
      {"sequence_length", "1024"},
      {"precision", "fp16"},
      {"framework", "torchtitan"},
      {"document_lengths", "{512: 3, 2048: 1}"},
      {"images", "{0: 5, 1: 3, 4: 1}"},
      {"cuda_graphs", "[attention, full]"},
      {"lora", "{rank: 16, targets: [qkv, fc2], dropout: 0.1}"},
      {"frozen", "[tower, decoder]"},
      {"loss_chunks", "8"},
      {"local_steps", "{learners: 4, every: 24, fragments: 6, delay: 2, exchange: bf16, latency_s: 0, state: device}"},
      {"low_rank_gradients", "{rank: 64, every: 100}"},
      {"preferences", "{answers: 2, reference: model, mismatched: true}"},
      {"gradient_precision", "fp32"},
      {"optimizer", "adam-8bit"},
      {"first_moment", "bf16"},
      {"second_moment", "fp8"},
      {"main_parameters", "fp16"},
      {"expert_capacity_factor", "1.5"},
      {"tokens", "20000000000"}};
  // Settings that a value takes effect with.
  const std::map<std::string, std::vector<std::string>, std::less<>> needs = {
      {"fp8_attention", {"training.precision=fp8", "cluster.nodes[0].type=hgx-b200"}},
      {"images", {"model=qwen3-vl-4b"}},
      {"frozen", {"model=qwen3-vl-4b"}},
      {"loss_chunks", {"training.framework=torchtitan"}},
      {"low_rank_gradients", {"training.framework=huggingface"}},
      {"pad_to_capacity", {"training.expert_capacity_factor=1.5"}}};
  const TrainingSpec usual = parse(kSmall).job.training;
  for (const auto& field : training_fields().fields()) {
    CAPTURE(field.key());
    const auto given = values.find(field.key());
    const std::string value = given == values.end() ? "true" : given->second;
    std::vector<std::string> settings = {fmt::format("training.{}={}", field.key(), value)};
    if (const auto more = needs.find(field.key()); more != needs.end()) {
      settings.insert(settings.end(), more->second.begin(), more->second.end());
    }
    const Scenario scenario = parse(kSmall, settings);
    CHECK(scenario.job.training != usual);
    REQUIRE(field.is_written(scenario.job.training));
    CHECK(line_of(field.value(scenario.job.training)) == value);
    CHECK(parse(scenario.resolved).job.training == scenario.job.training);
  }
}

TEST_CASE("the completed scenario is the tree that the resolved text is read as") {
  const Scenario scenario = parse(kSmall, {"training.framework={like: megatron-core, fusion: {rotary: false}}"});
  const Value read = Document::from_text(scenario.resolved, "resolved").root();
  REQUIRE(read.fields.size() == scenario.completed.fields.size());
  for (const Value::Field& section : read.fields) {
    CAPTURE(section.key);
    REQUIRE(scenario.completed.find(section.key) != nullptr);
    CHECK(line_of(*scenario.completed.find(section.key)) == line_of(section.value));
  }
}

}  // namespace training_fields_test
