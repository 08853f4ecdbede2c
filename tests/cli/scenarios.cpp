// Every scenario that comes with mirfak runs, fits in memory, and gives figures that are numbers.

#include "program.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>

using namespace mirfak::test;
using nlohmann::json;

namespace {

// The scenarios that a search is asked about, or those of one strategy.
std::vector<std::filesystem::path> scenarios(bool of_searches) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(mirfak::source_root() + "/scenarios")) {
    const std::filesystem::path extension = entry.path().extension();
    if (!entry.is_regular_file() || extension == ".sbatch" || extension == ".md") continue;
    if (entry.path().filename().string().starts_with("search-") == of_searches) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// The numbers under `value`, with their paths.
void collect_numbers(const json& value, const std::string& path, std::vector<std::pair<std::string, double>>& out) {
  if (value.is_number()) out.emplace_back(path, value.get<double>());
  if (!value.is_structured()) return;
  for (const auto& [key, child] : value.items()) collect_numbers(child, path + "/" + key, out);
}

void check_figures(const json& result) {
  std::vector<std::pair<std::string, double>> numbers;
  collect_numbers(result, "", numbers);
  for (const auto& number : numbers) {
    CHECK_MESSAGE((std::isfinite(number.second) && number.second >= 0),
                  fmt::format("{} = {}", number.first, number.second));
  }
  CHECK(result.at("fits") == true);
  CHECK(result.at("memory_peak_bytes") <= result.at("memory_capacity_bytes"));
  CHECK(result.at("iteration_time_s") > 0);
  CHECK(result.at("mfu") > 0);
  CHECK(result.at("mfu") <= result.at("hfu"));
  CHECK(result.at("hfu") < 1);
  CHECK(result.at("cost_usd_per_iteration") > 0);
}

void check_report(const Finished& finished) {
  REQUIRE(finished.status == 0);
  CHECK(finished.err.empty());
  CHECK(finished.out.find("nan") == std::string::npos);
  CHECK(finished.out.find("inf ") == std::string::npos);
  CHECK(finished.out.find('\x1b') == std::string::npos);  // colours are for terminals
  CHECK(std::count(finished.out.begin(), finished.out.end(), '\n') < 200);
}

}  // namespace

TEST_CASE("every scenario runs and fits") {
  REQUIRE(scenarios(false).size() >= 12);
  for (const auto& path : scenarios(false)) {
    CAPTURE(path.string());
    CHECK(path.extension() == ".yaml");
    const Finished finished = run({"simulate", path.string(), "--format", "json"});
    CHECK(finished.err.empty());
    REQUIRE(finished.status == 0);
    check_figures(json::parse(finished.out));
  }
}

TEST_CASE("jobs that meet on uplinks are slower than alone, and apart they are not") {
  const std::string file = mirfak::source_root() + "/scenarios/jobs/two-llama2-70b-h100.yaml";
  const auto jobs_of = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"simulate", file, "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = run(words);
    CHECK(finished.err.empty());
    REQUIRE(finished.status == 0);
    return json::parse(finished.out);
  };
  const json meeting = jobs_of({});
  CHECK(meeting.at("contended_links") > 0);
  REQUIRE(meeting.at("jobs").size() == 2);
  for (const json& job : meeting.at("jobs")) {
    CHECK(job.at("slowdown") > 0.02);
    CHECK(job.at("iterations") >= 10);
    CHECK(job.at("fits") == true);
    CHECK(job.at("unbound_s") < job.at("alone_s"));
    CHECK(job.at("iteration").at("iteration_time_s") == job.at("mean_s"));
    CHECK(job.at("iteration").at("notes").empty());
    CHECK(job.at("waiting_for_others").at("energy_j") > 0);
    double by_other = 0;
    const std::string other = job.at("name") == "first" ? "second" : "first";
    for (const json& slowed : job.at("slowed")) by_other += slowed.at("by_job").at(other).get<double>();
    CHECK(by_other > 0);
  }
  CHECK_FALSE(meeting.at("links").at("binding").empty());
  const json apart = jobs_of({"--set", "jobs[0].nodes=0-31"});
  CHECK(apart.at("contended_links") == 0);
  for (const json& job : apart.at("jobs")) CHECK(job.at("mean_s") == job.at("alone_s"));
}

TEST_CASE("perturbations of the cluster reach the job whose nodes they are of, and jobs have their own") {
  const std::string file = mirfak::source_root() + "/scenarios/jobs/two-llama2-70b-h100.yaml";
  const Finished slow = run({"simulate", file, "--format", "json", "--set", "iterations=1", "--set",
                             "cluster.perturbations={nodes: [{node: 1, compute: 2}]}"});
  REQUIRE(slow.status == 0);
  const json jobs = json::parse(slow.out).at("jobs");
  CHECK(jobs[1].at("alone_s") > 1.3 * jobs[0].at("alone_s").get<double>());
  CHECK(jobs[0].at("slowed").empty() == false);
  const Finished drawn = run({"simulate", file, "--format", "json", "--set", "iterations=1", "--set",
                              "jobs[1].perturbations={iterations: {compute: {lognormal: {sigma: 0.05}}}}", "--set",
                              "jobs[0].nodes=0-31", "--samples", "4"});
  REQUIRE(drawn.status == 0);
  const json spread = json::parse(drawn.out).at("spread").at("jobs");
  CHECK(spread[0].at("together").at("deviation_s") == 0);
  CHECK(spread[1].at("together").at("deviation_s") > 0);
}

TEST_CASE("the explanation of jobs says what slows what, and explains each job alone") {
  const Finished finished =
      run({"simulate", mirfak::source_root() + "/scenarios/jobs/two-llama2-70b-h100.yaml", "--explain"});
  REQUIRE(finished.status == 0);
  for (const char* expected : {"the others add", "leaf to spine", "by second", "reduce gradients (first)",
                               "The job first alone", "The job second alone", "Sources"}) {
    CAPTURE(expected);
    CHECK(finished.out.find(expected) != std::string::npos);
  }
}

TEST_CASE("every search finds strategies that fit") {
  REQUIRE(scenarios(true).size() >= 3);
  for (const auto& path : scenarios(true)) {
    CAPTURE(path.string());
    CHECK(path.extension() == ".yaml");
    const Finished finished = run({"search", path.string(), "--format", "json"});
    CHECK(finished.err.empty());
    REQUIRE(finished.status == 0);
    const json result = json::parse(finished.out);
    REQUIRE(!result.at("strategies").empty());
    for (const json& strategy : result.at("strategies")) check_figures(strategy);
  }
}

TEST_CASE("every scenario has a text report that a terminal can show") {
  for (const auto& path : scenarios(false)) {
    CAPTURE(path.string());
    check_report(run({"simulate", path.string()}));
  }
  for (const auto& path : scenarios(true)) {
    CAPTURE(path.string());
    check_report(run({"search", path.string()}));
  }
}

TEST_CASE("every scenario says what it shows") {
  for (const bool of_searches : {false, true}) {
    for (const auto& path : scenarios(of_searches)) {
      CAPTURE(path.string());
      CHECK(read_text(path).starts_with("# "));
    }
  }
}
