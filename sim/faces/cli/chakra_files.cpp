#include "cli/chakra_files.hpp"

#include "base/origin.hpp"
#include "base/text.hpp"
#include "chakra/chakra_export.hpp"
#include "network/host_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace mirfak {

namespace {

std::vector<int> ranks_of(const std::string& text) {
  std::vector<int> out;
  if (text.empty()) return out;
  const Location at{fmt::format("--chakra-ranks {}", excerpt(text)), 0, 0};
  for (const std::string& number : HostLists().expand("[" + text + "]", at)) {
    int rank = 0;
    const auto [stop, fault] = std::from_chars(number.data(), number.data() + number.size(), rank);
    if (fault != std::errc() || stop != number.data() + number.size()) {
      fail_input(at, fmt::format("'{}' is no rank", excerpt(number)), "for example 0-7,64");
    }
    out.push_back(rank);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

void write_chakra_files(const std::string& prefix, const std::string& ranks, const Scenario& scenario,
                        const Simulation& simulation) {
  const ChakraHeaderTexts texts = {{"program", origin_text()}, {"scenario", scenario.resolved}};
  write_chakra(prefix, simulation, ranks_of(ranks), texts);
}

}  // namespace mirfak
