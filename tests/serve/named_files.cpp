// A scenario of others names no file: at its place, before anyone looks whether the file is there.

#include "base/named_files.hpp"

#include "base/error.hpp"
#include "scenario/scenario.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

const std::filesystem::path kTop = source_root();

const std::string kStart =
    "model: gpt3-1.3b\n"
    "cluster: {nodes: [{type: dgx-a100-80g, count: 1}]}\n"
    "training: {global_batch: 64}\n"
    "strategy: {tensor: 2, pipeline: 4}\n";

// Files that are there, so that only the rule refuses them.
std::vector<std::string> naming_keys() {
  const std::string top = source_root();
  const std::string csv = top + "/scenarios/README.md";
  return {
      "model=" + top + "/models/gpt3-13b.yaml",
      "model={source: here, max_sequence: 64, sizes: {hidden: 64}, blocks: [{use: " + top +
          "/models/blocks/gpt.yaml}]}",
      "cluster.nodes[0].type=" + top + "/hw_profiles/nodes/hgx-h100.yaml",
      "cluster.nodes[0].network=" + top + "/hw_profiles/links/a.yaml",
      "cluster.nodes[0].topology=" + csv,
      "cluster.nodes[0].price=" + top + "/hw_profiles/prices/aws.yaml/spot",
      "cluster.price=./ours.yaml/spot",
      "cluster.fabric={file: " + csv + "}",
      "cluster.fabric={file: none}",
      "cluster.carbon_g_per_kwh=" + csv,
      "cluster.carbon_g_per_kwh=a.csv",
      "cluster.perturbations.ranks=" + csv,
      "cluster.perturbations.nodes=ranks.csv",
      "cluster.perturbations.links=ranks.csv",
      "cluster.perturbations.tokens=tokens.csv",
      "cluster.perturbations.experts=experts.csv",
      "training.framework=" + top + "/hw_profiles/frameworks/megatron-core.yaml",
      "training.framework={like: ./megatron-core.yaml}",
      "strategy.schedule=" + csv,
      "search.space.schedule=[1f1b, ./order.csv]",
      "operations={failures: {profile: /etc/failures.yaml}}",
      "operations={failures: {log: failures.csv}}",
  };
}

Document named_scenario(const std::string& assignment) {
  Document changed = Document::from_text(kStart, "start");
  changed.override_value(assignment);
  return Document::from_text(changed.to_yaml(), "scenario");
}

}  // namespace

TEST_CASE("every key that may name a file refuses one, at its place") {
  const DataFolders folders{kTop / "models", kTop / "hw_profiles"};
  for (const std::string& assignment : naming_keys()) {
    CAPTURE(assignment);
    const Document document = named_scenario(assignment);
    const NoNamedFiles rule("scenario", {folders.models, folders.hardware});
    try {
      parse_scenario(document, folders);
      FAIL("nothing is refused");
    } catch (const Error& error) {
      CAPTURE(error.message());
      CHECK(error.kind() == ErrorKind::input);
      CHECK(error.where().file == "scenario");
      CHECK(error.where().line > 0);
      CHECK(error.message().find("files are not read here") != std::string::npos);
    }
  }
}

TEST_CASE("without the rule, and of the catalogue's own files, nothing is refused") {
  const DataFolders folders{kTop / "models", kTop / "hw_profiles"};
  const Document document = named_scenario("model=" + (kTop / "models/gpt3-13b.yaml").string());
  CHECK(parse_scenario(document, folders).job.model.name == "gpt3-13b");
  const NoNamedFiles rule("scenario", {folders.models, folders.hardware});
  CHECK(parse_scenario(Document::from_text(kStart, "scenario"), folders).job.model.name == "gpt3-1.3b");
}

TEST_CASE("what lies outside of the folders is not read, whoever asks and by whatever links") {
  const NoNamedFiles rule("scenario", {kTop / "models"});
  CHECK_NOTHROW(Document::from_file(kTop / "models/gpt3-13b.yaml"));
  CHECK_NOTHROW(Document::from_file(kTop / "tests/../models/gpt3-13b.yaml"));
  CHECK_THROWS_AS(Document::from_file(kTop / "models/../hw_profiles/grids.yaml"), Error);
  CHECK_THROWS_AS(Document::from_file(kTop / "scenarios/gpt3-175b-a100.yaml"), Error);
  const std::filesystem::path beside = source_root() + "/models-of-others/a.yaml";
  CHECK_THROWS_AS(refuse_file_outside(beside), Error);
}
