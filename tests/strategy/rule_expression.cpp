#include "../base/failure.hpp"
#include "strategy/rule_field_names.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace rule_expression_test {

using namespace mirfak;

namespace {

// GPT-3 sizes on 64 GPUs: tp 4, pp 4, two chunks, dp 4; 16 microbatches of 2 sequences.
struct Setting {
  ModelSpec model;
  TrainingSpec training;
  Framework framework;
  Strategy strategy;

  RuleInput input() const { return {model, training, framework, strategy, 64}; }
  RuleFields fields() const { return read_rule_fields(input(), 8); }
};

Setting setting() {
  Setting s;
  s.model.layers = 96;
  s.model.hidden = 12288;
  s.model.heads = 96;
  s.model.kv_heads = 8;
  s.model.head_dim = 128;
  s.model.ffn = 49152;
  s.model.vocab = 51200;
  s.training.global_batch = 128;
  s.training.sequence_length = 2048;
  s.strategy.tensor = s.strategy.pipeline = s.strategy.data = 4;
  s.strategy.virtual_pipeline = 2;
  s.strategy.schedule = schedule_named("interleaved-1f1b");
  s.strategy.micro_batch = 2;
  s.strategy.recompute = Recompute::full;
  s.strategy.sequence_parallel = true;
  return s;
}

// The rule as the only one of a scenario, in double quotes.
formula::Condition parse(const std::string& rule) {
  const Document document = Document::from_text("rules: [\"" + rule + "\"]\n", "s.yaml");
  return parse_rule(Mapping(Node(document)).require("rules").as_items()[0]);
}

bool holds(const std::string& rule, const Setting& s = setting()) { return parse(rule).holds(s.fields().values()); }

std::string failure_of_rule(const std::string& rule) {
  return failure_of([&] { parse(rule); });
}

std::string failure_in(const std::string& yaml) {
  return failure_of([&] {
    const Document document = Document::from_text(yaml, "s.yaml");
    parse_rule(Mapping(Node(document)).require("rules").as_items()[0]);
  });
}

}  // namespace

TEST_CASE("rules that hold and rules that do not") {
  for (const char* rule : {"tensor <= 8",
                           "tensor == 4 and pipeline == 4",
                           "2 <= tensor <= 8",
                           "not tensor > 4",
                           "recompute == 'full'",
                           "'none' != recompute",
                           "schedule == 'interleaved-1f1b'",
                           "tensor in [1, 2, 4]",
                           "recompute not in ['none', 'selective']",
                           "sequence_parallel",
                           "sequence_parallel == true",
                           "sequence_parallel in [true]",
                           "layers // pipeline == 24",
                           "layers % (pipeline * virtual_pipeline) == 0",
                           "-7 // 2 == -4",
                           "-7 % 2 == 1",
                           "7 % -2 == -1",
                           "7 / 2 == 3.5",
                           "1e3 == 1000",
                           "2 + 3 * 4 == 14",
                           "(2 + 3) * 4 == 20",
                           "10 - 4 - 3 == 3",
                           "tensor * pipeline * data == gpus",
                           "gpus_per_node == 8",
                           "true",
                           "false or true",
                           "not (false)",
                           "(zero == 0) == (replicas > 0)",
                           "1 < 2 <= 2 != 3",
                           "global_batch == microbatches * micro_batch * data"}) {
    CAPTURE(rule);
    CHECK(holds(rule));
    CHECK_FALSE(holds(std::string("not (") + rule + ")"));
  }
}

TEST_CASE("the words bind as in Python: or, and, not, comparison, sum, product, sign") {
  CHECK(holds("true or false and false"));
  CHECK_FALSE(holds("(true or false) and false"));
  CHECK_FALSE(holds("not true or false"));
  CHECK(holds("not 1 + 1 == 3"));
  CHECK(holds("-2 * -3 == 6"));
}

TEST_CASE("names have the values that hold, not those that stand for a default") {
  Setting s = setting();
  CHECK(holds("expert_tensor == tensor and microbatch_group == pipeline and zero_group == replicas", s));
  CHECK(holds("recompute_layers == 12", s));
  s.strategy.recompute_layers = 3;
  CHECK(holds("recompute_layers == 3", s));
  s.strategy.recompute = Recompute::none;
  CHECK(holds("recompute_layers == 0", s));
  s.strategy.microbatch_group = 8;
  CHECK(holds("microbatch_group == 8 and microbatches == 16", s));
}

TEST_CASE("stages of an uneven split") {
  Setting s = setting();
  CHECK(holds("first_stage_layers == last_stage_layers == most_stage_layers == 24", s));
  s.strategy.layer_split = {11, 12, 12, 12, 13, 13, 13, 10};
  CHECK(holds("first_stage_layers == 24 and last_stage_layers == 22 and most_stage_layers == 25", s));
}

TEST_CASE("modules of selective recomputation are a set") {
  Setting s = setting();
  CHECK_FALSE(holds("'core_attn' in recompute_modules", s));
  s.strategy.recompute = Recompute::selective;
  s.strategy.recompute_modules = {};
  s.strategy.recompute_modules.set(static_cast<std::size_t>(Module::experts));
  CHECK(holds("'moe' in recompute_modules and 'mlp' not in recompute_modules", s));
}

TEST_CASE("the right side is evaluated only where the left does not decide") {
  CHECK(holds("zero == 0 or gpus % zero == 0"));
  CHECK_FALSE(holds("zero > 0 and gpus % zero == 0"));
  CHECK_FALSE(holds("tensor < zero < gpus // zero"));
}

TEST_CASE("what has no exact answer is an error at its operator") {
  const formula::Condition by_zero = parse("gpus % zero == 0");
  CHECK(failure_of([&] { by_zero.holds(setting().fields().values()); }) ==
        "s.yaml:1:15: rules[0]: division by zero for a strategy of the search, in 'gpus % zero == 0'\n"
        "    1 | rules: [\"gpus % zero == 0\"]\n"
        "      |               ^\n"
        "  put a condition in front that decides then, for example x == 0 or y % x == 0");
  const formula::Condition large = parse("hidden * hidden * hidden * hidden * hidden > 1");
  CHECK(contains(failure_of([&] { large.holds(setting().fields().values()); }), "beyond 2^53"));
}

TEST_CASE("faults are found when the rule is read, at their character") {
  CHECK(failure_of_rule("tenser <= 8") ==
        "s.yaml:1:10: rules[0]: unknown name 'tenser'\n"
        "    1 | rules: [\"tenser <= 8\"]\n"
        "      |          ^\n"
        "  did you mean 'tensor'?");
  const std::vector<std::vector<const char*>> faults = {
      {"recompute == 'ful'", "1:23", "did you mean 'full'?"},
      {"recompute == full", "1:23", "written in quotes: 'full'"},
      {"recompute < 'full'", "1:10", "has no order"},
      {"recompute == schedule", "1:23", "cannot be compared"},
      {"recompute == 3", "1:23", "cannot be compared"},
      {"'full' == 'full'", "1:20", "cannot be compared"},
      {"recompute in ['full', 'ful']", "1:32", "did you mean 'full'?"},
      {"recompute_modules == 'moe'", "1:10", "write 'moe' in recompute_modules"},
      {"'attention' in recompute_modules", "1:10", "is not a value of recompute_modules"},
      {"tensor", "1:10", "expected a condition, found a number 'tensor'"},
      {"not zero", "1:14", "expected a condition"},
      {"tensor and zero == 0", "1:10", "expected a condition"},
      {"sequence_parallel + 1 == 2", "1:10", "expected a number"},
      {"layers / 2 % 2 == 0", "1:21", "expected whole numbers"},
      {"tensor % 0 == 0", "1:19", "division by zero"},
      {"tensor && true", "1:17", "write 'and'"},
      {"tensor = 8", "1:17", "write '=='"},
      {"!true", "1:10", "write 'not'"},
      {"tensor <= ", "1:20", "the rule ends"},
      {"(tensor <= 8", "1:22", "expected ')', but the rule ends"},
      {"tensor <= 8)", "1:21", "expected the end of the rule, found ')'"},
      {"tensor in []", "1:21", "expected a number"},
      {"tensor in [1 2]", "1:23", "expected ',' or ']'"},
      {"tensor in [pipeline]", "1:21", "expected a number, found 'pipeline'"},
      {"tensor in 8", "1:20", "expected a list"},
      {"recompute == 'full", "1:23", "without its end"},
      {"tensor <= 8x", "1:21", "does not go on"},
      {"tensor <= 1e300", "1:20", "at most 2^53"},
      {"True", "1:10", "did you mean 'true'?"},
      {"", "1:10", "the rule ends"},
      {"tensor ? 1", "1:17", "unexpected '? 1'"},
  };
  for (const auto& fault : faults) {
    const std::string said = failure_of_rule(fault[0]);
    CAPTURE(said);
    CHECK(contains(said, std::string("s.yaml:") + fault[1] + ": "));
    CHECK(contains(said, fault[2]));
  }
}

TEST_CASE("the place is right however the rule is quoted") {
  CHECK(contains(failure_in("rules: [tenser <= 8]\n"), "s.yaml:1:9: "));
  CHECK(contains(failure_in("rules:\n  - 1 < tenser\n"), "s.yaml:2:9: "));
  CHECK(contains(failure_in("rules: ['recompute == ''ful''']\n"), "s.yaml:1:23: "));
  CHECK(contains(failure_in("rules: [\"recompute == \\\"full\\\" or zerro == 1\"]\n"), "s.yaml:1:35: "));
  // Escapes and folded texts: the scalar's place, and a count of characters.
  CHECK(contains(failure_in("rules: [\"1 <\\x20tenser\"]\n"), "s.yaml:1:9: "));
  CHECK(contains(failure_in("rules: [\"1 <\\x20tenser\"]\n"), "at character 5 of '1 < tenser'"));
  CHECK(contains(failure_in("rules:\n  - >\n    1 < tenser\n"), "at character 5 of"));
  CHECK(contains(failure_in("rules: [[1]]\n"), "expected a rule such as tensor <= 8, found a list"));
}

TEST_CASE("a rule says what it reads and what decides that") {
  const auto bit = [](RuleField field) { return static_cast<std::size_t>(field); };
  const formula::Condition rule = parse("microbatches >= 4 * pipeline and layers > 2");
  CHECK(rule.named().size() == 3);
  CHECK(rule.named().front() == bit(rule_field("microbatches")));
  CHECK(sources_of(rule).count() == 3);
  for (const RuleField field : {rule_field("data"), rule_field("micro_batch"), rule_field("pipeline")}) {
    CHECK(sources_of(rule).test(bit(field)));
  }
  CHECK(rule.text() == "microbatches >= 4 * pipeline and layers > 2");
}

TEST_CASE("single fields can be set") {
  RuleFields fields = setting().fields();
  fields[rule_field("tensor")] = 16;
  CHECK_FALSE(parse("tensor <= 8").holds(fields.values()));
  CHECK(parse("micro_batch == 2 and tensor == 16").holds(fields.values()));
}

TEST_CASE("the table of fields is complete, and its names are words of rules") {
  CHECK(rule_fields().size() == kRuleFields);
  const auto name_at = [](RuleField field) { return rule_fields()[static_cast<std::size_t>(field)].name; };
  CHECK(name_at(rule_field("sequence_length")) == "sequence_length");
  CHECK(name_at(rule_field("recompute")) == "recompute");
  CHECK(name_at(rule_field("gpus")) == "gpus");
  for (const formula::Name& info : rule_fields()) {
    CHECK_FALSE(info.sentence.empty());
    const std::string name(info.name);
    CHECK_NOTHROW(parse(info.type == formula::Type::truth    ? name
                        : info.type == formula::Type::set    ? "'" + info.words()[0] + "' in " + name
                        : info.type == formula::Type::choice ? name + " == '" + info.words()[0] + "'"
                                                             : name + " >= 0"));
  }
}

TEST_CASE("deep nesting and long rules are refused") {
  CHECK(contains(failure_of_rule(std::string(40, '(') + "true" + std::string(40, ')')), "nested deeper than 32"));
  CHECK(contains(failure_of_rule("1 < " + std::string(40, '-') + "1"), "nested deeper than 32"));
  std::string deep = "true";
  for (int i = 0; i < 32; ++i) deep = "(1 < 2 < 3) == (" + deep + ")";
  CHECK(holds(deep));
  std::string many = "tensor == 4";
  while (many.size() <= 4096) many += " and tensor == 4";
  CHECK(contains(failure_of_rule(many), "more than 4096 bytes"));
}

}  // namespace rule_expression_test
