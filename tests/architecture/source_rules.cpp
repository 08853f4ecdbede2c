#include "source_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

namespace mirfak::architecture {

namespace {

// A library whose headers begin with `header` is known to one room only, so that it can be replaced there.
struct OwnedLibrary {
  std::string_view header;
  std::string_view room;
};
constexpr std::array<OwnedLibrary, 18> kOwnedLibraries{{{"yaml.h", "base"},
                                                        {"expat.h", "network"},
                                                        {"google/protobuf/", "chakra"},
                                                        {"toml++/", "import"},
                                                        {"rapidjson/", "recording"},
                                                        {"zlib.h", "base"},
                                                        {"sqlite3.h", "recording"},
                                                        {"Eigen/", "calibration"},
                                                        {"unsupported/Eigen/NonLinear", "calibration"},
                                                        {"unsupported/Eigen/FFT", "simulation"},
                                                        {"hdf5", "trace"},
                                                        {"H5", "trace"},
                                                        {"Cbc", "alpa"},
                                                        {"Cgl", "alpa"},
                                                        {"Osi", "alpa"},
                                                        {"Coin", "alpa"},
                                                        {"boost/asio", "serve"},
                                                        {"boost/beast", "serve"}}};

// Written in halves, so that this file does not break its own rule.
constexpr std::array<std::string_view, 3> kUnfinished{
    "TO"
    "DO",
    "FIX"
    "ME",
    "XX"
    "X"};

constexpr std::array<std::string_view, 16> kTopLevel{
    "CMakeLists.txt", "CMakePresets.json", "README.md",  "LICENSE", "CONTRIBUTING.md", "CHANGELOG.md", "sim",
    "pyproject.toml", "CITATION.cff",      "Dockerfile", "models",  "hw_profiles",     "validate",     "scenarios",
    "tests",          "notebooks",
};

struct Include {
  std::string path;
  bool quoted = false;
};

std::optional<Include> parse_include(std::string_view line) {
  const auto skip_blanks = [&line] { line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size())); };
  skip_blanks();
  if (!line.starts_with('#')) return std::nullopt;
  line.remove_prefix(1);
  skip_blanks();
  if (!line.starts_with("include")) return std::nullopt;
  line.remove_prefix(7);
  skip_blanks();
  if (!line.starts_with('"') && !line.starts_with('<')) return std::nullopt;
  const bool quoted = line.front() == '"';
  line.remove_prefix(1);
  return Include{std::string(line.substr(0, line.find(quoted ? '"' : '>'))), quoted};
}

// The folders of a path of sim/ that say where it belongs: {"lowering", "cost"} of "sim/lowering/cost/kernel.cpp",
// {"base"} of "sim/base/text.cpp"; none of a file at the top.
std::vector<std::string> place_of(std::string_view path) {
  std::vector<std::string> out;
  if (!path.starts_with("sim/")) return out;
  path.remove_prefix(4);
  const std::size_t most = path.starts_with("base/") ? 1 : 2;
  while (out.size() < most) {
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos) break;
    out.emplace_back(path.substr(0, slash));
    path.remove_prefix(slash + 1);
  }
  return out;
}

std::string room_of(std::string_view path) {
  const std::vector<std::string> place = place_of(path);
  return place.empty() ? std::string() : place.back();
}

// The path of a room's folder; "" of none.
std::string folder_of(std::string_view room) {
  for (const Layer& layer : layers()) {
    if (std::find(layer.rooms.begin(), layer.rooms.end(), room) == layer.rooms.end()) continue;
    return layer.name == room ? fmt::format("sim/{}", room) : fmt::format("sim/{}/{}", layer.name, room);
  }
  return {};
}

// A room's number in the order of all layers; -1: it is none.
std::ptrdiff_t rank_of(std::string_view room) {
  std::ptrdiff_t rank = 0;
  for (const Layer& layer : layers()) {
    for (const std::string& known : layer.rooms) {
      if (known == room) return rank;
      ++rank;
    }
  }
  return -1;
}

// Says what is wrong with one include in a file of `room`, or "".
std::string judge(const Include& include, const std::string& room) {
  if (!include.quoted) {
    for (const OwnedLibrary& library : kOwnedLibraries) {
      if (include.path.starts_with(library.header) && room != library.room) {
        return fmt::format("<{}> may be included only in {}/", include.path, library.room);
      }
    }
    return {};
  }
  const std::string from = include.path.substr(0, include.path.find('/'));
  if (include.path == from || rank_of(from) < 0) {
    return fmt::format("\"{}\" does not begin with a room's name", include.path);
  }
  if (rank_of(from) > rank_of(room)) {
    return fmt::format("\"{}\" is of a room that comes after {}/", include.path, room);
  }
  return {};
}

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool contains_word(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_word_character(line[at - 1]);
    if (begins && (end == line.size() || !is_word_character(line[end]))) return true;
  }
  return false;
}

// Calls judge_line(line) for each line and collects what it returns, unless that is "".
template <typename JudgeLine>
std::vector<std::string> violations_by_line(const SourceFile& file, JudgeLine judge_line) {
  std::vector<std::string> out;
  std::istringstream lines(file.text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string wrong = judge_line(line);
    if (!wrong.empty()) out.push_back(fmt::format("{}:{}: {}", file.path, number, wrong));
  }
  return out;
}

}  // namespace

const std::vector<Layer>& layers() {
  static const std::vector<Layer> list{
      {"base", {"base"}},
      {"description", {"formula", "graph", "block", "model", "schedule", "strategy", "cluster", "network"}},
      {"lowering", {"sharding", "cost", "program"}},
      {"execution", {"engine", "replay", "simulation"}},
      {"questions", {"training", "energy", "plan", "alpa"}},
      {"files",
       {"recording", "calibration", "scenario", "validation", "trace", "chakra", "capture", "launch", "import"}},
      {"faces", {"report", "comparison", "page", "sweep", "serve", "cli", "python"}}};
  return list;
}

std::vector<std::string> include_violations(const SourceFile& file) {
  const std::string room = room_of(file.path);
  if (rank_of(room) < 0 || !file.path.starts_with(folder_of(room) + "/")) {
    return {fmt::format("{}: is in no room", file.path)};
  }
  return violations_by_line(file, [&room](const std::string& line) {
    const std::optional<Include> include = parse_include(line);
    return include ? judge(*include, room) : std::string();
  });
}

std::vector<std::string> length_violations(const SourceFile& file, int longest) {
  const auto lines = std::count(file.text.begin(), file.text.end(), '\n');
  if (lines <= longest) return {};
  return {fmt::format("{}: {} lines, more than {}", file.path, lines, longest)};
}

std::vector<std::string> unfinished_violations(const SourceFile& file) {
  return violations_by_line(file, [](const std::string& line) {
    for (const std::string_view word : kUnfinished) {
      if (contains_word(line, word)) return fmt::format("marks unfinished work: {}", word);
    }
    return std::string();
  });
}

std::vector<std::string> top_level_violations(const std::vector<std::string>& entries) {
  std::vector<std::string> out;
  for (const std::string& entry : entries) {
    const bool known = std::find(kTopLevel.begin(), kTopLevel.end(), entry) != kTopLevel.end();
    if (!known && !entry.starts_with('.')) {
      out.push_back(fmt::format("{}: has no place at the top of the tree", entry));
    }
  }
  return out;
}

std::vector<std::string> room_violations(const std::vector<std::string>& paths) {
  const std::set<std::string> all(paths.begin(), paths.end());
  std::set<std::string> found;
  for (const std::string& path : paths) {
    const std::vector<std::string> place = place_of(path);
    if (!place.empty()) found.insert(fmt::format("sim/{}", fmt::join(place, "/")));
  }
  std::vector<std::string> out;
  for (const std::string& folder : found) {
    const std::string room = folder.substr(folder.rfind('/') + 1);
    if (folder_of(room) != folder) out.push_back(fmt::format("{}: is not in the list of rooms", folder));
    if (!all.contains(folder + "/README.md")) out.push_back(fmt::format("{}: has no README.md", folder));
  }
  return out;
}

}  // namespace mirfak::architecture
