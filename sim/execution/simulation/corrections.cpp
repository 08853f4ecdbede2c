#include "simulation/corrections.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

std::string factors_text(const TimeFactors& factors) {
  std::string out;
  for (const TimeFactor& factor : kTimeFactorKeys) {
    out += fmt::format("{}{} {:.3g}", out.empty() ? "" : ", ", factor.title, factors.*factor.value);
  }
  return out;
}

}  // namespace

std::vector<std::string> corrections_of(const Job& job) {
  std::vector<std::string> out;
  const auto add = [&](std::string note) {
    if (std::find(out.begin(), out.end(), note) == out.end()) out.push_back(std::move(note));
  };
  for (const NodeGroup& group : job.cluster.groups()) {
    const NodeSpec& node = group.hardware.spec;
    if (!node.correction) continue;
    add(fmt::format("{} is corrected by {}, how many times as long as by the profiles: {}", node.name,
                    node.correction->source, factors_text(node.correction->factors)));
    if (node.correction->framework != job.framework.name) {
      add(fmt::format("those runs were under {}, and this job is under {}: what its software differs by is not known",
                      node.correction->framework, job.framework.name));
    }
  }
  return out;
}

}  // namespace mirfak
