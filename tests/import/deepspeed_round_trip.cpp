#include "emitted.hpp"
#include "launch_files.hpp"
#include "round_trip.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <random>

namespace deepspeed_round_trip_test {

using namespace mirfak;

namespace {

// Arguments and JSON in one text.
std::optional<std::string> written(const Job& job) {
  const auto files = written_files(job, LaunchTarget::deepspeed);
  if (!files) return std::nullopt;
  return launch_text(*files);
}

ImportDraft read_back(const std::vector<ImportFile>& files) {
  ImportContext context{import_sources()};
  context.gpus = 32;
  return import_format("megatron-deepspeed").read(files, context);
}

}  // namespace

TEST_CASE("what is written for DeepSpeed is read back as the same strategy") {
  std::mt19937 random(20);
  int compared = 0;
  for (int i = 0; i < 20000 && compared < 1000; ++i) {
    const std::optional<Scenario> before = drawn_scenario(drawn_deepspeed_job(random));
    if (!before) continue;
    const std::optional<std::string> text = written(before->job);
    if (!text) continue;
    CAPTURE(*text);
    CAPTURE(before->resolved);
    const ImportDraft draft = read_back({{"launch.txt", *text}});
    check_same_strategy(before->job, scenario_of(draft, "hgx-h100", 4).job);
    ++compared;
  }
  CHECK(compared == 1000);
}

TEST_CASE("the JSON of Megatron-DeepSpeed's arguments may stand beside them, and is missed where it does not") {
  std::mt19937 random(21);
  std::optional<std::string> text;
  while (!text) {
    const std::optional<Scenario> scenario = drawn_scenario(drawn_deepspeed_job(random));
    if (scenario && scenario->job.strategy.zero == 3) text = written(scenario->job);
  }
  const std::size_t start = text->find("\n{") + 1;
  const ImportFile arguments{"arguments.txt", text->substr(0, start)};
  CHECK(formats_of(arguments) == std::vector<std::string>{"megatron-deepspeed"});
  const ImportDraft draft = read_back({arguments, {"ds_config.json", text->substr(start)}});
  CHECK(said(draft, "strategy.zero") == "3");
  const ImportDraft alone = read_back({arguments});
  CHECK(alone.obstacles().size() == 1);
}

}  // namespace deepspeed_round_trip_test
