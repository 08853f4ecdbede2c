// Control flow of a script. A step is counted for every command, for every round of a loop, and for copied text, so
// that any script ends.

#include "import/shell_interpreter.hpp"

#include "base/text.hpp"
#include "import/shell_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

constexpr std::int64_t kMostSteps = 2'000'000;
constexpr int kDeepestCalls = 100;
constexpr std::size_t kMostNotes = 200;

bool is_leaf(ShellNodeKind kind) {
  return kind == ShellNodeKind::simple || kind == ShellNodeKind::declare || kind == ShellNodeKind::arithmetic ||
         kind == ShellNodeKind::condition;
}

std::string names_of(const std::vector<ShellMissing>& missing) {
  std::string out;
  for (const ShellMissing& one : missing) {
    if (out.find(one.name) == std::string::npos) out += (out.empty() ? "" : ", ") + one.name;
  }
  return excerpt(out, 80);
}

}  // namespace

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

// Counts copied bytes as steps.
void ShellInterpreter::spend(std::size_t bytes, std::uint32_t at) {
  steps_ += static_cast<std::int64_t>(bytes / 256);
  if (steps_ > kMostSteps) fail(at, "more than 500 MB are copied: a loop that does not end?");
}

void ShellInterpreter::start(const std::string& name, const std::string& text) {
  for (const auto& [variable, value] : setup_.environment) {
    if (variable == "PWD") state_.folder = value;
    assign(variable, shell_text(value, 0));
    state_.variables[variable].exported = true;
  }
  state_.variables.erase("PWD");
  assign("OPTIND", shell_text("1", 0));
  for (const std::string& parameter : setup_.parameters) state_.parameters.push_back(shell_text(parameter, 0));
  state_.script = name;
  parsed_.push_back(parse_shell(sources_.add(name, text), sources_));
  run(*parsed_.back());
  if (flow_ == ShellFlow::leave_script) run_.ended = sources_.where(here_);
  finish();
  for (const std::string& path : written_) {
    const auto file = files_.find(path);
    if (file != files_.end() && file->second && run_.files.size() < 100)
      run_.files.emplace_back(path, file->second->chars);
  }
}

void ShellInterpreter::finish() {
  if (!at_exit_) return;
  flow_ = ShellFlow::on;
  const ShellText text = *std::exchange(at_exit_, std::nullopt);
  run_text(text);
}

bool ShellInterpreter::decided(ShellTruth truth, std::uint32_t at) {
  if (truth == ShellTruth::unknown) note(at, "this condition is known only when the script runs; it is taken as false");
  return truth == ShellTruth::yes;
}

ShellTruth ShellInterpreter::failed(int code) {
  failed_code_ = code;
  return code == 0 ? ShellTruth::yes : ShellTruth::no;
}

ShellTruth ShellInterpreter::run(const ShellNode& node) {
  step(node.at);
  if (flow_ != ShellFlow::on) return last_;
  if (++depth_ > 400) fail(node.at, "nested too deep");
  failed_code_ = 1;
  if (is_leaf(node.kind)) assumed_ = false;
  const bool compound =
      node.kind != ShellNodeKind::simple && node.kind != ShellNodeKind::declare && !node.redirects.empty();
  const ShellTruth out = compound ? with_output(node.redirects, [&] { return run_kind(node); }) : run_kind(node);
  --depth_;
  last_ = out;
  if (out == ShellTruth::yes) code_ = 0;
  if (out == ShellTruth::no && is_leaf(node.kind)) code_ = failed_code_;
  if (out == ShellTruth::no && (node.negated || code_ == 0)) code_ = 1;
  end_on_error(node, out);
  return out;
}

// Ends the script after a failure under set -e.
void ShellInterpreter::end_on_error(const ShellNode& node, ShellTruth out) {
  if (out != ShellTruth::no || !state_.ends_on_error || guarded_ > 0 || flow_ != ShellFlow::on) return;
  const bool counts = is_leaf(node.kind) || node.kind == ShellNodeKind::subshell ||
                      (node.kind == ShellNodeKind::pipeline && !node.negated);
  if (!counts) return;
  here_ = node.at;
  flow_ = ShellFlow::leave_script;
}

ShellTruth ShellInterpreter::run_kind(const ShellNode& node) {
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
      state_.functions[node.name] = node.children.front();
      return ShellTruth::yes;
    case ShellNodeKind::arithmetic:
      here_ = node.at;
      return truth_of(node.expressions.front(), node.at);
    case ShellNodeKind::condition:
      here_ = node.at;
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
}

ShellTruth ShellInterpreter::run_guarded(const ShellNode& node) {
  ++guarded_;
  const ShellTruth out = run(node);
  --guarded_;
  return out;
}

ShellTruth ShellInterpreter::run_and_or(const ShellNode& node) {
  ShellTruth out = run_guarded(*node.children.front());
  for (std::size_t i = 0; i < node.operators.size() && flow_ == ShellFlow::on; ++i) {
    const bool on_success = node.operators[i] == "&&";
    if (out == ShellTruth::unknown) {
      // An unknown result is taken as a failure: the command after && is left out, and the command after || runs.
      note(node.at, "the condition of this && or || is known only when the script runs; it is taken as false");
      out = ShellTruth::no;
    }
    if ((out == ShellTruth::yes) != on_success) continue;
    const ShellNode& next = *node.children[i + 1];
    out = i + 1 == node.operators.size() ? run(next) : run_guarded(next);
  }
  return out;
}

ShellTruth ShellInterpreter::run_conditional(const ShellNode& node) {
  for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
    const ShellTruth truth = run_guarded(*node.children[i]);
    if (flow_ != ShellFlow::on) return truth;
    if (assumed_)
      note(node.children[i]->at,
           "it is known only when the script runs if this program succeeds; it is taken to succeed");
    if (decided(truth, node.children[i]->at)) return run(*node.children[i + 1]);
  }
  if (node.children.size() % 2 == 1) return run(*node.children.back());
  return ShellTruth::yes;
}

ShellTruth ShellInterpreter::run_choice(const ShellNode& node) {
  here_ = node.at;
  const ShellText text = expand_joined(node.words.front());
  if (!text.known()) {
    note(node.at, fmt::format("the case depends on {}, which is known only when the script runs: taken as if it were "
                              "empty there",
                              names_of(text.missing)));
  }
  ShellTruth out = ShellTruth::yes;
  bool falls = false;
  for (const ShellCase& one : node.cases) {
    const bool fits = falls || std::any_of(one.patterns.begin(), one.patterns.end(), [&](const ShellWord& pattern) {
                        step(node.at);
                        return fits_shell_pattern(text.chars, expand_pattern(pattern).chars);
                      });
    if (!fits) continue;
    out = run(*one.body);
    if (flow_ != ShellFlow::on || one.end == ";;" || one.end.empty()) return out;
    falls = one.end == ";&";
  }
  return out;
}

// Decides after a round whether the loop ends.
bool ShellInterpreter::leaves_loop() {
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
  here_ = node.at;
  std::vector<ShellText> values = state_.parameters;
  if (node.has_words) {
    values.clear();
    for (ShellField& field : expand(node.words)) {
      if (!field.text.known() && field.vanishes) {
        note(node.at, fmt::format("the values of this loop depend on {}, which is known only when the script runs: "
                                  "taken as none",
                                  names_of(field.text.missing)));
      }
      if (field.seeks) {
        note(field.at, fmt::format("names of files are not sought: the loop runs for '{}' as it stands",
                                   excerpt(field.text.chars, 40)));
      }
      if (field.vanishes) continue;
      values.push_back(std::move(field.text));
    }
  }
  ShellTruth out = ShellTruth::yes;
  ++loops_;
  for (ShellText& value : values) {
    step(node.at);
    here_ = node.at;
    assign(node.name, std::move(value));
    out = run(*node.children.front());
    if (leaves_loop()) break;
  }
  --loops_;
  return out;
}

ShellTruth ShellInterpreter::run_counting(const ShellNode& node) {
  const auto part = [&](std::size_t index) {
    const std::string& text = node.expressions[index].chars;
    const bool empty = text.find_first_not_of(" \t\n") == std::string::npos;
    here_ = node.at;
    return empty ? ShellTruth::yes : truth_of(node.expressions[index], node.at);
  };
  part(0);
  ShellTruth out = ShellTruth::yes;
  ++loops_;
  while (decided(part(1), node.at)) {
    step(node.at);
    out = run(*node.children.front());
    if (leaves_loop()) break;
    part(2);
  }
  --loops_;
  return out;
}

ShellTruth ShellInterpreter::run_loop(const ShellNode& node) {
  ShellTruth out = ShellTruth::yes;
  ++loops_;
  while (true) {
    step(node.at);
    const ShellTruth truth = run_guarded(*node.children.front());
    if (flow_ != ShellFlow::on) {
      if (leaves_loop()) break;
      continue;
    }
    // An unknown condition ends the loop.
    const bool goes_on = decided(truth, node.at) ? !node.until : node.until && truth == ShellTruth::no;
    if (!goes_on) break;
    out = run(*node.children[1]);
    if (leaves_loop()) break;
  }
  --loops_;
  return out;
}

ShellTruth ShellInterpreter::run_apart(const std::function<ShellTruth()>& act) {
  std::size_t bytes = 0;
  for (const auto& [name, variable] : state_.variables) {
    bytes += 256;
    for (const auto& item : variable.items) bytes += 64 + 5 * item.second.size();
  }
  spend(bytes, here_);
  State saved = state_;
  const auto at_exit = std::exchange(at_exit_, std::nullopt);
  const ShellTruth out = act();
  state_ = std::move(saved);
  at_exit_ = at_exit;
  flow_ = ShellFlow::on;
  return out;
}

ShellTruth ShellInterpreter::run_subshell(const ShellNode& node) {
  const ShellTruth out = run_apart([&] {
    ShellTruth last = ShellTruth::yes;
    for (const auto& child : node.children) last = run(*child);
    return last;
  });
  return node.background ? ShellTruth::yes : out;
}

// Runs the parts of a pipeline: each part reads the output of the part before it; as in bash, each has variables of its
// own.
ShellTruth ShellInterpreter::run_parts(const ShellNode& node) {
  ShellText between;
  ShellTruth out = ShellTruth::yes;
  int code = 0;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const bool last = i + 1 == node.children.size();
    ShellText printed;
    if (i > 0) inputs_.push_back(std::move(between));
    if (!last) outputs_.push_back(&printed);
    const ShellTruth one = run_apart([&] { return run(*node.children[i]); });
    if (!last) outputs_.pop_back();
    if (i > 0) inputs_.pop_back();
    between = std::move(printed);
    if (one == ShellTruth::yes && state_.any_of_pipeline) continue;
    out = one;
    code = code_;
  }
  if (out == ShellTruth::no) code_ = code;
  return out;
}

ShellTruth ShellInterpreter::run_pipeline(const ShellNode& node) {
  if (node.negated) ++guarded_;
  const ShellTruth out = node.children.size() == 1 ? run(*node.children.front()) : run_parts(node);
  if (node.negated) --guarded_;
  if (!node.negated || out == ShellTruth::unknown) return out;
  return out == ShellTruth::yes ? ShellTruth::no : ShellTruth::yes;
}

ShellTruth ShellInterpreter::run_function(const std::string& name, const ShellNode& body,
                                          std::vector<ShellText> parameters) {
  if (locals_.size() >= kDeepestCalls) fail(body.at, "functions that call each other more than 100 deep");
  const std::vector<ShellText> saved = std::exchange(state_.parameters, std::move(parameters));
  const int loops = std::exchange(loops_, 0);
  locals_.emplace_back();
  called_.push_back(name);
  ++returnable_;
  ShellTruth out = run(body);
  --returnable_;
  if (flow_ == ShellFlow::leave_function) {
    flow_ = ShellFlow::on;
    out = returned_;
  }
  failed_code_ = code_;
  for (auto& [hidden, variable] : locals_.back()) {
    if (variable) state_.variables[hidden] = std::move(*variable);
    if (!variable) state_.variables.erase(hidden);
  }
  locals_.pop_back();
  called_.pop_back();
  state_.parameters = saved;
  loops_ = loops;
  return out;
}

ShellTruth ShellInterpreter::run_text(const ShellText& text) {
  if (!text.known() && text.empty()) return ShellTruth::unknown;
  spend(8 * text.size(), text.at(0));
  constexpr std::size_t most = 20'000;
  if (parsed_.size() >= most) fail(text.at(0), "more than 20,000 texts that are run");
  parsed_.push_back(parse_shell(text, sources_));
  const auto tree = parsed_.back();
  return run(*tree);
}

// Runs a script file. `own`: as a program of its own, which sees exported variables alone.
ShellTruth ShellInterpreter::run_file(const ShellField& name, std::vector<ShellText> parameters, bool own) {
  const std::optional<ShellText> text = text_of_file(name.text, name.at);
  if (!text) {
    const std::string what = name.text.empty() ? "this file" : excerpt(name.text.chars);
    const std::string why =
        name.text.missing.empty() ? "" : fmt::format(" ({} is not known)", names_of(name.text.missing));
    note(name.at,
         fmt::format("{} is not here{}: what it sets is not known; give it together with the script", what, why));
    run_.absent.push_back({sources_.where(name.at), what + why});
    return ShellTruth::unknown;
  }
  if (!text->known()) {
    note(name.at, fmt::format("the value of {} depends on {}, which is known only when the script runs",
                              excerpt(name.text.chars), names_of(text->missing)));
  }
  if (++depth_ > 300 || locals_.size() >= kDeepestCalls) fail(name.at, "scripts that read each other");
  const auto read = [&] {
    if (!own) ++returnable_;
    const ShellTruth out = run_text(*text);
    if (!own) --returnable_;
    if (flow_ == ShellFlow::leave_function) {
      flow_ = ShellFlow::on;
      return returned_;
    }
    return out;
  };
  ShellTruth out = ShellTruth::yes;
  if (own) {
    out = run_apart([&] {
      std::erase_if(state_.variables, [](const auto& entry) { return !entry.second.exported; });
      state_.functions.clear();
      state_.parameters = std::move(parameters);
      const int returnable = std::exchange(returnable_, 0);
      state_.script =
          text->empty() || written_.contains(path_of(name.text)) ? name.text.chars : sources_.where(text->at(0)).file;
      state_.ends_on_error = state_.needs_set = state_.any_of_pipeline = false;
      const ShellTruth result = read();
      finish();
      returnable_ = returnable;
      return result;
    });
  } else if (parameters.empty()) {
    out = read();
  } else {
    const std::vector<ShellText> saved = std::exchange(state_.parameters, std::move(parameters));
    out = read();
    state_.parameters = saved;
  }
  failed_code_ = code_;
  --depth_;
  return out;
}

ShellText ShellInterpreter::output_of(const ShellText& command, std::uint32_t at) {
  ShellText out = printed_by(command, at);
  while (!out.empty() && out.chars.back() == '\n') {
    out.chars.pop_back();
    out.origin.pop_back();
  }
  for (ShellMissing& one : out.missing) one.at = std::min(one.at, out.size());
  return out;
}

ShellText ShellInterpreter::printed_by(const ShellText& command, std::uint32_t at) {
  if (++depth_ > 300) fail(at, "nested too deep");
  ShellText out;
  outputs_.push_back(&out);
  const std::size_t commands = run_.commands.size();
  const ShellTruth truth = run_apart([&] {
    state_.ends_on_error = false;
    const ShellTruth result = run_text(command);
    finish();
    return result;
  });
  substituted_ = {truth, code_};
  for (std::size_t i = commands; i < run_.commands.size(); ++i) run_.commands[i].captured = true;
  outputs_.pop_back();
  --depth_;
  return out;
}

ShellRun run_shell(const std::string& name, const std::string& text, const ShellSetup& setup) {
  ShellRun out;
  ShellInterpreter(setup, out).start(name, text);
  return out;
}

}  // namespace mirfak
