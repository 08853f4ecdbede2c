// Reads the output of sinfo: a line of column names (of -o, -O, -N, -l or none of these), then a line for each node or
// for nodes that are alike. docs: man 1 sinfo, OUTPUT FIELD DESCRIPTIONS.

#include "base/text.hpp"
#include "import/cluster_facts.hpp"
#include "import/slurm_nodes.hpp"
#include "network/host_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace mirfak {

namespace {

constexpr std::array<std::string_view, 46> kColumns = {
    "PARTITION",     "AVAIL",          "TIMELIMIT", "NODES",           "STATE",       "NODELIST",   "HOSTNAMES",
    "GRES",          "GRES_USED",      "CPUS",      "S:C:T",           "MEMORY",      "TMP_DISK",   "WEIGHT",
    "AVAIL_FE",      "AVAIL_FEATURES", "FEATURES",  "ACTIVE_FEATURES", "REASON",      "NODES(A/I)", "NODES(A/I/O/T)",
    "CPUS(A/I/O/T)", "CPU_LOAD",       "FREE_MEM",  "ALLOCMEM",        "SOCKETS",     "CORES",      "THREADS",
    "ROOT",          "OVERSUBSCRIBE",  "GROUPS",    "JOB_SIZE",        "DEFAULTTIME", "PRIO_TIER",  "PRIO_JOB_FACTOR",
    "PREEMPT_MODE",  "NODE_ADDR",      "VERSION",   "TIMESTAMP",       "USER",        "CLUSTER",    "COMMENT",
    "ALLOCNODES",    "PORT",           "NODEHOST",  "STATELONG"};

struct Heading {
  std::vector<std::string> columns;
  std::size_t line = 0;  // line of the file, from 0
  bool barred = false;   // columns are separated by '|'
};

std::vector<PlacedWord> cells_of(std::string_view line, bool barred, const std::string& file, int number) {
  if (!barred) return placed_words(line, file, number);
  std::vector<PlacedWord> out;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find('|', at), line.size());
    out.push_back({std::string(trimmed(line.substr(at, end - at), " \t\r")), {file, number, static_cast<int>(at) + 1}});
    at = end + 1;
  }
  return out;
}

// Returns the heading among the first lines: the date (-l) and the command itself may precede it.
std::optional<Heading> heading_of(const std::vector<std::string_view>& lines) {
  constexpr std::size_t most = 6;
  for (std::size_t i = 0; i < std::min(lines.size(), most); ++i) {
    Heading out{{}, i, lines[i].find('|') != std::string_view::npos};
    for (PlacedWord& cell : cells_of(lines[i], out.barred, "", 0)) out.columns.push_back(std::move(cell.text));
    const bool known = std::all_of(out.columns.begin(), out.columns.end(), [](const std::string& name) {
      return std::find(kColumns.begin(), kColumns.end(), name) != kColumns.end();
    });
    if (known && out.columns.size() > 1) return out;
  }
  return std::nullopt;
}

class SinfoReading {
 public:
  SinfoReading(const ImportFile& file, Heading heading, ClusterFacts& out)
      : file_(file), heading_(std::move(heading)), out_(out) {
    gres_ = column({"GRES"});
    state_ = column({"STATE", "STATELONG"});
    names_ = column({"NODELIST", "HOSTNAMES", "NODEHOST"});
    count_ = column({"NODES"});
    partition_ = column({"PARTITION"});
    features_ = column({"ACTIVE_FEATURES", "AVAIL_FEATURES", "FEATURES", "AVAIL_FE"});
  }

  void read(const std::vector<std::string_view>& lines) {
    if (!names_ && !count_)
      fail(heading_place(), "no column of nodes", "print NODELIST (%N), HOSTNAMES (%n) or NODES (%D) with it");
    if (!names_ && partition_) {
      fail(heading_place(), "no names of nodes: the same ones may stand in several partitions",
           "print NODELIST (%N) or HOSTNAMES (%n) with it");
    }
    const std::optional<std::size_t> summary = column({"NODES(A/I/O/T)", "NODES(A/I)"});
    if (!count_ && !state_ && summary) {
      fail(place_of(*summary), "a summary (-s) says how many nodes can be used, and neither which nor their GPUs",
           R"(run sinfo -N -o "%N|%P|%G|%T" in its place)");
    }
    for (std::size_t i = heading_.line + 1; i < lines.size(); ++i) read_line(lines[i], static_cast<int>(i) + 1);
    if (!state_) out_.notes.push_back({heading_place(), "no column STATE (%T): all nodes are taken as usable"});
  }

 private:
  std::optional<std::size_t> column(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      const auto at = std::find(heading_.columns.begin(), heading_.columns.end(), name);
      if (at != heading_.columns.end()) return static_cast<std::size_t>(at - heading_.columns.begin());
    }
    return std::nullopt;
  }
  Location heading_place() const { return {file_.name, static_cast<int>(heading_.line) + 1, 1}; }
  Location place_of(std::size_t column) const {
    const std::vector<std::string_view> lines = lines_of(file_.text);
    const int number = static_cast<int>(heading_.line) + 1;
    return cells_of(lines[heading_.line], heading_.barred, file_.name, number)[column].where;
  }
  [[noreturn]] static void fail(const Location& where, const std::string& why, const std::string& remedy) {
    fail_input(where, "sinfo: " + why, remedy);
  }

  void read_line(std::string_view line, int number) {
    std::vector<PlacedWord> cells = cells_of(line, heading_.barred, file_.name, number);
    if (trimmed(line, " \t\r").empty()) return;
    const Location where{file_.name, number, 1};
    if (cells.front().text == "CLUSTER:" || cells.front().text == heading_.columns.front())
      fail(where, "nodes of several clusters", "give those of one (-M NAME)");
    // A partition without nodes has no list of nodes.
    if (!heading_.barred && cells.size() + 1 == heading_.columns.size() && cells.back().text == "n/a") return;
    join_reason(cells);
    if (cells.size() != heading_.columns.size()) {
      fail(where, fmt::format("{} words below {} columns", cells.size(), heading_.columns.size()),
           "print columns with a bar between them, as with -o \"%n|%P|%G|%T\"");
    }
    add_nodes(cells, number);
  }

  // Joins the words of a reason, which may have blanks; reasons are not used, and are only joined in the last column.
  void join_reason(std::vector<PlacedWord>& cells) const {
    const std::string& last = heading_.columns.back();
    if ((last == "REASON" || last == "COMMENT") && cells.size() > heading_.columns.size())
      cells.resize(heading_.columns.size());
  }

  std::vector<std::string> names_of(const std::vector<PlacedWord>& cells, int number) {
    if (names_) return lists_.expand(cells[*names_].text, cells[*names_].where);
    const PlacedWord& cell = cells[*count_];
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(cell.text.data(), cell.text.data() + cell.text.size(), count);
    if (error != std::errc{} || end != cell.text.data() + cell.text.size() || count < 0 || count > 100'000)
      fail(cell.where, fmt::format("'{}': expected a number of nodes", excerpt(cell.text)), "");
    std::vector<std::string> out;
    for (std::int64_t i = 0; i < count; ++i) out.push_back(fmt::format("{}:{}#{}", file_.name, number, i));
    return out;
  }

  void add_nodes(const std::vector<PlacedWord>& cells, int number) {
    ListedNode node;
    node.where = {file_.name, number, 1};
    if (state_) {
      node.state = cells[*state_].text;
      node.usable = is_usable_state(node.state);
    }
    if (features_) node.features = slurm_list(cells[*features_].text);
    if (partition_) {
      std::string partition = cells[*partition_].text;
      if (partition.ends_with('*')) partition.pop_back();  // marks the default partition
      node.partitions = {std::move(partition)};
    }
    if (gres_) take_gpus(node, cells[*gres_]);
    for (std::string& name : names_of(cells, number)) {
      node.name = std::move(name);
      out_.add(node);
    }
  }

  void take_gpus(ListedNode& node, const PlacedWord& cell) {
    SlurmGpus gpus = slurm_gpus(cell.text, cell.where);
    node.where = cell.where;
    node.text = cell.text;
    node.gpus = gpus.count;
    node.gpu = std::move(gpus.name);
    if (!gpus.several) return;
    node.usable = false;
    node.state = "of several kinds of GPU";
  }

  const ImportFile& file_;
  Heading heading_;
  ClusterFacts& out_;
  HostLists lists_;
  std::optional<std::size_t> gres_, state_, names_, count_, partition_, features_;
};

bool is_sinfo_table(const ImportFile& file) {
  const std::optional<Heading> heading = heading_of(lines_of(std::string_view(file.text).substr(0, 4096)));
  if (!heading) return false;
  constexpr std::array<std::string_view, 5> telling = {"NODELIST", "HOSTNAMES", "NODES", "NODEHOST", "GRES"};
  return std::any_of(telling.begin(), telling.end(), [&](std::string_view name) {
    return std::find(heading->columns.begin(), heading->columns.end(), name) != heading->columns.end();
  });
}

void read_sinfo_table(const ImportFile& file, ClusterFacts& out) {
  const std::vector<std::string_view> lines = lines_of(file.text);
  std::optional<Heading> heading = heading_of(lines);
  if (!heading) {
    fail_input({file.name, 1, 1}, "sinfo: no line with the names of columns",
               "give its output with them, not with --noheader");
  }
  SinfoReading(file, std::move(*heading), out).read(lines);
}

}  // namespace

const ClusterFormat kSinfoTable = {"slurm-sinfo", "a table of Slurm's sinfo", is_sinfo_table, read_sinfo_table};

}  // namespace mirfak
