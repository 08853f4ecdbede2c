// Control flow of a script. A step is counted for every command and every round of a loop, so that any script ends.

#include "import/shell_interpreter.hpp"

#include "base/text.hpp"
#include "import/shell_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace mirfak {

namespace {

constexpr std::int64_t kMostSteps = 2'000'000;
constexpr int kDeepestCalls = 100;
constexpr std::size_t kMostNotes = 200;

bool numeric_less(const std::string& left, const std::string& right) {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::from_chars(left.data(), left.data() + left.size(), a);
  std::from_chars(right.data(), right.data() + right.size(), b);
  return a < b;
}

}  // namespace

const ShellText* ShellVariable::find(const std::string& index) const {
  if (!associative && index.starts_with('-') && !items.empty()) {
    std::int64_t back = 0;
    std::from_chars(index.data(), index.data() + index.size(), back);
    const auto size = static_cast<std::int64_t>(items.size());
    return -back <= size ? &items[static_cast<std::size_t>(size + back)].second : nullptr;
  }
  const auto found = std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.first == index; });
  return found == items.end() ? nullptr : &found->second;
}

ShellText& ShellVariable::at(const std::string& index) {
  const auto found = std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.first == index; });
  if (found != items.end()) return found->second;
  auto place = items.end();
  if (!associative && !items.empty() && !numeric_less(items.back().first, index)) {
    place = std::find_if(items.begin(), items.end(), [&](const auto& item) { return numeric_less(index, item.first); });
  }
  return items.insert(place, {index, {}})->second;
}

void ShellInterpreter::fail(std::uint32_t at, const std::string& what) const {
  fail_input(sources_.where(at), what,
             "mirfak reads what launch scripts are usually written in: say it by plain words, or give the arguments as "
             "a file");
}

void ShellInterpreter::note(std::uint32_t at, std::string text) {
  const Location where = sources_.where(at);
  const bool said = std::any_of(run_.notes.begin(), run_.notes.end(),
                                [&](const ShellNote& one) { return one.text == text && one.where.line == where.line; });
  if (said) return;
  if (run_.notes.size() >= kMostNotes) fail(at, fmt::format("more than {} things that are not known", kMostNotes));
  run_.notes.push_back({where, std::move(text)});
}

void ShellInterpreter::step(std::uint32_t at) {
  if (++steps_ > kMostSteps) fail(at, "more than 2,000,000 steps: a loop that does not end?");
}

void ShellInterpreter::start(const std::string& name, const std::string& text) {
  for (const auto& [variable, value] : setup_.environment) {
    assign(variable, shell_text(value, 0));
    state_.variables[variable].exported = true;
  }
  for (const std::string& parameter : setup_.parameters) state_.parameters.push_back(shell_text(parameter, 0));
  state_.script = name;
  parsed_.push_back(parse_shell(sources_.add(name, text), sources_));
  run(*parsed_.back());
  if (flow_ == ShellFlow::leave_script) run_.ended = sources_.where(here_);
}

bool ShellInterpreter::decided(ShellTruth truth, std::uint32_t at) {
  if (truth == ShellTruth::unknown)
    note(at, "this condition hangs on what only a running script knows: taken as false");
  return truth == ShellTruth::yes;
}

ShellTruth ShellInterpreter::run(const ShellNode& node) {
  step(node.at);
  if (flow_ != ShellFlow::on) return last_;
  if (++depth_ > 400) fail(node.at, "nested too deep");
  ShellTruth out = ShellTruth::yes;
  const auto act = [&]() -> ShellTruth {
    switch (node.kind) {
      case ShellNodeKind::simple:
        return run_simple(node);
      case ShellNodeKind::declare:
        return run_declare(node);
      case ShellNodeKind::pipeline:
        return run_pipeline(node);
      case ShellNodeKind::and_or:
        return run_and_or(node);
      case ShellNodeKind::conditional:
        return run_conditional(node);
      case ShellNodeKind::choice:
        return run_choice(node);
      case ShellNodeKind::each:
        return run_each(node);
      case ShellNodeKind::counting:
        return run_counting(node);
      case ShellNodeKind::loop:
        return run_loop(node);
      case ShellNodeKind::subshell:
        return run_subshell(node);
      case ShellNodeKind::function:
        functions_[node.name] = node.children.front();
        return ShellTruth::yes;
      case ShellNodeKind::arithmetic:
        return truth_of(node.expressions.front(), node.at);
      case ShellNodeKind::condition:
        return condition(node);
      case ShellNodeKind::sequence:
      case ShellNodeKind::group:
        break;
    }
    ShellTruth last = ShellTruth::yes;
    for (const auto& child : node.children) {
      last = run(*child);
      if (flow_ != ShellFlow::on) break;
    }
    return last;
  };
  const bool compound =
      node.kind != ShellNodeKind::simple && node.kind != ShellNodeKind::declare && !node.redirects.empty();
  out = compound ? with_output(node.redirects, act) : act();
  --depth_;
  last_ = out;
  return out;
}

ShellTruth ShellInterpreter::run_and_or(const ShellNode& node) {
  ShellTruth out = run(*node.children.front());
  for (std::size_t i = 0; i < node.operators.size() && flow_ == ShellFlow::on; ++i) {
    const bool on_success = node.operators[i] == "&&";
    if (out == ShellTruth::unknown) {
      // What follows is left out, and so is what follows its failure: neither is known to run.
      note(node.at,
           "whether the command behind && or || runs hangs on what only a running script knows: taken as false");
      out = ShellTruth::no;
    }
    if ((out == ShellTruth::yes) == on_success) out = run(*node.children[i + 1]);
  }
  return out;
}

ShellTruth ShellInterpreter::run_conditional(const ShellNode& node) {
  for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
    const ShellTruth truth = run(*node.children[i]);
    if (flow_ != ShellFlow::on) return truth;
    if (decided(truth, node.children[i]->at)) return run(*node.children[i + 1]);
  }
  if (node.children.size() % 2 == 1) return run(*node.children.back());
  return ShellTruth::yes;
}

ShellTruth ShellInterpreter::run_choice(const ShellNode& node) {
  const ShellText text = expand_joined(node.words.front());
  if (!text.known())
    note(node.at, "which case holds hangs on what only a running script knows: taken as text that nothing is known of");
  ShellTruth out = ShellTruth::yes;
  bool falls = false;
  for (const ShellCase& one : node.cases) {
    const bool fits = falls || std::any_of(one.patterns.begin(), one.patterns.end(), [&](const ShellWord& pattern) {
                        return fits_shell_pattern(text.chars, expand_pattern(pattern).chars);
                      });
    if (!fits) continue;
    out = run(*one.body);
    if (flow_ != ShellFlow::on || one.end == ";;" || one.end.empty()) return out;
    falls = one.end == ";&";
  }
  return out;
}

// Behind a round of a loop: whether it ends.
bool ShellInterpreter::leaves_loop(ShellTruth& result) {
  (void)result;
  if (flow_ == ShellFlow::on) return false;
  if (flow_ == ShellFlow::leave_loop || flow_ == ShellFlow::next_round) {
    const bool leaves = flow_ == ShellFlow::leave_loop;
    if (--levels_ > 0) return true;
    flow_ = ShellFlow::on;
    return leaves;
  }
  return true;
}

ShellTruth ShellInterpreter::run_each(const ShellNode& node) {
  std::vector<ShellText> values = state_.parameters;
  if (node.has_words) {
    values.clear();
    for (ShellField& field : expand(node.words)) {
      if (field.vanishes) continue;
      values.push_back(std::move(field.text));
    }
  }
  ShellTruth out = ShellTruth::yes;
  for (ShellText& value : values) {
    step(node.at);
    assign(node.name, std::move(value));
    out = run(*node.children.front());
    if (leaves_loop(out)) break;
  }
  return out;
}

ShellTruth ShellInterpreter::run_counting(const ShellNode& node) {
  const auto part = [&](std::size_t index) {
    const std::string& text = node.expressions[index].chars;
    const bool empty = text.find_first_not_of(" \t\n") == std::string::npos;
    return empty ? ShellTruth::yes : truth_of(node.expressions[index], node.at);
  };
  part(0);
  ShellTruth out = ShellTruth::yes;
  while (decided(part(1), node.at)) {
    step(node.at);
    out = run(*node.children.front());
    if (leaves_loop(out)) break;
    part(2);
  }
  return out;
}

ShellTruth ShellInterpreter::run_loop(const ShellNode& node) {
  ShellTruth out = ShellTruth::yes;
  while (true) {
    step(node.at);
    const ShellTruth truth = run(*node.children.front());
    if (flow_ != ShellFlow::on) {
      leaves_loop(out);
      return out;
    }
    const bool goes_on = node.until ? truth == ShellTruth::no : decided(truth, node.at);
    if (!goes_on) return out;
    out = run(*node.children[1]);
    if (leaves_loop(out)) return out;
  }
}

ShellTruth ShellInterpreter::run_subshell(const ShellNode& node) {
  const State saved = state_;
  const auto functions = functions_;
  ShellTruth out = ShellTruth::yes;
  for (const auto& child : node.children) out = run(*child);
  state_ = saved;
  functions_ = functions;
  if (flow_ == ShellFlow::leave_script) flow_ = ShellFlow::on;
  return out;
}

// Each part reads what the one before it prints; as in bash, each has variables of its own.
ShellTruth ShellInterpreter::run_pipeline(const ShellNode& node) {
  ShellTruth out = ShellTruth::yes;
  if (node.children.size() == 1) {
    out = run(*node.children.front());
  } else {
    ShellText between;
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      const State saved = state_;
      const bool last = i + 1 == node.children.size();
      ShellText printed;
      if (i > 0) inputs_.push_back(between);
      if (!last) outputs_.push_back(&printed);
      out = run(*node.children[i]);
      if (!last) outputs_.pop_back();
      if (i > 0) inputs_.pop_back();
      state_ = saved;
      if (flow_ == ShellFlow::leave_script) flow_ = ShellFlow::on;
      between = std::move(printed);
    }
  }
  if (!node.negated || out == ShellTruth::unknown) return out;
  return out == ShellTruth::yes ? ShellTruth::no : ShellTruth::yes;
}

ShellTruth ShellInterpreter::run_function(const ShellNode& body, std::vector<ShellText> parameters) {
  if (locals_.size() >= kDeepestCalls) fail(body.at, "functions that call each other more than 100 deep");
  const std::vector<ShellText> saved = std::exchange(state_.parameters, std::move(parameters));
  locals_.emplace_back();
  ShellTruth out = run(body);
  if (flow_ == ShellFlow::leave_function) {
    flow_ = ShellFlow::on;
    out = returned_;
  }
  for (auto& [name, hidden] : locals_.back()) {
    if (hidden) state_.variables[name] = std::move(*hidden);
    if (!hidden) state_.variables.erase(name);
  }
  locals_.pop_back();
  state_.parameters = saved;
  return out;
}

ShellTruth ShellInterpreter::run_text(const ShellText& text) {
  if (!text.known() && text.empty()) return ShellTruth::unknown;
  parsed_.push_back(parse_shell(text, sources_));
  const auto tree = parsed_.back();
  return run(*tree);
}

// `own`: as a program of its own, which sees exported variables alone.
ShellTruth ShellInterpreter::run_file(const ShellField& name, std::vector<ShellText> parameters, bool own) {
  const auto file = setup_.find_file ? setup_.find_file(name.text.chars) : std::nullopt;
  if (!file) {
    note(name.at, fmt::format("{} is not here: what it sets is not known; give it beside the script",
                              name.text.chars.empty() ? "this file" : excerpt(name.text.chars)));
    return ShellTruth::unknown;
  }
  if (++depth_ > 300 || locals_.size() >= kDeepestCalls) fail(name.at, "scripts that read each other");
  const State saved = state_;
  if (own) std::erase_if(state_.variables, [](const auto& entry) { return !entry.second.exported; });
  if (own || !parameters.empty()) state_.parameters = std::move(parameters);
  if (own) state_.script = file->first;
  locals_.emplace_back();
  const ShellTruth out = run_text(sources_.add(file->first, file->second));
  locals_.pop_back();
  --depth_;
  if (flow_ == ShellFlow::leave_function || (own && flow_ == ShellFlow::leave_script)) flow_ = ShellFlow::on;
  if (own) {
    state_ = saved;
  } else {
    state_.parameters = saved.parameters;
  }
  return out;
}

ShellText ShellInterpreter::output_of(const ShellText& command, std::uint32_t at) {
  // $(< file)
  if (++depth_ > 300) fail(at, "nested too deep");
  ShellText out;
  const State saved = state_;
  outputs_.push_back(&out);
  const std::size_t commands = run_.commands.size();
  run_text(command);
  run_.commands.resize(commands);  // what is asked for its output is no launch
  outputs_.pop_back();
  state_ = saved;
  if (flow_ == ShellFlow::leave_script) flow_ = ShellFlow::on;
  --depth_;
  while (!out.empty() && out.chars.back() == '\n') {
    out.chars.pop_back();
    out.origin.pop_back();
  }
  return out;
}

// --- variables

const ShellVariable* ShellInterpreter::find(const std::string& name) const {
  const auto found = state_.variables.find(name);
  return found == state_.variables.end() || found->second.items.empty()
             ? (found != state_.variables.end() && found->second.array ? &found->second : nullptr)
             : &found->second;
}

std::string ShellInterpreter::index_of(const ShellVariable& variable, const ShellWord& index) {
  const ShellText text = expand_joined(index);
  if (variable.associative) {
    std::string key = text.chars;
    if (key.size() >= 2 && (key.front() == '"' || key.front() == '\'') && key.back() == key.front())
      key = key.substr(1, key.size() - 2);
    return key;
  }
  std::vector<ShellMissing> missing;
  const auto number = evaluate(text, index.at, missing);
  if (!number) fail(index.at, "an index that is not known");
  return std::to_string(*number);
}

void ShellInterpreter::assign(const std::string& name, ShellText text, bool append) {
  ShellVariable& variable = state_.variables[name];
  ShellText& into = variable.at("0");
  if (append) {
    into.append(text);
  } else {
    into = std::move(text);
  }
  constexpr std::size_t most = 1U << 20;
  if (into.size() > most) fail(into.at(0), "a variable of more than 1 MiB");
}

void ShellInterpreter::assign(const ShellAssignment& assignment) {
  here_ = assignment.at;
  if (assignment.array) {
    ShellVariable made;
    if (const ShellVariable* old = find(assignment.name)) {
      made.associative = old->associative;
      made.exported = old->exported;
      if (assignment.append) made.items = old->items;
    } else if (const auto declared = state_.variables.find(assignment.name); declared != state_.variables.end()) {
      made.associative = declared->second.associative;
    }
    made.array = true;
    std::vector<ShellMissing> begin;  // in front of the first element: nothing can be said there
    std::int64_t next =
        made.items.empty() || made.associative ? 0 : std::strtoll(made.items.back().first.c_str(), nullptr, 10) + 1;
    for (const ShellAssignment::Element& element : assignment.elements) {
      step(assignment.at);
      if (element.key != nullptr) {
        const std::string key = index_of(made, *element.key);
        made.at(key) = expand_joined(element.value);
        if (!made.associative) next = std::strtoll(key.c_str(), nullptr, 10) + 1;
        continue;
      }
      for (ShellField& field : expand({element.value})) {
        if (field.vanishes) {
          std::vector<ShellMissing>& behind = made.items.empty() ? begin : made.items.back().second.behind;
          behind.insert(behind.end(), field.text.missing.begin(), field.text.missing.end());
          continue;
        }
        made.items.emplace_back(std::to_string(next++), std::move(field.text));
      }
    }
    state_.variables[assignment.name] = std::move(made);
    return;
  }
  ShellText text = expand_joined(assignment.value);
  if (assignment.index == nullptr) return assign(assignment.name, std::move(text), assignment.append);
  ShellVariable& variable = state_.variables[assignment.name];
  variable.array = true;
  const std::string index = index_of(variable, *assignment.index);
  if (assignment.append) {
    state_.variables[assignment.name].at(index).append(text);
  } else {
    state_.variables[assignment.name].at(index) = std::move(text);
  }
}

ShellRun run_shell(const std::string& name, const std::string& text, const ShellSetup& setup) {
  ShellRun out;
  ShellInterpreter(setup, out).start(name, text);
  return out;
}

}  // namespace mirfak
