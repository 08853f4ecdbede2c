#include "cost/activity.hpp"

namespace mirfak {

double seconds_between(const ActivitySeconds& seconds, Activity first, Activity last) {
  double sum = 0;
  for (auto i = static_cast<std::size_t>(first); i <= static_cast<std::size_t>(last); ++i) sum += seconds[i];
  return sum;
}

std::string_view name_of(Activity activity) {
  constexpr std::array<std::string_view, kActivities> names = {"GEMM",
                                                               "attention",
                                                               "memory-bound kernels",
                                                               "optimizer",
                                                               "tensor communication",
                                                               "context communication",
                                                               "expert communication",
                                                               "data communication",
                                                               "pipeline communication",
                                                               "host",
                                                               "bubble"};
  return names[static_cast<std::size_t>(activity)];
}

std::string_view key_of(Activity activity) {
  constexpr std::array<std::string_view, kActivities> keys = {"gemm",
                                                              "attention",
                                                              "memory_bound",
                                                              "optimizer",
                                                              "tensor_communication",
                                                              "context_communication",
                                                              "expert_communication",
                                                              "data_communication",
                                                              "pipeline_communication",
                                                              "host",
                                                              "bubble"};
  return keys[static_cast<std::size_t>(activity)];
}

std::optional<std::size_t> time_factor_of(Activity activity) {
  switch (activity) {
    case Activity::gemm:
    case Activity::attention:
    case Activity::memory_bound:
    case Activity::optimizer:
      return 0;
    case Activity::tensor_communication:
    case Activity::context_communication:
    case Activity::expert_communication:
    case Activity::data_communication:
    case Activity::pipeline_communication:
      return 1;
    case Activity::host:
      return 2;
    case Activity::bubble:
      break;
  }
  return std::nullopt;
}

}  // namespace mirfak
