// config.json of the families that models/families describes.
#include "base/csv.hpp"
#include "model/family_file.hpp"
#include "model/model_loader.hpp"
#include "support/source_root.hpp"
#include "tests/base/failure.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace family_configs_test {

using namespace mirfak;

namespace {

const std::filesystem::path models = std::filesystem::path(source_root()) / "models";

ModelSpec parse(const std::string& text) { return parse_model(Document::from_text(text, "tiny/config.json"), models); }

std::string failure_parsing(const std::string& text) {
  return failure_of([&] { parse(text); });
}

// A small OLMo 2, without the closing brace.
const std::string kOlmo2 = R"({"model_type": "olmo2", "hidden_size": 64, "intermediate_size": 128,
  "num_hidden_layers": 3, "num_attention_heads": 4, "vocab_size": 100, "max_position_embeddings": 256)";

}  // namespace

TEST_CASE("config.json of each family has the parameters that Transformers counts") {
  const std::filesystem::path folder = std::filesystem::path(source_root()) / "tests" / "model" / "configs";
  const CsvTable table = CsvTable::from_file(folder / "expected.csv");
  const std::size_t files = table.require("file");
  const std::size_t parameters = table.require("parameters");
  std::set<std::string> families;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string file = table.text(row, files);
    CAPTURE(file);
    const ModelSpec model = parse_model(Document::from_file(folder / file), models);
    CHECK(count_parameters(model).total == table.number(row, parameters, 0, 1e15));
    families.insert(model.family);
  }
  CHECK(families.size() >= 70);
}

// A layer: four projections of 64 x 64, norms of all queries and all keys, an MLP of three matrices of 64 x 128, two
// norms. Around three of them: two tables of 100 x 64 and a norm.
TEST_CASE("a family's block and layers follow from the keys") {
  const ModelSpec model = parse(kOlmo2 + "}");
  CHECK(model.layers == 3);
  CHECK(model.hidden == 64);
  CHECK(model.vocab == 100);
  CHECK(model.max_sequence == 256);
  CHECK(model.family == "olmo2");
  CHECK(model.name == "tiny");
  CHECK(count_parameters(model).total == 3 * (4 * 64 * 64 + 2 * 64 + 3 * 64 * 128 + 2 * 64) + 2 * 100 * 64 + 64);
}

TEST_CASE("a key is checked, known to decide nothing, noted, or refused as misspelt") {
  CHECK(parse(kOlmo2 + R"(, "rope_theta": 1e4, "eos_token_id": [1, 2], "own_extension": null})").notes.empty());
  const ModelSpec noted = parse(kOlmo2 + R"(, "no_such_key": {"a": 1}})");
  REQUIRE(noted.notes.size() == 1);
  CHECK(contains(noted.notes.front(), "change nothing here: no_such_key (line "));
  CHECK(contains(failure_parsing(kOlmo2 + R"(, "tie_word_embedings": true})"), "did you mean 'tie_word_embeddings'?"));
  CHECK(contains(failure_parsing(kOlmo2 + R"(, "tie_word_embeddings": 1})"), "expected true or false"));
  CHECK(contains(failure_parsing(kOlmo2 + R"(, "num_key_value_heads": "4"})"), "expected a number"));
  CHECK(contains(failure_parsing(kOlmo2 + R"(, "hidden_act": "mish"})"), "expected gelu"));
}

TEST_CASE("a size that makes no model is refused") {
  CHECK(!failure_parsing(kOlmo2 + R"(, "num_key_value_heads": 3})").empty());
  CHECK(contains(failure_parsing(R"({"model_type": "olmo2", "num_hidden_layers": 1e9})"), "0 to 10000 layers"));
  CHECK(contains(failure_parsing(R"({"model_type": "hunyuan_v1_dense"})"), "missing the key"));
}

TEST_CASE("layers of one kind in a row are one entry of the model, in the order of layer_types") {
  const std::string olmo3 = R"({"model_type": "olmo3", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 4, "num_attention_heads": 4, "vocab_size": 100, "max_position_embeddings": 8192)";
  const ModelSpec model = parse(olmo3 + "}");  // three with a window, one without
  REQUIRE(model.blocks.size() == 4);
  CHECK(model.blocks[1].count == 3);
  CHECK(model.blocks[2].count == 1);
  const ModelSpec stated = parse(
      olmo3 + R"(, "layer_types": ["full_attention", "sliding_attention", "full_attention", "sliding_attention"]})");
  REQUIRE(stated.blocks.size() == 6);
  CHECK(stated.blocks[3].kind == 1);
  CHECK(contains(failure_parsing(olmo3 + R"(, "layer_types": ["full_attention"]})"), "no entry for layer 1"));
  CHECK(contains(failure_parsing(olmo3 + R"(, "layer_types": ["linear"]})"), "expected attention, full_attention"));
}

TEST_CASE("the class says what a model ends in, and whether a tower stands before it") {
  // A score of 7 labels in place of the table of 100 words.
  const std::string labels = R"(, "architectures": ["Olmo2ForSequenceClassification"], "num_labels": 7})";
  CHECK(count_parameters(parse(kOlmo2 + labels)).total == count_parameters(parse(kOlmo2 + "}")).total - 93 * 64);
  CHECK(contains(failure_parsing(kOlmo2 + R"(, "architectures": ["Olmo2ForSpeech"]})"), "is not known"));
  const std::string gemma = R"({"model_type": "gemma3", "text_config": {"hidden_size": 640, "num_hidden_layers": 2},
    "vision_config": {"vision_use_head": false, "num_hidden_layers": 3}, "architectures": [)";
  const ModelSpec seen = parse(gemma + R"("Gemma3ForConditionalGeneration"]})");
  CHECK(seen.layers == 3 + 1 + 2);  // the tower's, the words that join its image, the decoder's
  CHECK(seen.hidden == 640);
  REQUIRE(seen.notes.size() == 1);
  CHECK(contains(seen.notes.front(), "one image"));
  CHECK(parse(gemma + R"("Gemma3ForCausalLM"]})").layers == 2);
}

namespace {

// The table of the families, by file.
std::string table_of_families() {
  std::string out = "| `model_type` | family |\n|---|---|\n";
  for (const auto& family : Families::of(models / "families").all()) {
    if (family->types.empty()) continue;
    std::string types;
    for (const auto& [type, described] : family->types) types += (types.empty() ? "`" : ", `") + type + "`";
    out += "| " + types + " | " + family->description + " |\n";
  }
  return out;
}

}  // namespace

TEST_CASE("models/README.md has the table of families") {
  const std::filesystem::path file = models / "README.md";
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  const std::string page = text.str();
  const std::size_t begin = page.find("-->\n", page.find("<!-- families:")) + 4;
  const std::size_t end = page.find("<!-- end of families -->");
  REQUIRE(begin <= end);
  const std::string wanted = page.substr(0, begin) + table_of_families() + page.substr(end);
  if (std::getenv("MIRFAK_WRITE_PAGES") != nullptr) std::ofstream(file) << wanted;
  CHECK_MESSAGE(page == wanted,
                "models/README.md: the files in families/ say otherwise; MIRFAK_WRITE_PAGES=1 writes it");
}

TEST_CASE("families are named once") {
  std::set<std::string> names;
  for (const std::string& type : Families::of(models / "families").model_types()) CHECK(names.insert(type).second);
  CHECK(names.size() >= 80);
}

}  // namespace family_configs_test
