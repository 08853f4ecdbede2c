#include "cost/measured_software.hpp"

namespace mirfak {

int MeasuredSoftware::sources(std::string_view framework, std::span<const std::string> likes,
                              std::string_view architecture) const {
  auto found = frameworks_.find(framework);
  for (auto like = likes.begin(); found == frameworks_.end() && like != likes.end(); ++like) {
    found = frameworks_.find(*like);
  }
  if (found == frameworks_.end()) return 0;
  const auto count = found->second.find(architecture);
  return count == found->second.end() ? 0 : count->second;
}

double unmeasured_share(int sources) {
  const double less = 1.0 / (1.0 + sources);
  return less * less * less;
}

}  // namespace mirfak
