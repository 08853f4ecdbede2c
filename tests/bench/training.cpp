// Whole trainings: simulated days a second of 2,048 nodes that fail as Llama 3's did, and how long a million days take.
//   mirfak_bench_training [--smoke]

#include "training/estimate.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string>

using namespace mirfak;

namespace {

constexpr double kDay = 86400;
constexpr int kNodes = 2048;
constexpr double kIteration_s = 10;

TrainingCourse course_of(double days, double repair_s, int spares, bool in_memory, double node_spread) {
  const auto iterations = static_cast<std::int64_t>(days * kDay / kIteration_s);
  std::vector<CheckpointTier> tiers;
  if (in_memory) tiers.push_back({60, 0.5, 0, 5, true, 1});
  tiers.push_back({480, 10, 0, 60, false, 0});
  TrainingCourse course{WorkCalendar({{iterations, kIteration_s, 1e7}}, tiers, {1000, 60})};
  course.failures.causes = {{"gpu", 4.96 / kDay, 1, repair_s, 0, false, ""},
                            {"software", 1.17 / kDay, 0, 0, 0, false, ""},
                            {"rack", 0.1 / kDay, 8, repair_s, 0, false, ""}};
  course.failures.spread.sigma = node_spread;
  course.detection_s = 60;
  course.restart_s = 540;
  course.nodes = kNodes;
  course.spares = spares;
  return course;
}

void measure(const char* what, const TrainingCourse& course, int samples) {
  const auto begin = std::chrono::steady_clock::now();
  const TrainingEstimate estimate = estimate_training(course, samples, 1);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const double days = estimate.simulated_s / kDay;
  fmt::print("{:<40} {:>10.0f} {:>12.0f} {:>14.2f}\n", what, days, days / took.count(), 1e6 / (days / took.count()));
}

}  // namespace

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string(argv[1]) == "--smoke";
  const int samples = smoke ? 2 : 1000;
  const double days = smoke ? 10 : 100;
  fmt::print("{:<40} {:>10} {:>12} {:>14}\n", "course", "days", "days/s", "s per million");
  measure("nodes mended at once", course_of(days, 0, 0, false, 0), samples);
  measure("repairs of a day, 32 spares", course_of(days, kDay, 32, false, 0), samples);
  measure("... and states in memory", course_of(days, kDay, 32, true, 0), samples);
  measure("... and nodes that are not alike", course_of(days, kDay, 32, true, 0.7), samples);
  return 0;
}
