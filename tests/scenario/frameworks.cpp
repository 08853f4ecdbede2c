// training.framework: a name, a path relative to the file that states it, or nothing.

#include "support/frameworks.hpp"
#include "fixture.hpp"
#include "scenario/search_scenario.hpp"
#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <set>

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr const char* kFork = "like: megatron-core\nsource: ours\nsharding: {max_zero: 0}\nhost: {forward_s: 5e-6}\n";

std::string text_with(const std::string& framework) {
  return "model: gpt3-1.3b\ncluster: {nodes: [{type: dgx-a100-80g, count: 1}]}\n"
         "training: {global_batch: 64, framework: " +
         framework + "}\nstrategy: {tensor: 2}\n";
}

}  // namespace

TEST_CASE("a framework is a file beside the scenario") {
  const ScratchFolder folder;
  std::ofstream(folder / "ours.yaml") << kFork;
  std::ofstream(folder / "scenario.yaml") << text_with("./ours.yaml");
  const Scenario scenario = load_scenario(folder / "scenario.yaml", {}, data_folders());
  CHECK(scenario.job.framework.name == "ours");
  CHECK(scenario.job.framework.host.forward_s == 5e-6);
  CHECK(scenario.job.training.framework == (folder / "ours.yaml").string());
  // The resolved text reads back from wherever it lies.
  const Scenario again = parse(scenario.resolved);
  CHECK(again.job.framework == scenario.job.framework);
  CHECK(again.resolved == scenario.resolved);

  CHECK_THROWS_WITH_AS(
      load_scenario(folder / "scenario.yaml", std::vector<std::string>{"strategy.zero=1"}, data_folders()),
      doctest::Contains("ours has ZeRO up to stage 0, not 1"), Error);
}

TEST_CASE("attention kernels are of architectures that GPUs have") {
  const Catalog catalog(data_folders().hardware);
  std::set<std::string> known;
  for (const std::string& name : catalog.names(ProfileKind::gpu)) {
    known.insert(catalog.gpu(FileReference(name)).architecture);
  }
  int named = 0;
  for (const std::string& name : test::frameworks().names()) {
    for (const std::string& kernels : test::framework_named(name).fusion.attention) {
      const std::size_t at = kernels.find('@');
      if (at == std::string::npos) continue;
      CHECK_MESSAGE(known.contains(kernels.substr(at + 1)), name, ": ", kernels);
      ++named;
    }
  }
  CHECK(named > 0);

  const auto own = [](const std::string& kernels) {
    return text_with("{like: torchtitan, fusion: {attention: [" + kernels + "]}}");
  };
  CHECK_NOTHROW(parse(own("cudnn@blackwell, flash-2")));
  CHECK_THROWS_WITH_AS(parse(own("cudnn@blackwel, flash-2")),
                       doctest::Contains("no GPU has the architecture 'blackwel'"), Error);
}

TEST_CASE("a framework is a mapping in the scenario, and its changes alone are changed") {
  const ScratchFolder folder;
  std::ofstream(folder / "ours.yaml") << kFork;
  std::ofstream(folder / "scenario.yaml")
      << text_with("{like: ./ours.yaml, fusion: {attention: []}, host: {backward_s: 1.0e-3/8}}");
  const Scenario scenario = load_scenario(folder / "scenario.yaml", {}, data_folders());
  const Framework& framework = scenario.job.framework;
  CHECK(framework.name == "ours (changed)");
  CHECK(framework.fusion.attention.empty());
  CHECK(framework.host.backward_s == 1.0e-3 / 8);
  CHECK(framework.host.forward_s == 5e-6);
  // The resolved text reads back from wherever it lies.
  const Scenario again = parse(scenario.resolved);
  CHECK(again.job.framework.host == framework.host);
  CHECK(again.resolved == scenario.resolved);

  const auto refused = [](const std::string& framework_text, const char* why) {
    CHECK_THROWS_WITH_AS(parse(text_with(framework_text)), doctest::Contains(why), Error);
  };
  refused("{like: megatron-cor}", "did you mean 'megatron-core'");
  refused("{like: megatron-core, fuson: {}}", "training.framework.fuson: unknown key");
  refused("{fusion: {attention: []}}", "the key 'source' is missing");
  refused("'{like: megatron-core}'", "remove the quotes");
}

TEST_CASE("a search looks through what the framework of a path can do") {
  const ScratchFolder folder;
  std::ofstream(folder / "ours.yaml") << kFork;
  const Document document = Document::from_text(text_with((folder / "ours.yaml").string()), "test.yaml");
  const SearchScenario search = parse_search(document, data_folders());
  CHECK(search.search.spec.space.zero == std::vector<int>{0});
  CHECK(search.job.framework.name == "ours");
}

TEST_CASE("errors of a framework stand where it is asked for, or in its own file") {
  const ScratchFolder folder;
  std::ofstream(folder / "ours.yaml") << "like: megatron-core\nhost: {forwards_s: 5e-6}\n";
  std::ofstream(folder / "scenario.yaml") << text_with("ours.yaml");
  CHECK_THROWS_WITH_AS(load_scenario(folder / "scenario.yaml", {}, data_folders()), doctest::Contains("ours.yaml:2:8"),
                       Error);
  std::ofstream(folder / "scenario.yaml") << text_with("theirs.yaml");
  CHECK_THROWS_WITH_AS(load_scenario(folder / "scenario.yaml", {}, data_folders()),
                       doctest::Contains("scenario.yaml:3:"), Error);
  CHECK_THROWS_WITH_AS(parse(text_with("megatron-cor")), doctest::Contains("did you mean 'megatron-core'"), Error);
}

TEST_CASE("without a framework a scenario has the one of defaults.yaml") {
  const Scenario scenario = parse(kSmall);
  CHECK(scenario.job.training.framework == frameworks().default_name());
  CHECK(scenario.job.framework == framework_named(frameworks().default_name()));
}
