#include "scenario/comparison_file.hpp"

#include "base/key_path.hpp"
#include "base/units.hpp"
#include "scenario/named_scenario.hpp"
#include "scenario/search_dimensions.hpp"

#include <fmt/format.h>

#include <charconv>
#include <set>

namespace mirfak {

namespace {

constexpr std::size_t kMaxChoices = 1000;
constexpr int kMaxCount = 1 << 20;
constexpr double kMostDays = 1e6;

std::chrono::sys_days read_date(const Node& node) {
  const std::string text = node.as_string();
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  const auto number = [&text](std::size_t from, std::size_t length, auto& out) {
    const char* const first = text.data() + from;
    const auto [end, failed] = std::from_chars(first, first + length, out);
    return failed == std::errc() && end == first + length;
  };
  const bool shaped = text.size() == 10 && text[4] == '-' && text[7] == '-' && number(0, 4, year) &&
                      number(5, 2, month) && number(8, 2, day);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!shaped || !date.ok()) node.fail("expected a date, found " + node.described(), "such as 2027-03-31");
  return date;
}

double days_between(std::chrono::sys_days from, std::chrono::sys_days to) {
  return static_cast<double>((to - from).count());
}

void read_time(Mapping& section, Sizing& sizing) {
  const std::optional<Node> days = section.find("deadline_days");
  const std::optional<Node> finish = section.find("finish_by");
  const std::optional<Node> start = section.find("start");
  if (days && finish) days->fail("finish_by says when the training must be done", "leave one of the two out");
  if (days) sizing.deadline_s = days->as_number(0, kMostDays) * kSecondsPerDay;
  if (days && sizing.deadline_s == 0) days->fail("expected more than 0");
  if (finish) sizing.finish_by = read_date(*finish);
  if (start && !finish) start->fail("a start without finish_by says nothing", "give finish_by, or leave start out");
  if (!start) return;
  sizing.start = read_date(*start);
  // The whole day of finish_by counts.
  sizing.deadline_s = (days_between(*sizing.start, *sizing.finish_by) + 1) * kSecondsPerDay;
  if (sizing.deadline_s <= 0) start->fail("the training would start after finish_by", "give an earlier start");
}

Sizing read_sizing(const Node& node) {
  Mapping section(node);
  Sizing sizing;
  const Node goal = section.require("want");
  sizing.goal = static_cast<SizingGoal>(goal.as_choice(sizing_goal_names()));
  read_time(section, sizing);
  section.finish();
  const bool sized = sizing.goal == SizingGoal::fewest_gpus || sizing.goal == SizingGoal::least_money;
  if (sized && sizing.deadline_s == 0) {
    goal.fail("it follows from how long the training may take",
              "give deadline_days, or finish_by with start, together with it");
  }
  if (sizing.goal == SizingGoal::latest_start && !sizing.finish_by) {
    goal.fail("it follows from when the training must be done", "give finish_by, such as 2027-03-31");
  }
  return sizing;
}

// True if the scenario of an option lists exactly one type of nodes.
bool has_one_type(const Document& scenario) {
  const Value* const cluster = scenario.root().find("cluster");
  if (cluster == nullptr || cluster->kind != Value::Kind::mapping) return false;
  const Value* const nodes = cluster->find("nodes");
  return nodes != nullptr && nodes->kind == Value::Kind::sequence && nodes->items.size() == 1;
}

class OptionReader {
 public:
  OptionReader(const Document& base, std::span<const std::string> overrides) : base_(base), overrides_(overrides) {}

  void read(const Node& node, ComparisonFile& file) {
    Mapping option(node);
    const Node name = option.require("name");
    if (!names_.insert(name.as_string()).second) name.fail("another option has this name");
    Document scenario = base_;
    if (const std::optional<Node> cluster = option.find("cluster")) {
      const Location& where = cluster->value().key_where;
      scenario.assign(KeyPath("cluster", where), cluster->value(), where);
    }
    if (const std::optional<Node> set = option.find("set")) set_keys(scenario, *set);
    const std::optional<Node> counts = option.find("node_counts");
    option.finish();
    if (scenario.root().find("cluster") == nullptr) node.fail("the option has no cluster", "give it the key cluster");
    if (!counts) {
      add(name, 0, node, scenario, file);
      return;
    }
    if (!has_one_type(scenario)) {
      counts->fail("node_counts are of one type of nodes, and cluster.nodes does not list exactly one",
                   "make an option of each type, or leave node_counts out");
    }
    for (const int count : read_numbers(*counts, 1, kMaxCount)) {
      Document sized = scenario;
      Value value = counts->value();
      value.kind = Value::Kind::scalar;
      value.items.clear();
      value.scalar = fmt::format("{}", count);
      const Location& where = counts->value().key_where;
      sized.assign(KeyPath("cluster.nodes[0].count", where), value, where);
      add(name, count, node, sized, file);
    }
  }

 private:
  void add(const Node& name, int count, const Node& node, Document scenario, ComparisonFile& file) const {
    for (const std::string& assignment : overrides_) scenario.override_value(assignment);
    if (file.choices.size() == kMaxChoices) {
      node.fail(fmt::format("more than {} options with all their node_counts", kMaxChoices), "make two files");
    }
    file.choices.push_back({name.as_string(), count, node.where(), std::move(scenario)});
  }

  const Document& base_;
  std::span<const std::string> overrides_;
  std::set<std::string> names_;
};

}  // namespace

const std::vector<std::string>& sizing_goal_names() {
  static const std::vector<std::string> names = {"all", "fewest-gpus", "least-money", "latest-start"};
  return names;
}

const std::vector<std::string>& comparison_order_names() {
  static const std::vector<std::string> names = {"cost", "time", "gpus", "energy", "co2"};
  return names;
}

std::string date_text(std::chrono::sys_days day) {
  const std::chrono::year_month_day date(day);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

ComparisonFile load_comparison(const std::filesystem::path& path, std::span<const std::string> overrides) {
  return parse_comparison(Document::from_file(path), overrides);
}

ComparisonFile parse_comparison(const Document& document, std::span<const std::string> overrides) {
  Mapping root{Node(document)};
  const Document base = scenario_named_by(document, root.require("scenario"));
  const Node options = root.require("options");
  const std::optional<Node> sizing = root.find("sizing");
  const std::optional<Node> order = root.find("order");
  root.finish();
  ComparisonFile out;
  out.name = document.name();
  if (sizing) out.sizing = read_sizing(*sizing);
  if (order) out.order = static_cast<ComparisonOrder>(order->as_choice(comparison_order_names()));
  OptionReader reader(base, overrides);
  const std::vector<Node> items = options.as_items();
  if (items.empty()) options.fail("an empty list of options", "give at least one: {name: ..., cluster: ...}");
  for (const Node& item : items) reader.read(item, out);
  return out;
}

}  // namespace mirfak
