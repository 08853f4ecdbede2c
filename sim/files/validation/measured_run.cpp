#include "validation/measured_run.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kOutOfMemory = "out of memory";
constexpr std::string_view kRan = "ran";
constexpr double kGiB = 1073741824.0;

std::optional<double> measurement(const RunReading& reading, std::string_view key, double minimum, double maximum) {
  const Value* value = reading.find(key);
  if (value == nullptr) return std::nullopt;
  const std::optional<double> number = number_of(value->scalar);
  if (!number || !(*number >= minimum && *number <= maximum)) {
    fail_input(value->where,
               fmt::format("expected a number from {} to {}, found '{}'", minimum, maximum, excerpt(value->scalar)));
  }
  return number;
}

// Returns the seconds per iteration, as stated or from a throughput.
std::optional<double> measured_seconds(const RunReading& reading) {
  if (const auto seconds = measurement(reading, "measured.seconds", 1e-9, 1e7)) return seconds;
  const auto rate = measurement(reading, "measured.tokens_per_s_per_gpu", 1e-9, 1e15);
  const auto batch = reading.whole_number("training.global_batch");
  const auto sequence = reading.whole_number("training.sequence_length");
  const auto gpus = reading.whole_number("gpus");
  if (!rate || !batch || !sequence || !gpus) return std::nullopt;
  const double tokens = static_cast<double>(*batch) * static_cast<double>(*sequence);
  return tokens / (*rate * static_cast<double>(*gpus));
}

bool is_last_stage(const RunReading& reading) {
  const Value* value = reading.find("measured.stage");
  if (value == nullptr) return false;
  if (value->scalar != "last") fail_input(value->where, "expected 'last', found '" + excerpt(value->scalar) + "'");
  return true;
}

bool is_out_of_memory(const RunReading& reading) {
  const Value* value = reading.find("measured.outcome");
  if (value == nullptr || value->scalar == kRan) return false;
  if (value->scalar != kOutOfMemory) {
    fail_input(value->where,
               fmt::format("expected '{}' or '{}', found '{}'", kOutOfMemory, kRan, excerpt(value->scalar)));
  }
  return true;
}

std::string sizes_of(const RunReading& reading) {
  std::string out;
  constexpr std::pair<std::string_view, std::string_view> kSizes[] = {
      {"strategy.tensor", "tp"},  {"strategy.pipeline", "pp"}, {"strategy.virtual_pipeline", "vpp"},
      {"strategy.context", "cp"}, {"strategy.expert", "ep"},   {"strategy.micro_batch", "mb"}};
  for (const auto& [key, name] : kSizes) {
    const std::int64_t size = reading.whole_number(key).value_or(1);
    if (size > 1) out += fmt::format("{}{}{}", out.empty() ? "" : " ", name, size);
  }
  return out;
}

}  // namespace

MeasuredRun measured_run(const RunReading& reading) {
  MeasuredRun run;
  run.where = reading.where();
  run.tier = reading.text("tier").value_or("");
  run.source = reading.text("model.source").value_or("");
  run.model = reading.text("model.name").value_or("");
  run.gpu = reading.cell("gpu").empty() ? reading.text("node").value_or("") : reading.cell("gpu");
  run.precision =
      reading.cell("dtype").empty() ? reading.text("training.precision").value_or("") : reading.cell("dtype");
  run.sizes = sizes_of(reading);
  run.group = reading.cell("group");
  run.gpus = reading.whole_number("gpus");
  run.global_batch = reading.whole_number("training.global_batch");
  run.seconds = measured_seconds(reading);
  run.allocated_bytes = measurement(reading, "measured.allocated_bytes", 1e6, 1e14);
  if (const auto gib = measurement(reading, "measured.allocated_gib", 1e-3, 1e5)) run.allocated_bytes = *gib * kGiB;
  run.gpu_power_w = measurement(reading, "measured.gpu_power_w", 1, 1e11);
  run.machine_power_w = measurement(reading, "measured.machine_power_w", 1, 1e11);
  run.allocated_by_last_stage = is_last_stage(reading);
  run.chose = reading.text("measured.chose").value_or("");
  run.out_of_memory = is_out_of_memory(reading);
  run.ran = !run.out_of_memory && (run.seconds || run.states_power() || reading.find("measured.outcome") != nullptr);
  return run;
}

}  // namespace mirfak
