// Readings of power beside the prediction, from a table to the report. The readings are made: of the predicted power
// over time itself, and of changes of it whose effect is known.

#include "measure/power_recorder.hpp"
#include "measure_program.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <numbers>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;
using namespace mirfak::measure;

namespace {

// Iterations of some seconds: stages that wait for each other at the ends of an iteration.
const std::string kJob =
    "model: gpt3-2.7b\ncluster: {nodes: [{type: dgx-a100-80g, count: 1}]}\n"
    "training: {global_batch: 64, sequence_length: 2048, precision: bf16}\n"
    "strategy: {pipeline: 8, micro_batch: 4}\n";

// Watts of GPU 0 over one iteration, by intervals of 10 ms, as `simulate --power` writes them.
std::vector<double> predicted(const ScratchFolder& folder) {
  const Finished made = run_shell("mirfak simulate job.yaml --power watts.csv --power-resolution 10ms", folder.path());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  std::istringstream in(read_text(folder.path() / "watts.csv"));
  std::vector<double> out;
  std::size_t column = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> fields;
    std::istringstream parts(line);
    for (std::string field; std::getline(parts, field, ',');) fields.push_back(field);
    if (column == 0) {
      for (std::size_t i = 0; i < fields.size(); ++i) {
        if (fields[i].starts_with("gpu_0_w") || fields[i] == "gpu0_w") column = i;
      }
      REQUIRE_MESSAGE(column > 0, line);
      continue;
    }
    out.push_back(std::stod(fields[column]));
  }
  REQUIRE(out.size() > 100);
  return out;
}

struct Changes {
  double factor = 1;           // of the difference from the mean
  double offset_w = 0;         // of all
  double late_s = 0;           // of the first reading within an iteration
  double wave_w = 0;           // of 3 Hz: too fast to count
  double warming_w_per_s = 0;  // too slow to count
};

// Writes readings each `every_s`, not quite evenly, over `iterations`.
void write_readings(const ScratchFolder& folder, const std::vector<double>& watts, double iterations, double every_s,
                    const Changes& changes) {
  const double period_s = 0.01 * static_cast<double>(watts.size());
  double mean = 0;
  for (const double value : watts) mean += value / static_cast<double>(watts.size());
  std::string text = "index,time_s,power_w\n";
  int index = 0;
  for (double at = 0; at < iterations * period_s; at += every_s * (1 + 0.3 * std::sin(7.0 * index)), ++index) {
    const auto place = static_cast<std::size_t>((at + changes.late_s) / 0.01) % watts.size();
    const double wave = changes.wave_w * std::sin(2 * std::numbers::pi * 3 * at);
    text += fmt::format(
        "{},{:.6f},{:.3f}\n", index, 1000 + at,
        mean + changes.factor * (watts[place] - mean) + changes.offset_w + wave + changes.warming_w_per_s * at);
  }
  folder.write("readings.csv", text);
}

struct Compared {
  double mean_error = 0;       // percent
  double amplitude_error = 0;  // percent
  std::string text;
};

Compared compared(const ScratchFolder& folder) {
  const Finished finished = run_shell("mirfak-measure power job.yaml --readings readings.csv", folder.path());
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  Compared out;
  out.text = finished.out;
  std::istringstream lines(finished.out);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t sign = line.find_last_of("+-");
    if (line.starts_with("mean power")) out.mean_error = std::stod(line.substr(sign));
    if (line.starts_with("amplitude below 1 Hz ")) out.amplitude_error = std::stod(line.substr(sign));
  }
  return out;
}

}  // namespace

TEST_CASE("readings of the predicted power agree with the prediction, whenever they begin") {
  const ScratchFolder folder;
  folder.write("job.yaml", kJob);
  const std::vector<double> watts = predicted(folder);
  for (const double late_s : {0.0, 0.7}) {
    write_readings(folder, watts, 7.3, 0.02, {.late_s = late_s, .wave_w = 30, .warming_w_per_s = 0.2});
    const Compared found = compared(folder);
    CHECK_MESSAGE(std::abs(found.mean_error) < 3, found.text);
    CHECK_MESSAGE(std::abs(found.amplitude_error) < 6, found.text);
    CHECK_MESSAGE(contains(found.text, "within 10 %"), found.text);
    CHECK_MESSAGE(!contains(found.text, "not within"), found.text);
  }
}

TEST_CASE("readings that swing more, or lie higher, are told apart from the prediction") {
  const ScratchFolder folder;
  folder.write("job.yaml", kJob);
  const std::vector<double> watts = predicted(folder);
  write_readings(folder, watts, 8, 0.02, {.factor = 1.5});
  const Compared swings = compared(folder);
  CHECK_MESSAGE(swings.amplitude_error == doctest::Approx(100 / 1.5 - 100).epsilon(0.1), swings.text);
  CHECK_MESSAGE(contains(swings.text, "not within 10 %"), swings.text);
  write_readings(folder, watts, 8, 0.02, {.offset_w = 50});
  const Compared higher = compared(folder);
  CHECK_MESSAGE(higher.mean_error < -10, higher.text);
  CHECK_MESSAGE(std::abs(higher.amplitude_error) < 6, higher.text);
}

TEST_CASE("tables that cannot be compared are refused with their place") {
  const ScratchFolder folder;
  folder.write("job.yaml", kJob);
  const auto refused = [&](const std::string& readings, const std::string& options, const std::string& message) {
    folder.write("readings.csv", readings);
    const Finished finished =
        run_shell("mirfak-measure power job.yaml --readings readings.csv" + options, folder.path());
    CHECK_MESSAGE(finished.status != 0, finished.out);
    CHECK_MESSAGE(contains(finished.err, message), finished.err);
  };
  refused("time_s,power_w\n0,100\n0.1,x\n", "", "readings.csv:3:5");
  refused("time_s,power_w\n0,100\n0,100\n", "", "readings.csv:3:1: time_s: a time of 0 s does not follow 0 s");
  refused("time_s,power_w\n0,100\n0.5,100\n", "", "nothing was read for 500 ms");
  refused("time_s,power_w\n0,100\n", "", "two readings or more");
  refused("time_s,watts\n0,100\n", "", "power_w");
  refused("time_s,power_w\n0,100\n0.1,100\n0.2,100\n", "", "read power every 30.0 ms or less");
  refused("time_s,power_w\n0,100\n0.02,100\n", "", "read power over at least 5 iterations");
  std::string many = "time_s,power_w\n";
  for (int i = 0; i < 2000; ++i) many += fmt::format("{:.2f},100\n", 0.02 * i);
  refused(many, " --set training.global_batch=4", "has no line below 1 Hz");
  refused(many, " --gpu 99", "has no GPU 99");
}

TEST_CASE("a recorder reads again and again, and ends where nothing can be read") {
  int left = 20;
  PowerRecorder ends(
      [&]() -> std::optional<double> {
        if (left-- == 0) return std::nullopt;
        return 100.0 + left;
      },
      0.001);
  PowerRecorder goes_on([] { return std::optional<double>(200); }, 0.001);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const PowerReadings& all = ends.stop();
  REQUIRE(all.power_w.size() == 20);
  CHECK(all.power_w.front() == 119);
  CHECK(all.power_w.back() == 100);
  const PowerReadings& many = goes_on.stop();
  CHECK(many.time_s.size() > 10);
  const PowerReadings again = read_power_readings(CsvTable::from_text(readings_csv(many), "watts.csv"));
  REQUIRE(again.time_s.size() == many.time_s.size());
  CHECK(again.time_s.back() - again.time_s.front() ==
        doctest::Approx(many.time_s.back() - many.time_s.front()).epsilon(1e-3));
  CHECK(again.power_w == many.power_w);
}
