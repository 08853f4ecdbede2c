#include "import/interpolation.hpp"
#include "launch_files.hpp"

#include "base/yaml.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <regex>

namespace nemo_test {

using namespace mirfak;

namespace {

ImportDraft nemo(const ImportFile& file, std::map<std::string, std::string> environment = {}) {
  ImportContext context{import_sources()};
  context.environment = std::move(environment);
  return import_format("nemo-yaml").read(std::span(&file, 1), context);
}

// A number that the file states under a key of `model`, by its text alone.
std::string stated(const ImportFile& file, const std::string& key) {
  std::smatch found;
  const std::regex line("\n  " + key + ": *([0-9]+)");
  return std::regex_search(file.text, found, line) ? found[1].str() : "";
}

Value filled(const std::string& text, const std::map<std::string, std::string>& environment = {}) {
  Value root = parse_yaml(text, "file.yaml");
  fill_interpolations(root, environment);
  return root;
}

std::string place_of_refusal(const std::string& text) {
  try {
    filled(text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.where().text();
  }
  return "filled";
}

}  // namespace

TEST_CASE("references of OmegaConf are filled, absolute, relative, computed and from the environment") {
  const Value root = filled(
      "model:\n  hidden: 4096\n  ffn: ${multiply:4, ${.hidden}}\n  inner: {up: \"${..hidden}\", same: "
      "\"${model.ffn}\"}\n"
      "  half: ${divide_ceil:${.layers}, 2}\n  layers: 7\n  list: [1, \"${training.model.layers}\"]\n"
      "paths: ${data_dir}/x\nwho: ${USER_NAME:me}\nhere: ${oc.env:PLACE,there}\n",
      {{"PLACE", "hall"}});
  const Value& model = *root.find("model");
  CHECK(model.find("ffn")->scalar == "16384");
  CHECK(model.find("inner")->find("up")->scalar == "4096");
  CHECK(model.find("inner")->find("same")->scalar == "16384");
  CHECK(model.find("half")->scalar == "4");
  CHECK(model.find("list")->items[1].scalar == "7");
  CHECK(root.find("paths")->scalar == "${data_dir}/x");
  CHECK(root.find("who")->scalar == "me");
  CHECK(root.find("here")->scalar == "hall");
}

TEST_CASE("references that lead to themselves, grow or compute nothing are refused at their place") {
  CHECK(place_of_refusal("a: ${b}\nb: ${a}\n") == "file.yaml:1:4");
  CHECK(place_of_refusal("a: 1\nb: ${multiply:x, 2}\n") == "file.yaml:2:4");
  CHECK(place_of_refusal("b: ${eval:1}\n") == "file.yaml:1:4");
  std::string inside = "a: ";
  for (int i = 0; i < 1000; ++i) inside += "${";
  CHECK(place_of_refusal(inside + std::string(1000, '}') + "\n") == "file.yaml:1:4");
  std::string growing = "a0: aaaaaaaaaaaaaaaa\n";
  for (int i = 1; i < 40; ++i) growing += fmt::format("a{0}: ${{a{1}}}${{a{1}}}\n", i, i - 1);
  CHECK(place_of_refusal(growing).starts_with("file.yaml:"));
}

TEST_CASE("all of NeMo's files import to the layout that they state, and run on the nodes that they state") {
  std::size_t read = 0;
  std::map<std::string, std::string> why;
  for (const auto& path : launch_configs("nemo-launcher", ".yaml")) {
    CAPTURE(path.string());
    const ImportFile file = import_file(path);
    CHECK(formats_of(file) == std::vector<std::string>{"nemo-yaml"});
    const ImportDraft draft = nemo(file);
    ++read;
    CHECK(said(draft, "strategy.tensor") == stated(file, "tensor_model_parallel_size"));
    CHECK(said(draft, "strategy.pipeline") == stated(file, "pipeline_model_parallel_size"));
    CHECK(said(draft, "strategy.micro_batch") == stated(file, "micro_batch_size"));
    CHECK(said(draft, "training.global_batch") == stated(file, "global_batch_size"));
    const std::string chunks = stated(file, "virtual_pipeline_model_parallel_size");
    if (!chunks.empty() && said(draft, "strategy.pipeline") != "1") {
      CHECK(said(draft, "strategy.virtual_pipeline") == chunks);
    }
    CHECK(draft.machine.gpus().has_value());
    for (const ImportLine& line : draft.lines()) {
      const bool explained = line.verdict != Verdict::unknown || !line.reason.empty();
      CHECK_MESSAGE(explained, line.text);
    }
    try {
      scenario_of(draft, "hgx-h100", static_cast<int>(*draft.machine.gpus() / 8));
    } catch (const Error& error) {
      CHECK(error.kind() != ErrorKind::internal);
      why[path.filename().string()] = error.message();
    }
  }
  if (read == 0) {
    MESSAGE("skipped: no ../shared/launch-configs/nemo-launcher");
    return;
  }
  CHECK(read == 64);
  // Global batches that their own numbers of nodes do not divide.
  CHECK(why.size() == 2);
  CHECK(why.contains("falcon_7b.yaml"));
  CHECK(why.contains("mixtral_8x22b.yaml"));
}

}  // namespace nemo_test
