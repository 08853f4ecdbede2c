#include "program.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>

using namespace mirfak::test;
using nlohmann::json;

namespace {

// Two stages, a forward pass of 10 ms (12 ms on stage 1) at 1400 MHz, backward passes twice as long.
std::string profile_text() {
  std::string out = "stage,instruction,frequency,time,energy\n";
  for (int stage = 0; stage < 2; ++stage) {
    for (const int backward : {0, 1}) {
      const double full = (stage == 0 ? 0.010 : 0.012) * (1 + backward);
      const char* name = backward == 1 ? "backward" : "forward";
      for (const auto& [clock, stretch, watts] :
           std::vector<std::tuple<int, double, double>>{{1400, 1, 400}, {1200, 1.12, 320}, {1000, 1.3, 270}}) {
        out += std::to_string(stage) + "," + name + "," + std::to_string(clock) + "," + std::to_string(full * stretch) +
               "," + std::to_string(full * stretch * watts) + "\n";
      }
    }
  }
  return out;
}

class Profile {
 public:
  Profile() { folder.write("p.csv", profile_text()); }
  std::string path(const std::string& name) const { return (folder.path() / name).string(); }
  Finished frontier(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"frontier",       "--profile", path("p.csv"),      "--stages", "2",
                                          "--microbatches", "4",         "--blocking-power", "80"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }

  ScratchFolder folder;
};

}  // namespace

TEST_CASE("a frontier as JSON: falling points, savings, plans that keep their deadlines") {
  const Profile profile;
  const Finished finished = profile.frontier({"--format", "json", "--straggler", "1.2", "--straggler", "1.05"});
  REQUIRE(finished.status == 0);
  const json found = json::parse(finished.out);
  const json& points = found.at("points");
  REQUIRE(points.size() > 2);
  for (std::size_t i = 1; i < points.size(); ++i) {
    CHECK(points[i].at("iteration_time_s").get<double>() > points[i - 1].at("iteration_time_s").get<double>());
    CHECK(points[i].at("energy_j").get<double>() < points[i - 1].at("energy_j").get<double>());
  }
  CHECK(points.front().at("iteration_time_s") == found.at("t_min_s"));
  CHECK(points.back().at("iteration_time_s") == found.at("t_star_s"));
  CHECK(found.at("intrinsic_saving").get<double>() > 0.02);
  CHECK(found.at("wall_time_s").get<double>() > 0);
  const json& plans = found.at("plans");
  REQUIRE(plans.size() == 3);
  CHECK(plans[0].at("slowdown") == 1.0);
  CHECK(plans[1].at("slowdown") == 1.05);
  for (const json& plan : plans) {
    CHECK(plan.at("iteration_time_s").get<double>() <= plan.at("deadline_s").get<double>());
    CHECK(plan.at("baselines").size() == 5);
  }
}

TEST_CASE("a plan gives every pass a clock of the profile, in the order in which the stage runs them") {
  const Profile profile;
  REQUIRE(profile.frontier({"--plan", profile.path("plan.json")}).status == 0);
  const json stages = json::parse(read_text(profile.path("plan.json"))).at("plans")[0].at("stages");
  REQUIRE(stages.size() == 2);
  const std::set<double> clocks = {1400, 1200, 1000};
  std::string order;
  for (const json& pass : stages[0].at("passes")) {
    CHECK(clocks.contains(pass.at("frequency_mhz").get<double>()));
    order += pass.at("pass").get<std::string>().substr(0, 1) + std::to_string(pass.at("microbatch").get<int>());
  }
  CHECK(order == "f0f1b0f2b1f3b2b3");
}

TEST_CASE("files: corners as a table, a page that needs nothing else") {
  const Profile profile;
  REQUIRE(profile.frontier({"--out", profile.path("f.csv"), "--report", profile.path("r.html")}).status == 0);
  CHECK(read_text(profile.path("f.csv")).starts_with("iteration_time_s,energy_j\n"));
  const std::string page = read_text(profile.path("r.html"));
  CHECK(page.starts_with("<!DOCTYPE html>"));
  CHECK(page.find("\"kind\":\"frontier\"") != std::string::npos);
}

TEST_CASE("clocks of parts, and ways to run passes: what each kind of choice saves") {
  const std::vector<std::string> job = {"frontier", "scenarios/gpt3-13b-gpipe-a100.yaml",
                                        "--set",    "training.global_batch=64",
                                        "--set",    "training.framework=kareus",
                                        "--set",    "strategy.micro_batch=2",
                                        "--format", "json"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = job;
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const Finished parts = with({"--unit", "part", "--switch-time", "0"});
  REQUIRE(parts.status == 0);
  const nlohmann::json steps = nlohmann::json::parse(parts.out)["steps"];
  REQUIRE(steps.size() == 4);  // passes, changes in 1 and 10 ms, and in no time
  for (std::size_t i = 1; i < steps.size(); ++i) {
    CHECK(steps[i]["energy_j"].get<double>() <= steps[0]["energy_j"].get<double>() * (1 + 1e-9));
  }
  CHECK(steps[3]["saving"].get<double>() >= steps[1]["saving"].get<double>() - 1e-9);
  CHECK(steps[1]["saving"].get<double>() >= steps[2]["saving"].get<double>() - 1e-9);
  const Finished classes = with({"--unit", "kernel-class", "--switch-time", "1ms"});
  REQUIRE(classes.status == 0);
  const nlohmann::json of_classes = nlohmann::json::parse(classes.out)["steps"];
  REQUIRE(of_classes.size() == 5);  // passes, parts, changes in no time and in 10 ms, and in 1 ms
  CHECK(of_classes[2]["saving"].get<double>() > steps[3]["saving"].get<double>());
  CHECK(of_classes[4]["saving"].get<double>() >= of_classes[1]["saving"].get<double>() - 1e-9);
  CHECK(with({"--unit", "kernel-class", "--joint"}).status == 2);
  const Finished joint = with({"--joint", "--communication-sms", "4"});
  REQUIRE(joint.status == 0);
  CHECK(nlohmann::json::parse(joint.out)["steps"].size() == 5);
  CHECK(with({"--switch-time", "1ms"}).status == 2);  // of whole passes
  CHECK(with({"--unit", "part", "--switch-time", "1 mile"}).status == 2);
  CHECK(with({"--unit", "kernel"}).status == 2);
  CHECK(with({"--communication-sms", "4"}).status == 2);
  CHECK(with({"--joint", "--communication-sms", "0"}).status == 2);
}

TEST_CASE("a scenario has a frontier too") {
  const Finished finished =
      run({"frontier", "scenarios/gpt3-13b-gpipe-a100.yaml", "--set", "training.global_batch=64", "--format", "json"});
  REQUIRE(finished.status == 0);
  const json found = json::parse(finished.out);
  const json simulated = json::parse(
      run({"simulate", "scenarios/gpt3-13b-gpipe-a100.yaml", "--set", "training.global_batch=64", "--format", "json"})
          .out);
  const json& highest = found.at("plans")[0].at("baselines")[0];
  CHECK(highest.at("name") == "highest clock");
  CHECK(highest.at("iteration_time_s") == simulated.at("iteration_time_s"));
  CHECK(highest.at("energy_j").get<double>() == doctest::Approx(simulated.at("energy_j").get<double>()).epsilon(1e-9));
}

TEST_CASE("what cannot be computed is refused, and leaves nothing behind") {
  const Profile profile;
  const auto refuses = [&](std::vector<std::string> more, const std::string& part, int status = 2) {
    more.insert(more.end(), {"--plan", profile.path("plan.json")});
    const Finished finished = profile.frontier(more);
    CHECK(finished.status == status);
    CHECK(finished.out.empty());
    CHECK_MESSAGE(finished.err.find(part) != std::string::npos, finished.err);
    CHECK(profile.folder.names() == std::vector<std::string>{"p.csv"});
  };
  refuses({"--straggler", "0.9"}, "--straggler");
  refuses({"--blocking-power", "-1"}, "blocking-power");
  refuses({"--schedule", "1f2b"}, "did you mean '1f1b'?");
  refuses({"--schedule", "gpipe", "--chunks", "2"}, "one chunk per stage");
  refuses({"--set", "strategy.tensor=2"}, "--set belongs to a scenario");
  CHECK(run({"frontier"}).status == 2);
  CHECK(run({"frontier", "scenarios/gpt3-13b-gpipe-a100.yaml", "--stages", "2"}).status == 2);
  CHECK(run({"frontier", "--profile", profile.path("p.csv"), "--stages", "3", "--microbatches", "2"}).status == 2);
  CHECK(run({"frontier", "--profile", profile.path("p.csv"), "--stages", "2", "--microbatches", "3", "--chunks", "2"})
            .status == 3);
  const Finished missing = run({"frontier", "--profile", profile.path("p.csv"), "--stages", "2"});
  CHECK(missing.status == 2);
  CHECK(missing.err.find("--profile needs --microbatches") != std::string::npos);
}
