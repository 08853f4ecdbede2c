// Megatron-LM's own configurations and argument lists, whose layout is known: every one imports to it.

#include "base/csv.hpp"
#include "base/document.hpp"
#include "import/argument_words.hpp"
#include "import/import_formats.hpp"
#include "import/launch_command.hpp"
#include "import/megatron_settings.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace megatron_oracles_test {

using namespace mirfak;

namespace {

namespace fs = std::filesystem;

const ScenarioSources& sources() {
  static const ScenarioSources all(
      DataFolders{fs::path(source_root()) / "models", fs::path(source_root()) / "hw_profiles"});
  return all;
}

std::optional<fs::path> shared(const std::string& name) {
  const fs::path path = fs::path(source_root()).parent_path() / "shared" / name;
  if (fs::exists(path)) return path;
  MESSAGE("skipped: " << path.string() << " is not here");
  return std::nullopt;
}

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

// Returns the value of a key of the scenario: "strategy.tensor"; "" where it has none.
std::string said(const ImportDraft& draft, const std::string& key) {
  const Value* at = &draft.scenario();
  std::stringstream steps(key);
  for (std::string step; std::getline(steps, step, '.');) {
    at = at->kind == Value::Kind::mapping ? at->find(step) : nullptr;
    if (at == nullptr) return "";
  }
  if (at->kind != Value::Kind::sequence) return at->scalar;
  std::string out;
  for (const Value& item : at->items) out += (out.empty() ? "" : " ") + item.scalar;
  return out;
}

// Returns the value of a key; where models of blocks do not have it, the one in a line of the report.
std::string reported(const ImportDraft& draft, const std::string& key) {
  std::string out = said(draft, key);
  if (!out.empty()) return out;
  for (const ImportLine& line : draft.lines()) {
    const std::size_t at = line.key.find(key + ": ");
    if (at != std::string::npos)
      out = line.key.substr(at + key.size() + 2, line.key.find(',', at) - at - key.size() - 2);
  }
  return out;
}

struct Oracle {
  std::string column;
  std::string key;
};

std::string number_text(const std::string& text) {
  const double value = std::strtod(text.c_str(), nullptr);
  return fmt::format("{}", value);
}

// Counts the columns that are as the table says; prints the others with the name.
void compare(const ImportDraft& draft, const CsvTable& table, std::size_t row, const std::vector<Oracle>& oracles,
             const std::string& name) {
  for (const Oracle& oracle : oracles) {
    const std::string& expected = table.text(row, table.require(oracle.column));
    if (expected.empty() || expected.find('$') != std::string::npos) continue;
    if (oracle.column == "n_layers" && draft.scenario().find("model")->find("blocks") != nullptr) continue;
    if ((oracle.column == "kv_channels" || oracle.column == "head_dim") &&
        !said(draft, "model.latent_attention.value_dim").empty())
      continue;
    if (oracle.column == "num_experts" && expected == "1") continue;  // Megatron-DeepSpeed's word for a dense model
    if (oracle.column == "etp" && said(draft, "model.experts.count").empty() && expected == "1") continue;
    const std::string found = reported(draft, oracle.key);
    const bool numbers = expected.find_first_not_of("0123456789._e") == std::string::npos;
    INFO(name << ": " << oracle.column);
    if (numbers) CHECK(number_text(found) == number_text(expected));
    if (!numbers) CHECK(found == expected);
  }
}

}  // namespace

TEST_CASE("the functional tests of Megatron-LM import to the layout that stands in their table") {
  const auto folder = shared("megatron-goldens");
  if (!folder) return;
  const CsvTable cases = CsvTable::from_file(*folder / "cases.csv");
  const CsvTable goldens = CsvTable::from_file(*folder / "goldens.csv");
  std::map<std::string, std::size_t> rows;
  for (std::size_t row = 0; row < goldens.rows(); ++row) rows.emplace(goldens.text(row, goldens.require("case")), row);
  const std::vector<Oracle> oracles = {{"tp", "strategy.tensor"},
                                       {"pp", "strategy.pipeline"},
                                       {"cp", "strategy.context"},
                                       {"micro_batch", "strategy.micro_batch"},
                                       {"global_batch", "training.global_batch"},
                                       {"n_layers", "model.layers"},
                                       {"hidden", "model.hidden"},
                                       {"n_heads", "model.heads"},
                                       {"n_kv_heads", "model.kv_heads"},
                                       {"ffn_hidden", "model.ffn"},
                                       {"head_dim", "model.head_dim"},
                                       {"n_experts", "model.experts.count"},
                                       {"top_k", "model.experts.per_token"},
                                       {"moe_ffn", "model.experts.ffn"},
                                       {"vocab_padded", "model.vocab"},
                                       {"vstages_per_rank", "strategy.virtual_pipeline"},
                                       {"mtp_layers", "model.prediction_layers"}};
  int read = 0;
  int refused = 0;
  for (std::size_t row = 0; row < cases.rows(); ++row) {
    const std::string& name = cases.text(row, 0);
    const ImportFile file{name, text_of(*folder / "configs" / name / "model_config.yaml")};
    const ImportFormat* format = format_of(file);
    INFO(name);
    REQUIRE(format != nullptr);
    if (cases.text(row, cases.require("mode")) != "pretraining") {
      CHECK_THROWS_WITH_AS(format->read({&file, 1}, {sources()}), doctest::Contains("is not a training"), Error);
      ++refused;
      continue;
    }
    const ImportDraft draft = format->read({&file, 1}, {sources()});
    ++read;
    const auto golden = rows.find(name);
    if (golden != rows.end() && !name.starts_with("gpt-nemo")) compare(draft, goldens, golden->second, oracles, name);
  }
  CHECK(read == 161);
  CHECK(refused == 42);
}

TEST_CASE("argument lists of launch scripts import to the layout that stands in their table") {
  const auto folder = shared("launch-configs");
  if (!folder) return;
  const Document lists = Document::from_file(*folder / "megatron-scripts-expected.json");
  const CsvTable table = CsvTable::from_file(*folder / "megatron-scripts-expected.csv");
  std::map<std::string, std::size_t> rows;
  for (std::size_t row = 0; row < table.rows(); ++row) rows.emplace(table.text(row, 0), row);
  const std::vector<Oracle> oracles = {{"tp", "strategy.tensor"},
                                       {"pp", "strategy.pipeline"},
                                       {"cp", "strategy.context"},
                                       {"ep", "strategy.expert"},
                                       {"etp", "strategy.expert_tensor"},
                                       {"micro_batch_size", "strategy.micro_batch"},
                                       {"global_batch_size", "training.global_batch"},
                                       {"num_layers", "model.layers"},
                                       {"hidden_size", "model.hidden"},
                                       {"num_attention_heads", "model.heads"},
                                       {"ffn_hidden_size", "model.ffn"},
                                       {"kv_channels", "model.head_dim"},
                                       {"seq_length", "training.sequence_length"},
                                       {"num_experts", "model.experts.count"},
                                       {"moe_router_topk", "model.experts.per_token"},
                                       {"moe_ffn_hidden_size", "model.experts.ffn"},
                                       {"recompute_granularity", "strategy.recompute"},
                                       {"zero_stage", "strategy.zero"},
                                       {"vpp_stages", "strategy.virtual_pipeline"}};
  int read = 0;
  for (const Value::Field& field : lists.root().fields) {
    std::vector<ArgumentWord> words = {{field.value.find("command")->scalar, {field.key, 1, 1}}};
    for (const Value& word : field.value.find("argv")->items) words.push_back({word.scalar, word.where});
    INFO(field.key);
    const auto launch = launch_command(words);
    const std::span<const ArgumentWord> arguments = launch ? std::span<const ArgumentWord>(launch->arguments) : words;
    ImportDraft draft(settings_of_arguments(arguments));
    if (launch) draft.machine = launch->machine;
    read_megatron_settings(draft, {launch ? launch->program : "", {field.key, 1, 1}}, {sources()});
    ++read;
    if (const auto row = rows.find(field.key); row != rows.end())
      compare(draft, table, row->second, oracles, field.key);
  }
  CHECK(read == 174);
}

}  // namespace megatron_oracles_test
