#include "capture/operator_table.hpp"

#include "base/document.hpp"

namespace mirfak {

namespace {

constexpr double kLongest = 1;  // seconds that the host may take for an operator

OperatorRule rule_of(Mapping& entry) {
  OperatorRule out;
  if (entry.has("kind")) out.kind = static_cast<OperatorClass>(entry.require("kind").as_choice(operator_class_names()));
  out.kernels = static_cast<int>(entry.integer_or("kernels", 1, 0, 1000));
  out.factors = entry.words("factors");
  out.gradient = entry.string_or("gradient", "");
  out.generation = entry.string_or("generation", "");
  out.skips = entry.words("skips");
  out.gathers = entry.words("gathers");
  out.again = entry.words("again");
  out.copies = entry.words("copies");
  if (entry.has("writes_with")) {
    Mapping with(entry.require("writes_with"));
    for (const std::string& name : with.keys()) out.writes_with[name] = with.require(name).as_string();
    with.finish();
  }
  out.passes = entry.number_or("passes", 1, 0, 1000);
  out.counted = entry.bool_or("counted", false);
  const bool multiplies = out.kind == OperatorClass::product || out.kind == OperatorClass::convolution;
  if (multiplies != (out.factors.size() == 2)) {
    entry.node().fail("expected `factors` with two arguments of a product or convolution, and of nothing else");
  }
  if ((out.kind == OperatorClass::attention) == out.generation.empty()) {
    entry.node().fail("expected `generation` of fused attention, and of nothing else");
  }
  return out;
}

void read_rules(Mapping& root, OperatorTable& out) {
  for (const Node& item : root.require("operators").as_items()) {
    Mapping entry(item);
    const OperatorRule rule = rule_of(entry);
    for (const Node& name : entry.require("names").as_items()) {
      if (!out.rules.emplace(name.as_string(), rule).second) name.fail("this operator has an entry before this one");
    }
    entry.finish();
  }
}

}  // namespace

const std::vector<std::string>& operator_class_names() {
  static const std::vector<std::string> names = {"product",       "convolution", "attention", "elementwise",
                                                 "normalization", "softmax",     "reduction", "gather",
                                                 "scatter",       "lists",       "join"};
  return names;
}

const OperatorRule* OperatorTable::find(std::string_view name) const {
  auto found = rules.find(name);
  if (found == rules.end() && name.ends_with('_')) found = rules.find(name.substr(0, name.size() - 1));
  return found == rules.end() ? nullptr : &found->second;
}

OperatorTable read_operator_table(const std::filesystem::path& file) {
  const Document document = Document::from_file(file);
  Mapping root{Node(document)};
  OperatorTable out;
  root.require("source").as_string();
  out.framework = root.require("framework").as_string();
  Mapping host(root.require("host"));
  out.host.forward_s = host.require("forward_s").as_number(0, kLongest);
  out.host.backward_s = host.require("backward_s").as_number(0, kLongest);
  out.host.launch_s = host.require("launch_s").as_number(0, kLongest);
  out.host.python_line_s = host.require("python_line_s").as_number(0, kLongest);
  out.host.python_lines_of_forward = host.require("python_lines_of_forward").as_number(0, 1000);
  out.host.source = host.require("source").as_string();
  host.finish();
  Mapping slowest(root.require("slowest_host"));
  out.slowest_host = slowest.require("factor").as_number(1, 1000);
  slowest.require("source").as_string();
  slowest.finish();
  Mapping measured(root.require("measured"));
  Mapping architectures(measured.require("architectures"));
  for (const std::string& architecture : architectures.keys()) {
    out.measured[architecture] = static_cast<int>(architectures.require(architecture).as_integer(1, 10'000));
  }
  measured.require("source").as_string();
  measured.finish();
  Mapping instructions(root.require("instructions"));
  out.instructions.widening = instructions.require("widening").as_number(0, 1000);
  out.instructions.mixed = instructions.require("mixed").as_number(0, 1000);
  out.instructions.strided = instructions.require("strided").as_number(0, 1000);
  instructions.require("source").as_string();
  instructions.finish();
  Mapping lists(root.require("lists"));
  for (const Node& most : lists.require("tensors").as_items()) {
    out.lists.tensors.push_back(static_cast<int>(most.as_integer(1, 1'000'000)));
  }
  if (out.lists.tensors.empty()) lists.require("tensors").fail("expected the most tensors of a launch");
  out.lists.blocks = lists.require("blocks").as_number(1, 1e9);
  out.lists.elements = lists.require("elements").as_number(1, 1e12);
  lists.require("source").as_string();
  lists.finish();
  out.results = root.words("results");
  Mapping formats(root.require("formats"));
  for (const std::string& format : formats.keys()) {
    out.precisions[format] = static_cast<Precision>(formats.require(format).as_choice(precision_names()));
  }
  formats.finish();
  read_rules(root, out);
  root.finish();
  return out;
}

}  // namespace mirfak
