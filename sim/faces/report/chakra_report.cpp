#include "report/chakra_report.hpp"

#include "base/text.hpp"
#include "base/units.hpp"
#include "report/text_table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace mirfak {

namespace {

constexpr int kReplayedDigits = 5;         // precision to which replayed times are known
constexpr std::size_t kReplayedRanks = 8;  // ranks in text; JSON has all
constexpr std::size_t kShownParts = 15;

std::string replayed_time(double seconds) { return format_seconds(seconds, kReplayedDigits); }

std::string path_text(const ChakraTimes& times) {
  if (times.critical_path.empty()) return "";
  std::string out = "\nThe critical path, by name:\n";
  TextTable path("rrrll");
  path.add_row({"seconds", "share", "nodes", "kind", "name"});
  for (std::size_t i = 0; i < std::min(kShownParts, times.critical_path.size()); ++i) {
    const ChakraPathPart& part = times.critical_path[i];
    const double share = times.iteration_s > 0 ? part.seconds / times.iteration_s : 0;
    path.add_row({replayed_time(part.seconds), format_percent(share), std::to_string(part.nodes),
                  std::string(part.kind), excerpt(part.name, 80)});
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
                                times.ranks.size() == 1 ? "rank" : "ranks", replayed_time(times.iteration_s));
  TextTable ranks("rrrrrrrr");
  ranks.add_row({"rank", "nodes", "ends", "compute", "communication", "exposed", "host", "idle"});
  for (std::size_t i = 0; i < std::min(kReplayedRanks, times.ranks.size()); ++i) {
    const ChakraRankTimes& rank = times.ranks[i];
    ranks.add_row({std::to_string(rank.rank), std::to_string(rank.nodes), replayed_time(rank.end_s),
                   replayed_time(rank.compute_s), replayed_time(rank.communication_s), replayed_time(rank.exposed_s),
                   replayed_time(rank.host_s), replayed_time(rank.idle_s)});
  }
  out += ranks.text();
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
  out["ranks"] = nlohmann::ordered_json::array();
  for (const ChakraRankTimes& rank : times.ranks) {
    out["ranks"].push_back({{"rank", rank.rank},
                            {"nodes", rank.nodes},
                            {"end_s", rank.end_s},
                            {"compute_s", rank.compute_s},
                            {"communication_s", rank.communication_s},
                            {"exposed_communication_s", rank.exposed_s},
                            {"host_s", rank.host_s},
                            {"idle_s", rank.idle_s}});
  }
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
