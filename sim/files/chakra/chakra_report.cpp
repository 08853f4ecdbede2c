#include "chakra/chakra_report.hpp"

#include "base/section.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace mirfak {

namespace {

constexpr int kReplayedDigits = 5;         // precision to which replayed times are known
constexpr std::size_t kReplayedRanks = 8;  // ranks in text; JSON has all
constexpr std::size_t kShownParts = 15;

Cell replayed_time(double seconds) { return in_seconds(seconds, kReplayedDigits); }

Table ranks_table(const ChakraTimes& times) {
  Table table(
      ">rank:rank | >nodes:nodes | >ends:end_s | >compute:compute_s | >communication:communication_s | "
      ">exposed:exposed_communication_s | >host:host_s | >idle:idle_s");
  for (const ChakraRankTimes& rank : times.ranks) {
    table.add({rank.rank, rank.nodes, replayed_time(rank.end_s), replayed_time(rank.compute_s),
               replayed_time(rank.communication_s), replayed_time(rank.exposed_s), replayed_time(rank.host_s),
               replayed_time(rank.idle_s)});
  }
  return table;
}

std::string path_text(const ChakraTimes& times) {
  if (times.critical_path.empty()) return "";
  std::string out = "\nThe critical path, by name:\n";
  Table path(">seconds | >share | >nodes | kind | name");
  for (std::size_t i = 0; i < std::min(kShownParts, times.critical_path.size()); ++i) {
    const ChakraPathPart& part = times.critical_path[i];
    const double share = times.iteration_s > 0 ? part.seconds / times.iteration_s : 0;
    path.add({replayed_time(part.seconds), in_percent(share), part.nodes, part.kind, excerpt(part.name, 80)});
  }
  out += path.text();
  if (times.critical_path.size() > kShownParts) {
    out += fmt::format("  ... and {} more names\n", times.critical_path.size() - kShownParts);
  }
  return out;
}

}  // namespace

std::string chakra_text(const ChakraTimes& times, std::span<const std::string> notes) {
  std::size_t nodes = 0;
  for (const ChakraRankTimes& rank : times.ranks) nodes += rank.nodes;
  std::string out = fmt::format("{} nodes of {} {}, replayed: {}\n\n", nodes, times.ranks.size(),
                                times.ranks.size() == 1 ? "rank" : "ranks", replayed_time(times.iteration_s).shown);
  out += ranks_table(times).text(kReplayedRanks);
  if (times.ranks.size() > kReplayedRanks) {
    out += fmt::format("  ... and {} more: --format json has all\n", times.ranks.size() - kReplayedRanks);
  }
  out += path_text(times);
  for (const std::string& note : notes) out += fmt::format("\nnote: {}\n", note);
  return out;
}

nlohmann::ordered_json chakra_json(const ChakraTimes& times, std::span<const std::string> notes, double wall_time_s) {
  nlohmann::ordered_json out;
  out["iteration_time_s"] = times.iteration_s;
  out["ranks"] = ranks_table(times).json();
  out["critical_path"] = nlohmann::ordered_json::array();
  for (const ChakraPathPart& part : times.critical_path) {
    out["critical_path"].push_back(
        {{"kind", part.kind}, {"name", part.name}, {"nodes", part.nodes}, {"seconds", part.seconds}});
  }
  out["notes"] = notes;
  out["wall_time_s"] = wall_time_s;
  return out;
}

}  // namespace mirfak
