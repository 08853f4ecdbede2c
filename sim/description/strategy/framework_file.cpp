#include "strategy/framework_file.hpp"

#include "model/attention_kernels.hpp"
#include "strategy/framework_options.hpp"
#include "strategy/strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

namespace mirfak {

namespace {

// Reads the number in the text of a scalar from `begin` to `end`.
double number_within(const Node& node, std::string_view part, std::size_t begin, std::size_t end) {
  constexpr double kAny = 1e30;
  Value value = node.value();
  value.scalar = value.scalar.substr(begin, end - begin);
  value.where = node.place_of(begin).where;
  return node.child(value, part).as_number(-kAny, kAny);
}

// Reads a number, or an exact quotient of two numbers: 1.0e-3/15.
double read_number(const Node& node, double minimum, double maximum) {
  const std::size_t slash = node.is_scalar() ? node.value().scalar.find('/') : std::string::npos;
  if (slash == std::string::npos) return node.as_number(minimum, maximum);
  const std::string& text = node.value().scalar;
  const double divisor = number_within(node, "divisor", slash + 1, text.size());
  if (divisor == 0) node.fail_at(slash + 1, "expected a divisor other than zero");
  const double quotient = number_within(node, "dividend", 0, slash) / divisor;
  if (!(quotient >= minimum && quotient <= maximum)) {
    node.fail(fmt::format("expected a number from {:g} to {:g}, found {:g} = {}", minimum, maximum, quotient, text));
  }
  return quotient;
}

// Reads a share: "8.4 %" or 0.084.
double read_share(const Node& node) {
  constexpr double kMaxError = 10;
  if (!node.is_scalar() || !node.value().scalar.ends_with('%')) return node.as_number(0, kMaxError);
  const std::string& text = node.value().scalar;
  const double percent = number_within(node, "percent", 0, text.find_last_not_of(" %") + 1);
  if (percent < 0 || percent > 100 * kMaxError) {
    node.fail(fmt::format("expected an error from 0 to {:g} %, found {}", 100 * kMaxError, text));
  }
  return percent / 100;
}

std::string read_text(const Node& node, const char* expected) {
  std::string text = node.as_string();
  if (text.find_first_not_of(' ') == std::string::npos) node.fail(fmt::format("expected {}, found nothing", expected));
  return text;
}

std::string read_source(const Node& node) { return read_text(node, "what the values were read from or fitted to"); }

std::vector<std::string> read_texts(const Node& node) {
  std::vector<std::string> out;
  for (const Node& item : node.as_items()) out.push_back(read_text(item, "the name of measurements"));
  if (out.empty()) node.fail("expected at least one name of measurements");
  return out;
}

// Reads a word of a chain: "gelu", "dropout?" (may be missing) or "@core_attn" (any operator with the tag).
std::string read_chain_word(const Node& node) {
  std::string word = read_text(node, "what an operator computes");
  if (word.starts_with('@')) return word;
  Value plain = node.value();
  if (word.ends_with('?')) plain.scalar.pop_back();
  node.child(plain, "word").as_choice(fusion_words());
  return word;
}

// Reads a kernel: 4 (bytes moved per element), or {bytes: 4, cycles: 1.4}.
PlainKernel read_plain_kernel(const Node& node) {
  constexpr double kMaxOfElement = 1000;
  PlainKernel kernel;
  if (!node.is_mapping()) {
    kernel.bytes = read_number(node, 0, kMaxOfElement);
    return kernel;
  }
  Mapping mapping(node);
  kernel.bytes = read_number(mapping.require("bytes"), 0, kMaxOfElement);
  if (const std::optional<Node> cycles = mapping.find("cycles")) kernel.cycles = read_number(*cycles, 0, kMaxOfElement);
  if (const std::optional<Node> each = mapping.find("per_expert")) kernel.per_expert = each->as_bool();
  mapping.finish();
  return kernel;
}

std::vector<PlainKernel> read_plain_kernels(const Node& node) {
  std::vector<PlainKernel> out;
  for (const Node& item : node.as_items()) out.push_back(read_plain_kernel(item));
  return out;
}

// Reads a chain: ["bias?", gelu], or with the passes of its kernel {of: [softmax], passes: 3/4}, or with its kernels
// {of: [clamp], kernels: [4, 4], gradient_kernels: [6, 5]}.
FusedChain read_chain(const Node& node) {
  constexpr double kMinPasses = 0.01;
  constexpr double kMaxPasses = 1000;
  constexpr std::int64_t kMaxLaunches = 1000;
  FusedChain chain;
  Node words = node;
  bool priced = false;
  if (node.is_mapping()) {
    Mapping mapping(node);
    words = mapping.require("of");
    const std::optional<Node> passes = mapping.find("passes");
    const std::optional<Node> gradient = mapping.find("gradient_passes");
    const std::optional<Node> launches = mapping.find("launches");
    const std::optional<Node> gradient_launches = mapping.find("gradient_launches");
    const std::optional<Node> kernels = mapping.find("kernels");
    const std::optional<Node> gradient_kernels = mapping.find("gradient_kernels");
    mapping.finish();
    if (passes) chain.passes = read_number(*passes, kMinPasses, kMaxPasses);
    if (gradient) chain.gradient_passes = read_number(*gradient, kMinPasses, kMaxPasses);
    if (launches) chain.launches = static_cast<int>(launches->as_integer(1, kMaxLaunches));
    if (gradient_launches) chain.gradient_launches = static_cast<int>(gradient_launches->as_integer(1, kMaxLaunches));
    if (kernels) chain.kernels = read_plain_kernels(*kernels);
    if (gradient_kernels) chain.gradient_kernels = read_plain_kernels(*gradient_kernels);
    if (launches && kernels) launches->fail("kernels lists each of them", "leave out launches or kernels");
    if (gradient_launches && gradient_kernels) {
      gradient_launches->fail("gradient_kernels lists each of them", "leave out gradient_launches or gradient_kernels");
    }
    if (passes && kernels) passes->fail("kernels says what each of them moves", "leave out passes or kernels");
    if (gradient && gradient_kernels) {
      gradient->fail("gradient_kernels says what each of them moves", "leave out gradient_passes or gradient_kernels");
    }
    priced = passes || gradient || launches || gradient_launches || kernels || gradient_kernels;
  }
  for (const Node& word : words.as_items()) chain.words.push_back(read_chain_word(word));
  if (std::all_of(chain.words.begin(), chain.words.end(), [](const auto& word) { return word.ends_with('?'); })) {
    words.fail("expected an operator that is not optional", "a word without '?'");
  }
  if (chain.words.size() == 1 && !priced) {
    words.fail("one operator is a kernel already", "add the operators around it, or state passes or kernels");
  }
  return chain;
}

// Reads copies of one pass: {kernels: 4, queries: 2, keys: 1}.
CopyShares read_copy_shares(const Node& node) {
  constexpr double kMaxCopies = 1000;
  CopyShares out;
  Mapping mapping(node);
  out.kernels = read_number(mapping.require("kernels"), 1, kMaxCopies);
  const auto read = [&](const char* key, double& share) {
    if (const std::optional<Node> found = mapping.find(key)) share = read_number(*found, 0, kMaxCopies);
  };
  read("queries", out.queries);
  read("keys", out.keys);
  read("gathered", out.gathered);
  read("seen", out.seen);
  read("later_queries", out.later_queries);
  read("later_keys", out.later_keys);
  mapping.finish();
  return out;
}

// Reads {attention: [flash-2], context: all-gather, sequences: 2, forward: {...}, backward: {...}}.
AttentionCopies read_attention_copies(const Node& node) {
  constexpr std::int64_t kMaxSequences = 1'000'000;
  AttentionCopies out;
  Mapping mapping(node);
  for (const Node& name : mapping.require("attention").as_items()) {
    const std::size_t at = name.as_choice(attention_kernel_names());
    out.attention.push_back(attention_kernel_names()[at]);
  }
  if (const std::optional<Node> context = mapping.find("context")) {
    out.context = context_communication_names()[context->as_choice(context_communication_names())];
  }
  if (const std::optional<Node> least = mapping.find("sequences")) {
    out.sequences = static_cast<int>(least->as_integer(1, kMaxSequences));
  }
  const std::optional<Node> forward = mapping.find("forward");
  const std::optional<Node> backward = mapping.find("backward");
  mapping.finish();
  if (!forward && !backward) node.fail("expected the copies of a pass", "state forward or backward");
  if (forward) out.forward = read_copy_shares(*forward);
  if (backward) out.backward = read_copy_shares(*backward);
  return out;
}

// Puts the value of a node into the field of its habit.
struct Assignment {
  const Node& node;
  const FrameworkOption& option;

  void operator()(bool* field) const { *field = node.as_bool(); }
  void operator()(int* field) const {
    *field = static_cast<int>(
        node.as_integer(static_cast<std::int64_t>(option.minimum), static_cast<std::int64_t>(option.maximum)));
  }
  void operator()(double* field) const { *field = read_number(node, option.minimum, option.maximum); }
  void operator()(NormKernels* field) const { *field = static_cast<NormKernels>(node.as_choice(norm_kernel_names())); }
  void operator()(std::vector<std::string>* field) const {
    field->clear();
    for (const Node& item : node.as_items()) {
      const std::string word = read_text(item, "a word");
      if (option.vocabulary != nullptr) check_word(item, word);
      if (std::find(field->begin(), field->end(), word) != field->end()) item.fail("this is named twice");
      field->push_back(word);
    }
  }
  void check_word(const Node& item, const std::string& word) const {
    const std::size_t at = option.by_architecture ? word.find('@') : std::string::npos;
    if (at != std::string::npos && at + 1 == word.size()) item.fail("no architecture is named", "NAME@ARCHITECTURE");
    Value plain = item.value();
    plain.scalar = word.substr(0, at);
    item.child(plain, "word").as_choice(option.vocabulary());
  }
  void operator()(std::vector<FusedChain>* field) const {
    field->clear();
    for (const Node& item : node.as_items()) field->push_back(read_chain(item));
  }
  void operator()(std::vector<PlainKernel>* field) const { *field = read_plain_kernels(node); }
  void operator()(std::vector<AttentionCopies>* field) const {
    field->clear();
    for (const Node& item : node.as_items()) field->push_back(read_attention_copies(item));
  }
};

class FrameworkReader {
 public:
  FrameworkReader(const Node& root, const InheritedFramework& inherited)
      : file_(root.where().file), root_(root), inherited_(inherited) {
    if (const std::optional<Node> like = root_.find("like")) inherit(inherited(*like));
    framework_.name = name_of(root);
    if (const std::optional<Node> program = root_.find("program")) {
      framework_.program = read_text(*program, "a list of options of hw_profiles/launch/options, or none");
      if (framework_.program == "none") framework_.program.clear();
    }
    if (const std::optional<Node> source = root_.find("source")) {
      framework_.source = read_source(*source);
    } else if (framework_.likes.empty()) {
      root_.require("source");
    } else {
      framework_.source = fmt::format("{}, else as {}: {}", std::filesystem::path(file_).filename().string(),
                                      framework_.likes.front(), framework_.source);
    }
  }

  Framework read() {
    for (const FrameworkOptionGroup& group : framework_options()) {
      if (const std::optional<Node> node = root_.find(group.key)) read_group(group, *node);
    }
    root_.finish();
    check_offload();
    return std::move(framework_);
  }

 private:
  // Returns the name of a framework: of a file, or of a framework stated in a scenario.
  std::string name_of(const Node& root) const {
    if (root.path().empty()) return std::filesystem::path(file_).stem().string();
    return framework_.likes.empty() ? "stated" : framework_.likes.front() + " (changed)";
  }

  void inherit(Framework other) {
    framework_ = std::move(other);
    framework_.likes.insert(framework_.likes.begin(), framework_.name);
  }

  // Takes all habits of a group, with their origins, from another framework.
  void inherit_group(const FrameworkOptionGroup& group, Framework other) {
    for (const FrameworkOption& option : group.options) {
      const std::string habit = fmt::format("{}.{}", group.key, option.key);
      const HabitField from = option.field(other);
      std::visit([&](auto* to) { *to = *std::get<decltype(to)>(from); }, option.field(framework_));
      framework_.notes.remove(habit);
      for (const HabitNote& note : other.notes) {
        if (note.habit == habit) framework_.notes.add(note);
      }
    }
    const std::string& own = group.source(other);
    group.source(framework_) = own.empty() ? other.source : own;
  }

  void read_group(const FrameworkOptionGroup& group, const Node& node) {
    Mapping mapping(node);
    if (const std::optional<Node> like = mapping.find("like")) inherit_group(group, inherited_(*like));
    std::string& source = group.source(framework_);
    const std::optional<Node> stated = mapping.find("source");
    const bool inherits_source = !stated && !source.empty();
    if (stated) source = read_source(*stated);
    for (const FrameworkOption& option : group.options) {
      const std::optional<Node> value = mapping.find(option.key);
      if (value) read_habit(fmt::format("{}.{}", group.key, option.key), option, *value, inherits_source);
    }
    mapping.finish();
  }

  void read_habit(const std::string& habit, const FrameworkOption& option, const Node& node, bool inherits_source) {
    framework_.notes.remove(habit);
    HabitNote note;
    note.habit = habit;
    if (node.is_mapping()) {
      read_noted(option, node, note);
    } else {
      assign(option, node);
      if (inherits_source) note.source = framework_.source;
    }
    if (note.source.empty()) return;
    note.value = habit_text(framework_, option);
    framework_.notes.add(std::move(note));
  }

  // Reads {value: ..., source: ..., chosen_on: [...], judged_on: [...], without: {TABLE: ...}, error: 5 %}.
  void read_noted(const FrameworkOption& option, const Node& node, HabitNote& note) {
    Mapping mapping(node);
    const Node value = mapping.require("value");
    const Node source = mapping.require("source");
    const std::optional<Node> chosen = mapping.find("chosen_on");
    const std::optional<Node> judged = mapping.find("judged_on");
    const std::optional<Node> without = mapping.find("without");
    const std::optional<Node> error = mapping.find("error");
    mapping.finish();
    if (without) note.without = read_left_out(option, *without);
    assign(option, value);
    note.source = read_source(source);
    if (chosen) note.chosen_on = read_texts(*chosen);
    if (judged) note.judged_on = read_texts(*judged);
    if (error) note.error = read_share(*error);
    if (chosen) return;
    for (const std::optional<Node>& stray : {judged, without, error}) {
      if (stray) stray->fail("what a value was chosen on is missing", "add chosen_on: [measurements]");
    }
  }

  // Reads a mapping from names of tables to values: a number or a truth value, as the habit itself has.
  static std::vector<HabitNote::LeftOut> read_left_out(const FrameworkOption& option, const Node& node) {
    std::vector<HabitNote::LeftOut> out;
    Framework scratch;
    const HabitField field = option.field(scratch);
    Mapping sources(node);
    for (const std::string& source : sources.keys()) {
      const Node value = sources.require(source);
      std::visit(Assignment{value, option}, field);
      if (const auto* truth = std::get_if<bool*>(&field)) {
        out.push_back({source, **truth ? 1.0 : 0.0});
      } else if (const auto* count = std::get_if<int*>(&field)) {
        out.push_back({source, static_cast<double>(**count)});
      } else if (const auto* number = std::get_if<double*>(&field)) {
        out.push_back({source, **number});
      } else {
        node.fail("only numbers, true and false are chosen without a source");
      }
    }
    return out;
  }

  void assign(const FrameworkOption& option, const Node& node) {
    std::visit(Assignment{node, option}, option.field(framework_));
  }

  void check_offload() const {
    const OffloadHabits& offload = framework_.offload;
    if (offload.max_zero == 0 || offload.bandwidth_share > 0) return;
    const Value* section = root_.node().value().find("offload");
    const Node place = section != nullptr ? root_.node().child(*section, "offload") : root_.node();
    place.fail("an optimizer on the host takes its time from bandwidth_share, which is 0",
               "state bandwidth_share, or max_zero: 0");
  }

  std::string file_;
  Mapping root_;
  const InheritedFramework& inherited_;
  Framework framework_;
};

}  // namespace

Framework read_framework(const Node& root, const InheritedFramework& inherited) {
  return FrameworkReader(root, inherited).read();
}

}  // namespace mirfak
