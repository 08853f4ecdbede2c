#include "program.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

using namespace mirfak::test;
using nlohmann::json;

namespace {

json listed(const std::string& what) {
  const Finished finished = run({"list", what, "--format", "json"});
  REQUIRE(finished.status == 0);
  return json::parse(finished.out).at(what);
}

std::set<std::string> listed_names(const std::string& what) {
  std::set<std::string> out;
  for (const json& entry : listed(what)) out.insert(entry.at("name"));
  return out;
}

std::set<std::string> file_names(const std::string& folder) {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(mirfak::source_root() + "/" + folder)) {
    if (entry.path().extension() == ".yaml") out.insert(entry.path().stem().string());
  }
  return out;
}

}  // namespace

TEST_CASE("a list names every file of its folder") {
  CHECK(listed_names("models") == file_names("models"));
  CHECK(listed_names("gpus") == file_names("hw_profiles/gpus"));
  CHECK(listed_names("nodes") == file_names("hw_profiles/nodes"));
  CHECK(listed_names("links") == file_names("hw_profiles/links"));
  CHECK(listed_names("frameworks") == file_names("hw_profiles/frameworks"));
  std::set<std::string> providers;
  for (const json& price : listed("prices")) providers.insert(price.at("provider"));
  CHECK(providers == file_names("hw_profiles/prices"));
}

TEST_CASE("what is listed can be named in a scenario") {
  const std::string scenario = mirfak::source_root() + "/scenarios/gpt3-13b-gpipe-a100.yaml";
  const auto runs_with = [&](const std::string& assignment, const std::string& other = "strategy.tensor=2") {
    CAPTURE(assignment);
    const Finished finished = run({"simulate", scenario, "--set", assignment, "--set", other});
    CHECK(finished.err.empty());
    CHECK(finished.status == 0);
  };
  for (const std::string& name : listed_names("fabrics")) runs_with("cluster.fabric.type=" + name);
  for (const std::string& name : listed_names("frameworks")) {
    // Every framework runs on replicas alone.
    const Finished finished = run({"simulate", scenario, "--set", "training.framework=" + name, "--set",
                                   "strategy={micro_batch: 1}", "--set", "model=gpt3-1.3b"});
    CHECK_MESSAGE(finished.status == 0, finished.err);
  }
  for (const std::string& name : listed_names("schedules")) {
    // Interleaving has a scenario of its own. 40 layers are 4 stages of two chunks.
    if (name != "interleaved-1f1b" && name != "combined-1f1b")
      runs_with("strategy.schedule=" + name, "strategy.pipeline=4");
  }
}

TEST_CASE("a figure in a list is the figure of the source") {
  for (const json& model : listed("models")) {
    if (model.at("name") != "gpt3-175b") continue;
    CHECK(model.at("layers") == 96);
    CHECK(model.at("hidden") == 12288);
    // 12 l h^2 (1 + 13/(12h)) + (V + s) h + 2h, arXiv 2104.04473
    const double layers = 12.0 * 96 * 12288 * 12288 * (1 + 13.0 / (12 * 12288));
    CHECK(model.at("parameters") == layers + (51200.0 + 2048) * 12288 + 2 * 12288);
  }
}

TEST_CASE("a text list has a line per entry and one of titles") {
  for (const std::string what :
       {"models", "gpus", "nodes", "links", "fabrics", "prices", "schedules", "frameworks", "strategy", "fits"}) {
    CAPTURE(what);
    const Finished finished = run({"list", what});
    CHECK(finished.status == 0);
    CHECK(finished.err.empty());
    const auto lines = std::count(finished.out.begin(), finished.out.end(), '\n');
    CHECK(static_cast<std::size_t>(lines) == listed(what).size() + 1);
  }
}

TEST_CASE("an installed program reads the data beside it") {
  const ScratchFolder folder;
  const std::filesystem::path share = folder.path() / "share" / "mirfak";
  std::filesystem::create_directories(folder.path() / "bin");
  std::filesystem::create_directories(share / "models");
  std::filesystem::copy(mirfak::source_root() + "/models/blocks", share / "models" / "blocks");
  std::filesystem::create_directories(share / "hw_profiles");
  std::filesystem::copy_file(program(), folder.path() / "bin" / "mirfak");
  std::filesystem::copy_file(mirfak::source_root() + "/models/gpt3-175b.yaml", share / "models" / "mine.yaml");
  const Finished finished = run_shell("bin/mirfak list models --format json", folder.path());
  REQUIRE(finished.status == 0);
  const json models = json::parse(finished.out).at("models");
  REQUIRE(models.size() == 1);
  CHECK(models[0].at("name") == "mine");
}
