#include "profiles.hpp"
#include "support/source_root.hpp"

namespace mirfak::test {

StageProfile simple_profile(const std::vector<double>& forward_s) {
  StageProfile profile;
  profile.name = "simple.csv";
  for (const double forward : forward_s) {
    std::array<std::vector<ClockChoice>, 4> stage;
    for (const double scale : {1.0, 2.0}) {
      const double time = scale * forward;
      auto& choices = stage[scale == 1.0 ? 0 : 1];
      choices.push_back({3e6, to_picoseconds(time), 400 * time});
      choices.push_back({2e6, to_picoseconds(1.5 * time), 300 * time});
      choices.push_back({1e6, to_picoseconds(2 * time), 280 * time});
    }
    profile.stages.push_back(std::move(stage));
  }
  return profile;
}

ClockedProgram pipeline(const StageProfile& profile, int microbatches, ScheduleId schedule, int chunks,
                        double blocked_w) {
  const auto stages = static_cast<int>(profile.stages.size());
  return profiled_pipeline(profile, {stages, chunks, microbatches, stages}, schedule, blocked_w);
}

std::filesystem::path shared_file(const std::string& name) {
  const std::filesystem::path path = std::filesystem::path(source_root()) / ".." / "shared" / "perseus" / name;
  return std::filesystem::exists(path) ? path : std::filesystem::path();
}

}  // namespace mirfak::test
