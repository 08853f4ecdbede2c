#include "model/model_loader.hpp"

#include "support/source_root.hpp"
#include "tests/base/failure.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

using namespace mirfak;

namespace {

const std::filesystem::path folder = std::filesystem::path(source_root()) / "models";

constexpr const char* complete = "layers: 4\nhidden: 64\nheads: 8\nvocab: 1000\nmax_sequence: 128\n";

ModelSpec parse(const std::string& text) { return parse_model(Document::from_text(text, "tiny.yaml"), folder); }

std::string failure_parsing(const std::string& text) {
  return failure_of([&] { parse(text); });
}

// The complete file with one key set to another value, or added.
std::string with(const std::string& key, const std::string& value) {
  Document document = Document::from_text(complete, "tiny.yaml");
  document.override_value(key + "=" + value);
  return document.to_yaml();
}

// The complete file without the line of one key.
std::string without(const std::string& key) {
  std::string text = complete;
  const std::size_t begin = text.find(key);
  return text.erase(begin, text.find('\n', begin) + 1 - begin);
}

// A folder with a scenario's neighbours, removed at the end of the test.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("mirfak-model-loader-" + std::to_string(::getpid()));
  Folder() {
    std::filesystem::create_directories(path / "models");
    std::filesystem::copy(::folder / "blocks", path / "models" / "blocks");
    write("models/gpt3-175b.yaml", complete);
    write("models/llama2-70b.yaml", complete);
    write("models/README.md", "not a model");
    write("my-model.yaml", complete);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(const char* name, const char* text) const { std::ofstream(path / name) << text; }
};

}  // namespace

TEST_CASE("what a file leaves out is that of a GPT") {
  const ModelSpec model = parse(complete);
  CHECK(model.name == "tiny");
  CHECK(model.source == "tiny.yaml");
  CHECK(model.layers == 4);
  CHECK(model.kv_heads == 8);
  CHECK(model.head_dim == 8);
  CHECK(model.ffn == 256);
  CHECK(model.activation == ActivationFunction::gelu);
  CHECK(model.normalization == Normalization::layer_norm);
  CHECK(model.position == PositionEncoding::learned);
  CHECK(model.linear_bias);
  CHECK(model.qkv_bias);
  CHECK(model.tied_embeddings);
  CHECK_FALSE(model.embedding_norm);
  CHECK(model.dropout == 0);
}

TEST_CASE("every key is read") {
  const ModelSpec model = parse(
      "name: other\nfamily: llama\nsource: here\nlayers: 2\nhidden: 48\nheads: 6\nkv_heads: 2\nhead_dim: 10\n"
      "ffn: 100\nvocab: 7\nmax_sequence: 5\nactivation: geglu\nnormalization: rms_norm\nposition: alibi\n"
      "linear_bias: false\nqkv_bias: true\ntied_embeddings: false\nembedding_norm: true\ndropout: 0.25\n");
  CHECK(model.name == "other");
  CHECK(model.family == "llama");
  CHECK(model.source == "here");
  CHECK(model.kv_heads == 2);
  CHECK(model.head_dim == 10);
  CHECK(model.ffn == 100);
  CHECK(model.vocab == 7);
  CHECK(model.max_sequence == 5);
  CHECK(model.activation == ActivationFunction::geglu);
  CHECK(model.normalization == Normalization::rms_norm);
  CHECK(model.position == PositionEncoding::alibi);
  CHECK_FALSE(model.linear_bias);
  CHECK(model.qkv_bias);
  CHECK_FALSE(model.tied_embeddings);
  CHECK(model.embedding_norm);
  CHECK(model.dropout == 0.25);
}

TEST_CASE("without linear biases there are none for queries, keys and values unless stated") {
  CHECK_FALSE(parse(with("linear_bias", "false")).qkv_bias);
}

TEST_CASE("a key that must be there is named") {
  for (const std::string key : {"layers", "hidden", "heads", "vocab", "max_sequence"}) {
    CAPTURE(key);
    CHECK(contains(failure_parsing(without(key)), "the key '" + key + "' is missing"));
    CHECK(contains(failure_parsing(with(key, "")), "expected a value, found nothing"));
  }
  CHECK(contains(failure_parsing(with("activation", "swiglu")), "the key 'ffn' is missing"));
  CHECK(contains(failure_parsing(""), "is missing"));
}

TEST_CASE("sizes are whole, positive and bounded") {
  for (const std::string key : {"layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab", "max_sequence"}) {
    for (const std::string value :
         {"0", "-1", "1.5", "1e18", "9999999999", "many", "[8]", "{}", "'8'", "true", "nan"}) {
      CAPTURE(key);
      CAPTURE(value);
      CHECK(contains(failure_parsing(with(key, value)), key + ": expected a whole number"));
    }
  }
  for (const std::string value : {"-0.1", "1.1", "none"}) {
    CHECK(contains(failure_parsing(with("dropout", value)), "dropout: expected a number"));
  }
}

TEST_CASE("the largest sizes allowed can be counted") {
  const ModelSpec model = parse(
      "layers: 10000\nhidden: 1000000\nheads: 10000\nhead_dim: 100000\nffn: 10000000\nvocab: 100000000\n"
      "max_sequence: 100000000\n");
  CHECK(count_parameters(model).total > 4e19);
  CHECK(count_parameters(model).total < 1e20);
}

TEST_CASE("heads fit the hidden size and each other") {
  CHECK(contains(failure_parsing("layers: 4\nhidden: 64\nheads: 7\nvocab: 1000\nmax_sequence: 128\n"),
                 "tiny.yaml:3:8: heads: expected a divisor of the hidden size 64, found 7 heads"));
  CHECK(parse(with("heads", "7") + "head_dim: 9\n").head_dim == 9);
  CHECK(contains(failure_parsing(std::string(complete) + "kv_heads: 3\n"),
                 "tiny.yaml:6:11: kv_heads: expected a divisor of the 8 attention heads, found 3"));
  CHECK(contains(failure_parsing(std::string(complete) + "kv_heads: 16\n"), "expected a divisor"));
}

TEST_CASE("unknown keys and names are errors with a suggestion") {
  CHECK(contains(failure_parsing(std::string(complete) + "head_dm: 8\n"), "did you mean 'head_dim'?"));
  CHECK(contains(failure_parsing(std::string(complete) + "head_dm: 8\n"), "tiny.yaml:6:1: head_dm: unknown key"));
  CHECK(contains(failure_parsing(std::string(complete) + "activation: swiglo\n"), "did you mean 'swiglu'?"));
  CHECK(contains(failure_parsing(std::string(complete) + "normalization: rmsnorm\n"), "did you mean 'rms_norm'?"));
  CHECK(
      contains(failure_parsing(std::string(complete) + "position: rope\n"), "expected none, learned, rotary or alibi"));
}

TEST_CASE("a file that is not a mapping is refused") {
  for (const std::string text : {"[1, 2]", "gpt3", "42"}) {
    CAPTURE(text);
    CHECK(contains(failure_parsing(text), "tiny.yaml:1:1: expected a mapping"));
  }
}

TEST_CASE("models are found by name and by path") {
  const Folder folder;
  const Location scenario{(folder.path / "scenario.yaml").string(), 3, 8};
  const Location argument{"--set model=x", 0, 0};
  CHECK(model_names(folder.path / "models") == std::vector<std::string>{"gpt3-175b", "llama2-70b"});
  CHECK(load_model("gpt3-175b", folder.path / "models", scenario).name == "gpt3-175b");
  CHECK(load_model("my-model.yaml", folder.path / "models", scenario).name == "my-model");
  CHECK(load_model("./my-model.yaml", folder.path / "models", scenario).name == "my-model");
  CHECK(load_model((folder.path / "my-model.yaml").string(), folder.path / "models", argument).name == "my-model");
}

TEST_CASE("a model that is not there is an error at the place that asks") {
  const Folder folder;
  const std::filesystem::path models = folder.path / "models";
  const Location asked{"some/scenario.yaml", 3, 8};
  const auto failure = [&](const std::string& name) { return failure_of([&] { load_model(name, models, asked); }); };
  CHECK(contains(failure("gpt3-157b"), "some/scenario.yaml:3:8: there is no model 'gpt3-157b'"));
  CHECK(contains(failure("gpt3-157b"), "did you mean 'gpt3-175b'?"));
  CHECK(contains(failure("mine"), "mirfak list models"));
  CHECK(contains(failure(""), "there is no model ''"));
  CHECK(contains(failure("other.yaml"), "some/scenario.yaml:3:8: there is no model file 'some/other.yaml'"));
  CHECK(contains(failure("other.yaml"), "counts from the folder of the file"));
  CHECK(contains(failure("/no/such/config.json"), "there is no model file '/no/such/config.json'"));
  CHECK(contains(failure(models.string() + "/"), "this is a folder"));
  CHECK(contains(failure_of([&] { load_model("gpt3-175b", models / "none", asked); }), "cannot read this folder"));
}

TEST_CASE("an error inside a model file names that file") {
  const Folder folder;
  folder.write("models/broken.yaml", "layers: none\n");
  const std::filesystem::path file = folder.path / "models" / "broken.yaml";
  CHECK(contains(failure_of([&] {
                   load_model("broken", folder.path / "models", {"s.yaml", 1, 1});
                 }),
                 file.string() + ":1:9: layers: expected a whole number"));
}
