#include "trace/training_trace.hpp"

#include "base/staged_file.hpp"
#include "trace/hdf5_file.hpp"

#include <string>
#include <vector>

namespace mirfak {

namespace {

constexpr std::int64_t kTrainingSchemaVersion = 1;

void write_summary(Hdf5File& file, const TrainingPrediction& prediction) {
  const TrainingEstimate& estimate = prediction.estimate;
  file.add_group("/summary");
  file.write_attribute("/summary", "finish_time_s", estimate.finish_p50_s.value);
  file.write_attribute("/summary", "finish_time_p95_s", estimate.finish_p95_s.value);
  file.write_attribute("/summary", "finish_time_mean_s", estimate.finish_mean_s.value);
  file.write_attribute("/summary", "goodput", estimate.goodput);
  file.write_attribute("/summary", "machine_energy_j", estimate.energy_j);
  file.write_attribute("/summary", "facility_energy_j", estimate.facility_energy_j);
  file.write_attribute("/summary", "co2_kg", estimate.co2_kg);
  file.write_attribute("/summary", "samples", static_cast<std::int64_t>(estimate.samples));
}

template <typename T, typename Value>
void write_column(Hdf5File& file, const char* name, const std::vector<RunSpan>& spans, const Value& value) {
  Hdf5Column<T> column(file, std::string("/spans/") + name);
  for (const RunSpan& span : spans) column.append(value(span));
  column.finish();
}

void write_spans(Hdf5File& file, const std::vector<RunSpan>& spans) {
  file.add_group("/spans");
  write_column<double>(file, "start_s", spans, [](const RunSpan& span) { return span.start_s; });
  write_column<double>(file, "end_s", spans, [](const RunSpan& span) { return span.end_s; });
  write_column<std::uint8_t>(file, "part", spans,
                             [](const RunSpan& span) { return static_cast<std::uint8_t>(span.part); });
  write_column<std::int32_t>(file, "cause", spans, [](const RunSpan& span) { return span.cause; });
  write_column<std::int64_t>(file, "iteration", spans, [](const RunSpan& span) { return span.iteration; });
}

}  // namespace

void write_training_trace(const std::filesystem::path& path, const Scenario& scenario,
                          const TrainingPrediction& prediction) {
  StagedFile staged(path);
  Hdf5File file = Hdf5File::create(staged.path());
  file.write_attribute("/", "filetype", std::string_view("mirfak training trace"));
  file.write_attribute("/", "schema_version", kTrainingSchemaVersion);
  write_origin(file);
  file.write("/scenario", scenario.resolved);
  file.add_group("/names");
  file.write("/names/parts", time_part_names());
  std::vector<std::string> causes;
  for (const FailureCause& cause : prediction.course.failures.causes) causes.push_back(cause.name);
  if (!causes.empty()) file.write("/names/causes", causes);
  write_summary(file, prediction);
  write_spans(file, prediction.median_run);
  file.write_out();
  staged.commit();
}

}  // namespace mirfak
