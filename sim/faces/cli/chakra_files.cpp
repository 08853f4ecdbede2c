#include "cli/chakra_files.hpp"

#include "base/origin.hpp"
#include "base/text.hpp"
#include "capture/captured_chakra.hpp"
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

ChakraHeaderTexts header_texts(const std::string& scenario) {
  return {{"program", origin_text()}, {"scenario", scenario}};
}

}  // namespace

void write_chakra_files(const std::string& prefix, const std::string& ranks, const Scenario& scenario,
                        const Simulation& simulation) {
  write_chakra(prefix, simulation, ranks_of(ranks), header_texts(scenario.resolved));
}

std::vector<std::string> write_chakra_files(const std::string& prefix, const std::string& ranks,
                                            const CapturedScenario& scenario, const CaptureSources& sources) {
  return write_chakra(prefix, scenario, sources, ranks_of(ranks), header_texts(scenario.resolved));
}

void check_chakra_options(const std::string& prefix, const std::string& ranks) {
  if (ranks.empty() || !prefix.empty()) return;
  fail_input({}, "--chakra-ranks says which ranks to write", "add --chakra, or leave it out");
}

}  // namespace mirfak
