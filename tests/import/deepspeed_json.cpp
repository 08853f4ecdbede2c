#include "launch_files.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

namespace deepspeed_json_test {

using namespace mirfak;

namespace {

ImportDraft deepspeed(const ImportFile& file, std::optional<std::int64_t> gpus = {},
                      std::map<std::string, std::string> words = {}) {
  ImportContext context{import_sources()};
  context.gpus = gpus;
  context.environment = std::move(words);
  return import_format("deepspeed-json").read(std::span(&file, 1), context);
}

std::int64_t doubts(const ImportDraft& draft) {
  const std::vector<ImportLine> lines = draft.lines();
  return std::count_if(lines.begin(), lines.end(),
                       [](const ImportLine& line) { return line.verdict == Verdict::unknown; });
}

std::string place_of_refusal(const ImportFile& file) {
  try {
    deepspeed(file, 64);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.where().text();
  }
  return "read";
}

}  // namespace

TEST_CASE("words of a template in DeepSpeed JSON are refused at their place, or filled from the environment") {
  const ImportFile file{
      "ds.json",
      "{\n  \"train_batch_size\": CONFIG_BATCH_SIZE,\n\t\"zero_optimization\": {\"stage\": ${zero_stage}}\n}"};
  CHECK(place_of_refusal(file) == "ds.json:2:23");
  const ImportDraft draft = deepspeed(file, 64, {{"CONFIG_BATCH_SIZE", "256"}, {"zero_stage", "2"}});
  CHECK(said(draft, "training.global_batch") == "256");
  CHECK(said(draft, "strategy.zero") == "2");
  CHECK(said(draft, "strategy.micro_batch") == "4");
  CHECK(place_of_refusal({"ds.json", "{\"train_batch_size\": \"many\"}"}) == "ds.json:1:22");
  CHECK(place_of_refusal({"ds.json", "{\"train_batch_size\": 8,,}"}) == "ds.json:1:24");
  CHECK(place_of_refusal({"ds.json", "{\"zero_optimization\": {\"stage\": 4}}"}) == "ds.json:1:33");
}

TEST_CASE("all DeepSpeed files are read, or refused at the word of a template") {
  std::size_t read = 0;
  std::size_t templates = 0;
  for (const auto& path : launch_configs("deepspeed", ".json")) {
    CAPTURE(path.string());
    const ImportFile file = import_file(path);
    CHECK(formats_of(file) == std::vector<std::string>{"deepspeed-json"});
    try {
      const ImportDraft draft = deepspeed(file, 64);
      ++read;
      CHECK_FALSE(said(draft, "strategy.zero").empty());
      for (const ImportLine& line : draft.lines()) {
        const bool explained = line.verdict != Verdict::unknown || !line.reason.empty();
        CHECK_MESSAGE(explained, line.text);
      }
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      CHECK(error.message().starts_with("expected a JSON value, found the word"));
      ++templates;
    }
  }
  if (read == 0) {
    MESSAGE("skipped: no ../shared/launch-configs/deepspeed");
    return;
  }
  CHECK(read == 75);
  CHECK(templates == 24);
}

TEST_CASE("state on disks is read at stage 3, with its overlap if both ways overlap") {
  const auto read = [](const std::string& stage, const std::string& more) {
    return deepspeed(
        {"ds.json", "{\"zero_optimization\": {\"stage\": " + stage +
                        ", \"offload_optimizer\": {\"device\": \"nvme\", \"nvme_path\": \"/fast\"" + more + "}}}"},
        16);
  };
  const std::string reads = ", \"pipeline_read\": true";
  const std::string both = reads + ", \"pipeline_write\": true";
  const ImportDraft draft = read("3", both);
  CHECK(said(draft, "strategy.optimizer_on_disk") == "true");
  CHECK(said(draft, "strategy.offload_optimizer") == "1");
  CHECK(said(draft, "strategy.overlap_disk") == "true");
  CHECK(doubts(draft) == 0);
  CHECK(said(read("3", ""), "strategy.overlap_disk").empty());
  CHECK(doubts(read("3", reads)) == 1);
  const ImportDraft early = read("2", "");
  CHECK(said(early, "strategy.optimizer_on_disk").empty());
  CHECK(doubts(early) == 1);
}

}  // namespace deepspeed_json_test
