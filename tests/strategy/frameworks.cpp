// Framework files: what is inherited, where figures are from, and what is refused. The folder's own files, and others
// written here.

#include "support/frameworks.hpp"
#include "../base/failure.hpp"
#include "framework_reference.hpp"
#include "strategy/framework_fits.hpp"
#include "strategy/framework_options.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

using namespace mirfak;

namespace {

const std::string kProfiles = source_root() + "/hw_profiles";

// The framework of a file of this text.
class OwnFile {
 public:
  explicit OwnFile(const std::string& text, const char* name = "ours.yaml") : file_(folder_ / name) {
    write(name, text);
  }

  void write(const char* name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  Framework framework() const { return test::frameworks().framework(file_.string()); }
  std::string failure() const {
    return failure_of([&] { framework(); });
  }
  std::string path() const { return file_.string(); }

 private:
  ScratchFolder folder_;
  std::filesystem::path file_;
};

const HabitNote* note_of(const Framework& framework, const std::string& habit) {
  const auto found = std::find_if(framework.notes.begin(), framework.notes.end(),
                                  [&](const HabitNote& note) { return note.habit == habit; });
  return found == framework.notes.end() ? nullptr : &*found;
}

std::string without_comments(const std::string& code) {
  std::string out;
  for (std::size_t begin = 0; begin < code.size();) {
    const std::size_t end = std::min(code.find('\n', begin), code.size());
    out += code.substr(begin, std::min(code.find("//", begin), end) - begin) + '\n';
    begin = end + 1;
  }
  return out;
}

// The first ```yaml block.
std::string yaml_of(const std::string& markdown) {
  const std::string open = "```yaml\n";
  const std::size_t begin = markdown.find(open) + open.size();
  return markdown.substr(begin, markdown.find("```", begin) - begin);
}

}  // namespace

TEST_CASE("every framework says what it was read from") {
  const std::vector<std::string> names = test::framework_names();
  CHECK(names.size() >= 18);
  for (const std::string& name : names) {
    CAPTURE(name);
    const Framework framework = test::framework_named(name);
    CHECK(framework.name == name);
    CHECK_FALSE(framework.source.empty());
    CHECK_FALSE(framework.host.source.empty());
    CHECK_FALSE(framework.memory.source.empty());
    CHECK(framework.memory.gradient_bytes > 0);
    for (const std::string& other : framework.likes) {
      CHECK(framework.source != test::framework_named(other).source);
      CHECK(framework.is_like(other));
    }
    for (const HabitNote& note : framework.notes) {
      CAPTURE(note.habit);
      CHECK(note.source.find(".yaml") == std::string::npos);  // a reading, not the file that repeats it
    }
  }
  CHECK(std::find(names.begin(), names.end(), test::frameworks().default_name()) != names.end());
}

TEST_CASE("the folder's README describes every habit, with its default, as the reader knows it") {
  const std::string readme = read_text_file(kProfiles + "/frameworks/README.md");
  CHECK(contains(readme + "\n", test::framework_reference()));
  for (const FrameworkOptionGroup& group : framework_options()) {
    for (const FrameworkOption& option : group.options) CHECK_FALSE(option.sentence.empty());
  }
}

TEST_CASE("the README's fork of ten lines inherits everything else") {
  const std::string text = yaml_of(read_text_file(kProfiles + "/frameworks/README.md"));
  CHECK(std::count(text.begin(), text.end(), '\n') <= 10);
  const Framework fork = OwnFile(text).framework();
  Framework expected = test::framework_named("megatron-core");
  CHECK(fork.name == "ours");
  CHECK(fork.likes == std::vector<std::string>{"megatron-core"});
  CHECK(fork.fusion.attention == std::vector<std::string>{"flash-3", "cudnn"});
  expected.fusion.attention = fork.fusion.attention;
  expected.fusion.cross_entropy = true;
  expected.host.forward_s = 1.1e-3 / 20;
  expected.memory.platform_bytes = 3.5e9;
  CHECK(fork.fusion == expected.fusion);
  CHECK(fork.host == expected.host);
  CHECK(fork.memory == expected.memory);
  CHECK(fork.kernels == expected.kernels);
  CHECK(fork.offload == expected.offload);
}

TEST_CASE("a quotient is the double that C++ makes of it") {
  CHECK(OwnFile("source: x\nhost: {forward_s: 1.0e-3/15}\n").framework().host.forward_s == 1.0e-3 / 15);
  CHECK(test::framework_named("megatron-core").host.forward_s == 1.0e-3 / 15);
  CHECK(test::framework_named("megatron-core").host.backward_s == 1.2e-3 / 33);
  CHECK(test::framework_named("apex-ddp").sharding.bucket_parameters == 25.0 * 1048576 / 4);
}

TEST_CASE("a chain covers what its words say, optional ones there or not") {
  const Framework framework =
      OwnFile(
          "source: x\nfusion: {chains: [[\"bias?\", \"dropout?\", add], {of: [\"mask?\", softmax], passes: "
          "1.5/2}], epilogues: [bias]}\n")
          .framework();
  const FusionHabits& fusion = framework.fusion;
  CHECK(fusion.fuses({"bias", "dropout", "add"}));
  CHECK(fusion.fuses({"dropout", "add"}));
  CHECK(fusion.fuses({"add"}));
  CHECK_FALSE(fusion.fuses({"bias", "dropout"}));
  CHECK_FALSE(fusion.fuses({"dropout", "bias", "add"}));
  CHECK_FALSE(fusion.fuses({"scale", "mask", "softmax"}));
  CHECK(fusion.fuses({"mask", "softmax"}));
  CHECK(fusion.rules.chains[1].passes == 0.75);
  const std::vector<std::string>& epilogues = fusion.rules.epilogues;
  CHECK(std::count(epilogues.begin(), epilogues.end(), "bias") == 1);
  CHECK(std::count(epilogues.begin(), epilogues.end(), "gelu") == 0);
}

TEST_CASE("a chain, and what adds biases of experts, can be several kernels") {
  const OwnFile file(
      "source: x\nfusion: {chains: [{of: [gelu], kernels: [{bytes: 4, cycles: 1/2}, 6], gradient_kernels: [8]}]}\n"
      "kernels: {expert_bias: [4, {bytes: 2, per_expert: true}]}\n");
  const Framework framework = file.framework();
  const FusedChain& chain = framework.fusion.rules.chains.front();
  CHECK(chain.kernels == std::vector<PlainKernel>{{.bytes = 4, .cycles = 0.5}, {.bytes = 6}});
  CHECK(chain.gradient_kernels == std::vector<PlainKernel>{{.bytes = 8}});
  CHECK(framework.kernels.expert_bias ==
        std::vector<PlainKernel>{{.bytes = 4}, {.bytes = 2, .cycles = 0, .per_expert = true}});
  CHECK(framework.kernels.expert_bias_gradient.empty());
}

TEST_CASE("copies around attention are read by tensor, and refused where nothing is copied") {
  const Framework framework =
      OwnFile(
          "source: x\nkernels:\n  fills_results: [linear, copies]\n  ordered_attention: [flash-2]\n"
          "  attention_copies:\n    - {attention: [flash-2, cudnn], context: all-gather, sequences: 2, forward: "
          "{kernels: 8, queries: 1, seen: 0.5}, backward: {kernels: 3, gathered: 5/2, later_keys: 1/4}}\n")
          .framework();
  REQUIRE(framework.kernels.attention_copies.size() == 1);
  const AttentionCopies& copies = framework.kernels.attention_copies.front();
  CHECK(copies.attention == std::vector<std::string>{"flash-2", "cudnn"});
  CHECK(copies.context == "all-gather");
  CHECK(copies.sequences == 2);
  CHECK(copies.forward == CopyShares{.queries = 1, .seen = 0.5, .kernels = 8});
  CHECK(copies.backward == CopyShares{.gathered = 2.5, .later_keys = 0.25, .kernels = 3});
  CHECK(framework.kernels.fills_results == std::vector<std::string>{"linear", "copies"});
  CHECK(framework.kernels.ordered_attention == std::vector<std::string>{"flash-2"});
}

TEST_CASE("a chain's passes can stand for several launches") {
  const OwnFile file(
      "source: x\nfusion: {chains: [{of: [rotary], passes: 10/2, launches: 5, gradient_passes: 15/2, "
      "gradient_launches: "
      "9}]}\n");
  const FusedChain chain = file.framework().fusion.rules.chains.front();
  CHECK(chain.passes == 5);
  CHECK(chain.launches == 5);
  CHECK(chain.gradient_launches == 9);
}

TEST_CASE("a group can be that of another framework, with its sources, and say what is other") {
  const Framework framework =
      OwnFile(
          "like: megatron-core\nsource: ours\nfusion: {like: huggingface}\n"
          "host: {like: pytorch-fsdp, forward_s: 1e-6}\nadapters: {like: huggingface, wide: false}\n")
          .framework();
  const Framework huggingface = test::framework_named("huggingface");
  const Framework fsdp = test::framework_named("pytorch-fsdp");
  CHECK(framework.fusion.rules == huggingface.fusion.rules);
  CHECK(framework.fusion.attention == huggingface.fusion.attention);
  CHECK(framework.host.backward_s == fsdp.host.backward_s);
  CHECK(framework.host.source == fsdp.host.source);
  CHECK(framework.host.forward_s == 1e-6);
  CHECK(framework.adapters.scales);
  CHECK_FALSE(framework.adapters.wide);
  CHECK(framework.memory == test::framework_named("megatron-core").memory);
  const auto noted = [](const Framework& of, const std::string& habit) {
    return std::any_of(of.notes.begin(), of.notes.end(), [&](const HabitNote& note) { return note.habit == habit; });
  };
  CHECK(noted(fsdp, "host.stall_s"));
  CHECK(noted(framework, "host.stall_s"));
  CHECK_FALSE(framework.is_like("pytorch-fsdp"));
}

// Megatron-LM's bias_gelu, bias_dropout_add and scaled masked softmax, and none of them in transformers as they come.
TEST_CASE("the frameworks fuse what their sources say") {
  const FusionHabits megatron = test::framework_named("megatron-lm-2021").fusion;
  const FusionHabits plain = test::framework_named("huggingface").fusion;
  const std::vector<std::vector<std::string_view>> fused = {
      {"bias", "gelu"}, {"silu", "multiply"}, {"bias", "dropout", "add"}, {"scale", "mask", "softmax"}};
  for (const auto& words : fused) {
    CHECK(megatron.fuses(words));
    CHECK_FALSE(plain.fuses(words));
  }
  CHECK_FALSE(test::framework_named("jax-fsdp").fusion.fuses({"scale", "mask", "softmax"}));
  CHECK(test::framework_named("jax-transformer-engine").fusion.fuses({"scale", "mask", "softmax"}));
}

TEST_CASE("without a source that a constant was chosen on it is what the others choose") {
  const std::string fitted =
      "  stall_s: {value: 2e-4, source: s, chosen_on: [a, b], without: {a: 3e-4, b: 1e-4}}\n"
      "  waits_for_pipeline: {value: true, source: s, chosen_on: [a], without: {a: false}}\n";
  const Framework framework = OwnFile("like: megatron-core\nsource: ours\nhost:\n" + fitted).framework();
  CHECK(framework.host.stall_s == 2e-4);
  CHECK(without_source(framework, "a").host.stall_s == 3e-4);
  CHECK_FALSE(without_source(framework, "a").host.waits_for_pipeline);
  CHECK(without_source(framework, "b").host.stall_s == 1e-4);
  CHECK(without_source(framework, "b").host.waits_for_pipeline);
  CHECK(without_source(framework, "c") == framework);
  const auto failure = [](const std::string& habit) {
    return OwnFile("like: megatron-core\nsource: ours\nhost:\n" + habit).failure();
  };
  CHECK(contains(failure("  stall_s: {value: 1, source: s, without: {a: 2}}\n"), "what a value was chosen on"));
  CHECK(
      contains(failure("  stall_s: {value: 1, source: s, chosen_on: [a], without: {a: yes}}\n"), "expected a number"));
}

// A file states 6 us; what its parent was fitted to says nothing about it.
TEST_CASE("a stated value does not keep an inherited source") {
  const Framework parent = test::framework_named("megatron-core");
  const HabitNote* fitted = note_of(parent, "host.forward_s");
  REQUIRE(fitted != nullptr);
  CHECK(fitted->error == doctest::Approx(0.084));
  CHECK(fitted->judged_on.size() == 1);
  CHECK(fitted->value == "66.7 us");

  const Framework plain = OwnFile("like: megatron-core\nsource: our profile\nhost: {forward_s: 6e-6}\n").framework();
  const HabitNote* stated = note_of(plain, "host.forward_s");
  REQUIRE(stated != nullptr);
  CHECK(stated->source == "our profile");
  CHECK(stated->value == "6.00 us");
  CHECK(stated->chosen_on.empty());
  CHECK(plain.host.source == parent.host.source);

  const Framework regrouped = OwnFile("like: megatron-core\nhost: {source: ours, forward_s: 6e-6}\n").framework();
  CHECK(note_of(regrouped, "host.forward_s") == nullptr);
  CHECK(regrouped.host.source == "ours");
  CHECK(regrouped.host.backward_s == parent.host.backward_s);

  const OwnFile silent("like: megatron-core\n");
  const std::string file = std::filesystem::path(silent.path()).filename().string();
  CHECK(silent.framework().source == file + ", else as megatron-core: " + parent.source);
}

TEST_CASE("a framework can be like a file beside it") {
  const OwnFile child("like: ./parent.yaml\nsharding: {max_zero: 2}\n");
  child.write("parent.yaml", "like: torchtitan\nhost: {unit_s: 1e-6}\n");
  const Framework framework = child.framework();
  CHECK(framework.host.unit_s == 1e-6);
  CHECK(framework.sharding.max_zero == 2);
  CHECK(framework.is_like("pytorch-fsdp"));
  CHECK_FALSE(framework.is_like("megatron-core"));
}

TEST_CASE("what is wrong in a file is refused where it stands") {
  const struct {
    const char* text;
    const char* place;
    const char* expected;
  } all[] = {
      {"source: x\nhost: {forwards_s: 1e-6}\n", ":2:8", "did you mean 'forward_s'"},
      {"source: x\nhots: {forward_s: 1e-6}\n", ":2:1", "did you mean 'host'"},
      {"source: x\nhost: {forward_s: fast}\n", ":2:19", "expected a number, found 'fast'"},
      {"source: x\nhost: {forward_s: -1e-6}\n", ":2:19", "from 0 to 60"},
      {"source: x\nhost: {forward_s: 66.7e3}\n", ":2:19", "from 0 to 60"},
      {"source: x\nhost: {forward_s: 1e-3/0}\n", ":2:24", "other than zero"},
      {"source: x\nhost: {forward_s: 1e-3/kernels}\n", ":2:24", "expected a number, found 'kernels'"},
      {"source: x\nhost: {forward_s: 1/1e-3}\n", ":2:19", "found 1000 = 1/1e-3"},
      {"source: x\nfusion: {rotary: 1}\n", ":2:18", "true or false"},
      {"source: x\nfusion: {chains: [[\"bias?\", gelo]]}\n", ":2:29", "did you mean 'gelu'"},
      {"source: x\nfusion: {chains: [[\"bias?\", \"add?\"]]}\n", ":2:19", "not optional"},
      {"source: x\nfusion: {chains: [[gelu]]}\n", ":2:19", "a kernel already"},
      {"source: x\nfusion: {chains: [{of: [gelu], passes: 0}]}\n", ":2:40", "from 0.01"},
      {"source: x\nfusion: {chains: [{of: [gelu], pases: 2}]}\n", ":2:32", "did you mean 'passes'"},
      {"source: x\nfusion: {chains: [gelu]}\n", ":2:19", "expected a list"},
      {"source: x\nfusion: {chains: [{of: [gelu], kernels: 4}]}\n", ":2:41", "expected a list"},
      {"source: x\nfusion: {chains: [{of: [gelu], kernels: [many]}]}\n", ":2:42", "expected a number"},
      {"source: x\nfusion: {chains: [{of: [gelu], kernels: [{cycles: 1}]}]}\n", ":2:42", "'bytes' is missing"},
      {"source: x\nfusion: {chains: [{of: [gelu], kernels: [{bytes: 4, cycle: 1}]}]}\n", ":2:53",
       "did you mean 'cycles'"},
      {"source: x\nfusion: {chains: [{of: [gelu], passes: 2, kernels: [4]}]}\n", ":2:40",
       "leave out passes or kernels"},
      {"source: x\nfusion: {chains: [{of: [gelu], launches: 2, kernels: [4]}]}\n", ":2:42",
       "leave out launches or kernels"},
      {"source: x\nfusion: {chains: [{of: [gelu], launches: 0}]}\n", ":2:42", "from 1 to 1000"},
      {"source: x\nfusion: {attention: [cudn@blackwell]}\n", ":2:22", "did you mean 'cudnn'"},
      {"source: x\nfusion: {attention: [cudnn@]}\n", ":2:22", "no architecture is named"},
      {"source: x\nhost: {like: megatron-cor}\n", ":2:14", "did you mean 'megatron-core'"},
      {"source: x\nhost: {like: ours.yaml}\n", ":2:14", "ours.yaml is like ours.yaml"},
      {"source: x\nkernels: {expert_bias: [-4]}\n", ":2:25", "from 0 to 1000"},
      {"source: x\nkernels: {attention_copies: [{attention: [flash-2]}]}\n", ":2:30", "state forward or backward"},
      {"source: x\nkernels: {attention_copies: [{attention: [flash-9], forward: {kernels: 1}}]}\n", ":2:43", "flash-2"},
      {"source: x\nkernels: {attention_copies: [{attention: [flash-2], context: ring, forward: {kernels: 1}}]}\n",
       ":2:62", "all-gather"},
      {"source: x\nkernels: {fills_results: [logits]}\n", ":2:27", "linear"},
      {"source: x\nfusion: {epilogues: [biass]}\n", ":2:22", "did you mean 'bias'"},
      {"source: x\nfusion: {norms: fussed}\n", ":2:17", "did you mean 'fused'"},
      {"source: x\nfusion: {attention: [flash-2, flsh-3]}\n", ":2:31", "did you mean 'flash-3'"},
      {"source: x\nfusion: {attention: [flash-2, flash-2]}\n", ":2:31", "named twice"},
      {"source: x\nfusion: {attention: flash-2}\n", ":2:21", "expected a list"},
      {"source: x\nsharding: {max_zero: 4}\n", ":2:22", "from 0 to 3"},
      {"source: x\nsharding: {max_zero: 1.5}\n", ":2:22", "whole number"},
      {"source: x\nhost: 5\n", ":2:7", "mapping"},
      {"source: x\noffload: {max_zero: 1}\n", ":2:10", "bandwidth_share, which is 0"},
      {"source: x\nhost: {forward_s: {value: 1e-6}}\n", ":2:19", "'source' is missing"},
      {"source: x\nhost: {forward_s: {source: y}}\n", ":2:19", "'value' is missing"},
      {"source: x\nhost: {forward_s: {value: 1e-6, source: y, sorce: z}}\n", ":2:44", "did you mean 'source'"},
      {"source: x\nhost: {forward_s: {value: 1e-6, source: y, error: 5 %}}\n", ":2:51", "chosen_on"},
      {"source: x\nhost: {forward_s: {value: 1e-6, source: y, chosen_on: [a], error: five %}}\n", ":2:67", "number"},
      {"source: x\nhost: {forward_s: {value: 1e-6, source: y, chosen_on: []}}\n", ":2:55", "at least one"},
      {"source: \"\"\n", ":1:9", "found nothing"},
      {"host: {forward_s: 1e-6}\n", ":1:1", "'source' is missing"},
      {"like: megatron-cor\n", ":1:7", "did you mean 'megatron-core'"},
      {"like: ./nowhere.yaml\n", ":1:7", "there is no file"},
      {"like: ours.yaml\n", ":1:7", "ours.yaml is like ours.yaml"},
  };
  for (const auto& wrong : all) {
    CAPTURE(wrong.text);
    const OwnFile file(wrong.text);
    const std::string failure = file.failure();
    CHECK_MESSAGE(contains(failure, file.path() + wrong.place), failure);
    CHECK_MESSAGE(contains(failure, wrong.expected), failure);
  }
}

TEST_CASE("a circle of three files is told whole") {
  const OwnFile file("like: ./a.yaml\n");
  file.write("a.yaml", "like: ./b.yaml\n");
  file.write("b.yaml", "like: ./ours.yaml\n");
  CHECK(contains(file.failure(), "ours.yaml is like a.yaml is like b.yaml is like ours.yaml"));
}

// Readers and writers of frameworks' launch files, and the words of measured tables, alone may know them by name.
TEST_CASE("no framework has its name in the simulator's code") {
  const std::filesystem::path sources = source_root() + "/sim";
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(sources)) {
    const std::filesystem::path& file = entry.path();
    const std::string room = file.parent_path().filename();
    const bool code = file.extension() == ".cpp" || file.extension() == ".hpp";
    if (!code || room == "launch" || room == "import" || room == "validation") continue;
    ++files;
    const std::string text = without_comments(read_text_file(file));
    for (const std::string& name : test::framework_names()) {
      CHECK_MESSAGE(!contains(text, name), file.string(), " names ", name);
    }
  }
  CHECK(files > 100);
}

TEST_CASE("an unknown name is refused with the nearest one, a folder without frameworks with its path") {
  CHECK(contains(failure_of([] { test::frameworks().framework("torchtitn"); }), "did you mean 'torchtitan'"));
  CHECK(contains(failure_of([] { test::frameworks().framework("Torchtitan"); }), "unknown framework"));
  CHECK(contains(failure_of([] { test::frameworks().framework("ours"); }), "or the path of a YAML file"));
  CHECK(contains(failure_of([] { (void)FrameworkCatalog("nowhere").names(); }), "nowhere/frameworks"));
  CHECK(contains(failure_of([] { (void)FrameworkCatalog("nowhere").default_name(); }), "nowhere/defaults.yaml"));
}
