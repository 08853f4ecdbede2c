// A resolved scenario simulates to the same bits wherever its text lies: what it names is found from any folder, and
// entries of a cluster are told apart by their place, not by the names of their types.

#include "fixture.hpp"

#include "plan/search_outcome.hpp"
#include "scenario/search_scenario.hpp"
#include "simulation/iteration.hpp"
#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace resolved_places_test {

namespace {

namespace fs = std::filesystem;

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

std::string profile(const char* name) { return read_text_file(data_folders().hardware / name); }

std::string replaced(std::string text, const std::string& old, const std::string& by) {
  const std::size_t at = text.find(old);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old.size(), by);
}

// Files of a user, each with a name that another folder has too.
void write_files(const fs::path& folder) {
  write(folder / "a/own.yaml", profile("nodes/hgx-h100.yaml"));
  write(folder / "b/own.yaml", replaced(profile("nodes/hgx-h100.yaml"), "gpu: h100\n", "gpu: ../slow/h100.yaml\n"));
  write(folder / "slow/h100.yaml", replaced(profile("gpus/h100.yaml"), "kernel_launch_s: [", "kernel_launch_s: [9"));
  write(folder / "c/net.yaml", profile("links/ib-ndr.yaml"));
  write(folder / "d/net.yaml", profile("links/ib-hdr.yaml"));
  write(folder / "kinds/base.yaml",
        replaced(profile("nodes/hgx-h100.yaml"), "network: ib-ndr\n", "network: ./net.yaml\n"));
  write(folder / "kinds/net.yaml", profile("links/ib-hdr.yaml"));
  write(folder / "like.yaml",
        "title: like another\nsources: {here: \"measured here\"}\nlike: kinds/base.yaml\nhost_factor: [1.5, here]\n");
  write(folder / "small.yaml", "layers: 4\nhidden: 1024\nheads: 16\nvocab: 51200\nmax_sequence: 1024\n");
  write(folder / "ours.yaml", "like: megatron-core\nfusion: {cross_entropy: true}\n");
  write(folder / "orders/1f1b.csv", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  write(folder / "tables/tokens.csv", "tokens\n1\n2000\n100\n41\n");
  write(folder / "tables/factors.csv", "factor\n1\n1.25\n");
  write(folder / "tables/ranks.csv", "rank,compute,host\n0,1.5,1\n3,1,900\n");
  write(folder / "tables/hours.csv", "g_per_kwh\n100\n301.5\n");
  write(folder / "log.csv", "time_s,component\n40,node\n90000,node\n");
  write(folder / "failures.yaml",
        "title: ours\nsources: {here: \"counted here\"}\ncomponents:\n"
        "  gpu: {per: gpu, rate_per_day: [0.001, here]}\n");
  write(folder / "prices.yaml",
        "title: ours\nsources: {here: \"our contract\"}\noffers:\n"
        "  - {gpu: h100, date: 2026-11-28, on-demand: [2.5, here], spot: [1.25, here]}\n");
}

constexpr const char* kModel = "model: gpt3-125m\n";
constexpr const char* kRest = "training: {global_batch: 48}\nstrategy: {tensor: 4, micro_batch: 2}\n";

std::string on(const std::string& nodes, const std::string& more = "") {
  return fmt::format("{}cluster: {{nodes: [{}]{}}}\n{}", kModel, nodes, more, kRest);
}

// Each is of files, or of entries whose types have one name.
std::vector<std::string> scenarios() {
  const std::string plain = "cluster: {nodes: [{type: hgx-h100, count: 1}]}\n";
  return {
      on("{type: a/own.yaml, count: 1}, {type: b/own.yaml, count: 1}"),
      on("{type: b/own.yaml, count: 1}, {type: a/own.yaml, count: 1}"),
      on("{type: hgx-h100, count: 1, network: c/net.yaml}, {type: hgx-h100, count: 1, network: d/net.yaml}"),
      on("{type: hgx-h100, count: 1}, {type: hgx-h100, count: 1, network: ib-hdr}"),
      on("{type: hgx-h100, count: 1, clock_mhz: 1234.567}, {type: hgx-h100, count: 1}"),
      on("{type: hgx-h100, count: 1}, {type: hgx-h100, count: 1, gpu_power_limit_w: 512.3}"),
      on("{type: hgx-h100, count: 1}, {type: hgx-h100, count: 1, gpus: 4}"),
      on("{type: hgx-h100, count: 1, cooling: immersion}, {type: hgx-h100, count: 1, feed: direct-current}"),
      on("{type: hgx-h100, count: 1, price: 2.5}, {type: hgx-h100, count: 1, price: ./prices.yaml/spot}"),
      on("{type: hgx-h100, count: 1}, {type: hgx-h100, count: 1}", ", power_cap_w: 9000"),
      on("{type: hgx-h100, count: 1}", ", price: ./prices.yaml, carbon_g_per_kwh: tables/hours.csv"),
      on("{type: like.yaml, count: 2}"),
      on("{type: {like: a/own.yaml, network: c/net.yaml, gpu: {like: slow/h100.yaml, tdp_w: 650}}, count: 1}, "
         "{type: hgx-h100, count: 1}"),
      on("{type: {like: hgx-h100, gpu: {like: h100, tdp_w: 650}}, count: 1}, "
         "{type: {like: hgx-h100, gpu: {like: h100, memory_bytes: 9e10}}, count: 1}"),
      on("{type: dgx-a100-80g, count: 1}, {type: dgx-a100-80g, count: 1, ports: 2}"),
      on("{type: hgx-h100, count: 1}",
         ", perturbations: {ranks: tables/ranks.csv, nodes: [{node: 0, host: 900}], tokens: tables/tokens.csv, "
         "iterations: {host: tables/factors.csv}}"),
      fmt::format("model: small.yaml\n{}{}", plain, kRest),
      fmt::format("model: {{layers: 4, hidden: 1024, heads: 16, vocab: 51200, max_sequence: 1024}}\n{}{}", plain,
                  kRest),
      fmt::format("{}{}training: {{global_batch: 32, framework: ours.yaml}}\n", kModel, plain),
      fmt::format("{}{}training: {{global_batch: 32, framework: {{like: ./ours.yaml}}}}\n", kModel, plain),
      fmt::format("{}{}training: {{global_batch: 8}}\nstrategy: {{pipeline: 2, data: 4, schedule: orders/1f1b.csv}}\n",
                  kModel, plain),
      on("{type: hgx-h100, count: 2}") + "operations: {iterations: 100, failures: {profile: failures.yaml}}\n",
      on("{type: hgx-h100, count: 2}") + "operations: {iterations: 100, failures: {log: log.csv}}\n",
  };
}

Scenario read_at(const fs::path& file, const std::string& text) {
  write(file, text);
  return load_scenario(file, {}, data_folders());
}

}  // namespace

TEST_CASE("a resolved scenario simulates to the same bits from another folder, whatever files it names") {
  const ScratchFolder folder;
  write_files(folder.path());
  int number = 0;
  for (const std::string& text : scenarios()) {
    CAPTURE(text);
    const Scenario first = read_at(folder / "job.yaml", text);
    const Scenario again = read_at(folder.path() / fmt::format("elsewhere/{}/far.yaml", number++), first.resolved);
    CHECK(again.resolved == first.resolved);
    CHECK(again.job.model.name == first.job.model.name);
    const Simulation one = simulate(first.job);
    const Simulation other = simulate(again.job);
    CHECK(other.result == one.result);
    CHECK(other.timeline.hash() == one.timeline.hash());
    REQUIRE(again.operations.has_value() == first.operations.has_value());
    if (first.operations) CHECK(again.operations->failures.causes.size() == first.operations->failures.causes.size());
  }
}

TEST_CASE("paths through links are those of the files that were read") {
  const ScratchFolder folder;
  write(folder / "small.yaml", "layers: 1\nhidden: 512\nheads: 8\nvocab: 51200\nmax_sequence: 512\n");
  write(folder / "real/small.yaml", "layers: 2\nhidden: 512\nheads: 8\nvocab: 51200\nmax_sequence: 512\n");
  write(folder / "real/deep/job.yaml", "");
  fs::create_directory_symlink(folder / "real/deep", folder / "link");
  const Scenario first =
      read_at(folder / "job.yaml",
              "model: link/../small.yaml\n" + on("{type: hgx-h100, count: 1}").substr(std::string(kModel).size()));
  CHECK(first.job.model.layers == 2);
  CHECK(read_at(folder / "elsewhere/job.yaml", first.resolved).job.model.layers == 2);
}

TEST_CASE("two entries of one type are as slow in either order where only data-parallel replicas lie on them") {
  const auto seconds = [](const std::string& nodes) { return simulate(parse(on(nodes)).job).result.iteration_time_s; };
  const std::string slow = "{type: hgx-h100, count: 1, gpu_power_limit_w: 500}";
  const std::string fast = "{type: hgx-h100, count: 1}";
  const double mixed = seconds(slow + ", " + fast);
  CHECK(seconds(fast + ", " + slow) == doctest::Approx(mixed).epsilon(0.01));
  CHECK(mixed >= seconds(fast + ", " + fast));
}

TEST_CASE("what a search finds simulates to the figures that it tells, in any of its entries") {
  const ScratchFolder folder;
  write_files(folder.path());
  const std::string text =
      "model: small.yaml\n"
      "cluster:\n"
      "  nodes: [{type: a/own.yaml, count: 1, network: d/net.yaml}, {type: a/own.yaml, count: 1, network: c/net.yaml}, "
      "{type: b/own.yaml, count: 1}]\n"
      "training: {global_batch: 64, framework: ours.yaml}\n"
      "search: {nodes: up-to, top: 4, space: {tensor: [8], pipeline: [1, 2], zero: [1], micro_batch: [1], recompute: "
      "[none]}}\n";
  write(folder / "search.yaml", text);
  const SearchScenario search = load_search(folder / "search.yaml", {}, data_folders());
  const SearchOutcome outcome = search_and_simulate(search.job, search.search.spec);
  REQUIRE_FALSE(outcome.strategies.empty());
  for (const SimulatedStrategy& strategy : outcome.strategies) {
    const Scenario written = read_at(folder / "elsewhere/best.yaml", found_scenario(search, strategy.found.job));
    CHECK(simulate(written.job).result.iteration_time_s == strategy.iteration.iteration_time_s);
    CHECK(simulate(written.job).result.energy_j == strategy.iteration.energy_j);
  }
}

TEST_CASE("nodes of a rack are joined anew where a search takes some of them") {
  const std::string text =
      "model: gpt3-125m\n"
      "cluster: {nodes: [{type: gb200-nvl72, count: 32}]}\n"
      "training: {global_batch: 144}\n"
      "search: {nodes: up-to, node_counts: [18], space: {tensor: [4], pipeline: [1], zero: [1], micro_batch: [1]}}\n";
  const SearchScenario search = parse_search(Document::from_text(text, "test.yaml"), data_folders());
  const SearchOutcome outcome = search_and_simulate(search.job, search.search.spec);
  int of_18 = 0;
  for (const SimulatedStrategy& strategy : outcome.strategies) {
    const Scenario written = parse(found_scenario(search, strategy.found.job));
    of_18 += written.job.cluster.nodes() == 18 ? 1 : 0;
    CHECK(written.job.cluster.domains() == strategy.found.job.cluster.domains());
    CHECK(simulate(written.job).result.iteration_time_s == strategy.iteration.iteration_time_s);
  }
  CHECK(of_18 > 0);
}

}  // namespace resolved_places_test
