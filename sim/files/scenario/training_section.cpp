#include "scenario/training_section.hpp"

#include "base/yaml.hpp"
#include "scenario/document_lengths.hpp"
#include "scenario/image_counts.hpp"
#include "scenario/local_steps_section.hpp"
#include "scenario/low_rank_section.hpp"
#include "scenario/preferences_section.hpp"
#include "strategy/precision_recipe.hpp"

#include <algorithm>

namespace mirfak {

namespace {

constexpr std::int64_t kMaxSequence = std::int64_t{1} << 24;

// Word that sets members of S. A word that sets one member is how that member is written.
template <class S>
struct MemberWord {
  std::string word;
  std::vector<bool S::*> members;
};

template <class S>
void set_word(const Node& node, const std::vector<MemberWord<S>>& words, S& out) {
  std::vector<std::string> names;
  for (const MemberWord<S>& of : words) names.push_back(of.word);
  for (const auto member : words[node.as_choice(names)].members) out.*member = true;
}

template <class S>
Value words_value(const std::vector<MemberWord<S>>& words, const S& of) {
  Value out = list_value();
  for (const auto& [word, members] : words) {
    if (members.size() == 1 && of.*members.front()) out.items.push_back(word_value(word));
  }
  return out;
}

const std::vector<MemberWord<LowRankAdapters>>& adapter_targets() {
  using Of = LowRankAdapters;
  static const std::vector<MemberWord<Of>> words = {{"qkv", {&Of::query_key_value}},
                                                    {"proj", {&Of::attention_output}},
                                                    {"fc1", {&Of::mlp_up}},
                                                    {"fc2", {&Of::mlp_down}},
                                                    {"attention", {&Of::query_key_value, &Of::attention_output}},
                                                    {"mlp", {&Of::mlp_up, &Of::mlp_down}}};
  return words;
}

const std::vector<MemberWord<CudaGraphs>>& cuda_graph_scopes() {
  using Of = CudaGraphs;
  static const std::vector<MemberWord<Of>> words = {{"none", {}},
                                                    {"attention", {&Of::attention}},
                                                    {"mlp", {&Of::mlp}},
                                                    {"router", {&Of::router}},
                                                    {"layer", {&Of::attention, &Of::mlp, &Of::router}},
                                                    {"full", {&Of::iteration}}};
  return words;
}

const std::vector<MemberWord<FrozenParts>>& frozen_parts() {
  using Of = FrozenParts;
  static const std::vector<MemberWord<Of>> words = {
      {"tower", {&Of::tower}}, {"projector", {&Of::projector}}, {"decoder", {&Of::decoder}}};
  return words;
}

const std::vector<MemberWord<WholeParts>>& whole_parts() {
  using Of = WholeParts;
  static const std::vector<MemberWord<Of>> words = {
      {"embedding", {&Of::embedding}}, {"head", {&Of::head}}, {"projector", {&Of::projector}}, {"tower", {&Of::tower}}};
  return words;
}

void read_whole(const Node& node, WholeParts& parts) {
  for (const Node& item : node.is_sequence() ? node.as_items() : std::vector<Node>{node}) {
    set_word(item, whole_parts(), parts);
  }
}

void read_targets(const Node& node, LowRankAdapters& adapters, const NoContext&) {
  const std::vector<Node> items = node.as_items();
  if (items.empty()) node.fail("expected at least one linear layer to adapt");
  for (const Node& item : items) set_word(item, adapter_targets(), adapters);
}

const FieldTable<LowRankAdapters>& adapter_fields() {
  using A = LowRankAdapters;
  using F = FieldTable<A>::Field;
  static const FieldTable<A> table = {
      {
          F("rank", &A::rank, {1, 1 << 20}).required(),
          F("targets", read_targets, [](const A& of) { return words_value(adapter_targets(), of); }),
          F("dropout", &A::dropout, {0, 1}),
          F("base", &A::base, {0, 0, frozen_base_names}).if_set(),
          F("decomposed", &A::decomposed, {}).if_set(),
          F("whole", read_whole, &A::whole,
            [](const WholeParts& of) {
              return words_value(whole_parts(), of);
            }).if_set(),
      },
      [](Mapping& keys, A& of, const NoContext&) {
        if (!keys.has("targets")) of.query_key_value = of.attention_output = of.mlp_up = of.mlp_down = true;
      }};
  return table;
}

// Reads one scope, or a list of scopes.
void read_cuda_graphs(const Node& node, CudaGraphs& graphs) {
  for (const Node& item : node.is_sequence() ? node.as_items() : std::vector<Node>{node}) {
    set_word(item, cuda_graph_scopes(), graphs);
  }
}

void read_frozen(const Node& node, FrozenParts& parts) {
  for (const Node& item : node.is_sequence() ? node.as_items() : std::vector<Node>{node}) {
    set_word(item, frozen_parts(), parts);
  }
}

// Reads the name of a recipe, written out.
void read_precision(const Node& node, std::string& precision) {
  static const std::vector<std::string> names = precision_recipe_names();
  precision = find_precision_recipe(names[node.as_choice(names)])->name;
}

// Returns a name, an absolute path, or the mapping that the line of YAML is.
Value framework_value(const std::string& framework) {
  if (framework.starts_with('/')) return quoted_value(framework);
  return framework.starts_with('{') ? parse_yaml(framework, "training.framework") : word_value(framework);
}

const std::vector<std::string>& gradient_precisions() {
  static const std::vector<std::string> names = {"bf16", "fp16", "fp32"};
  return names;
}

}  // namespace

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> names = {"adam", "adam-8bit", "adafactor", "lamb", "sgd", "muon", "none"};
  return names;
}

namespace {

const std::vector<std::string>& moment_types() {
  static const std::vector<std::string> names = {"fp32", "bf16", "fp16", "fp8"};
  return names;
}

const std::vector<std::string>& main_parameter_types() {
  static const std::vector<std::string> names = {"fp32", "bf16", "fp16"};
  return names;
}

void check_capacity(const Node& node, const TrainingSpec& training) {
  if (!training.pad_to_capacity || training.expert_capacity_factor > 0) return;
  node.fail("pad_to_capacity: how many rows an expert is padded to is not said", "state expert_capacity_factor");
}

// Refuses types of states that the optimizer does not keep, or keeps in a type of its own.
void check_states(const Node& node, const TrainingSpec& training) {
  const bool chosen = training.optimizer == Optimizer::adam || training.optimizer == Optimizer::lamb;
  if (chosen || !training.narrow_states()) return;
  for (const char* key : {"first_moment", "second_moment", "main_parameters"}) {
    const Value* const stated = node.value().find(key);
    if (stated == nullptr || stated->scalar == "fp32") continue;
    node.child(*stated, key)
        .fail("only adam and lamb keep states whose types are chosen", "change training.optimizer, or leave it out");
  }
}

}  // namespace

const FieldTable<TrainingSpec, FrameworkCatalog>& training_fields() {
  using T = TrainingSpec;
  using F = FieldTable<T, FrameworkCatalog>::Field;
  static const FieldTable<T, FrameworkCatalog> table = {
      F("global_batch", &T::global_batch, {1, kMaxBatch},
        "samples per iteration: sequences, or as many of them each as `preferences` says")
          .required(),
      F("sequence_length", &T::sequence_length, {1, kMaxSequence}, "tokens of a sequence").by_default("the model's"),
      F("precision", read_precision, &T::precision, word_value,
        "`bf16`, `fp16`, `fp32`, `tf32`; with linear layers in a narrow format `fp8-delayed` (also called `fp8`), "
        "`fp8-current`, `fp8-rowwise`, `fp8-rowwise-gw-hp`, `fp8-block`, `mxfp8`, `mxfp4`, `nvfp4` "
        "([strategy/](../../description/strategy))"),
      F(
          "framework",
          [](const Node& node, T& of, const FrameworkCatalog& known) { of.framework = known.read_stated(node); },
          [](const T& of) { return framework_value(of.framework); },
          "a name that `mirfak list frameworks` shows, or the path of a [framework "
          "file](../../../hw_profiles/frameworks/README.md), relative to the file that states it, or a mapping of such "
          "a file's keys")
          .by_default("that of [hw_profiles/defaults.yaml](../../../hw_profiles/defaults.yaml)"),
      F("document_lengths", read_document_lengths, &T::documents, document_lengths_value,
        "sequences are packed with documents, whose tokens attend to those of their own alone: `512`, tokens of "
        "each, or `{512: 3, 2048: 1}`, how many there are of each length for one another; longer ones than a "
        "sequence are cut. Only fused attention saves by it")
          .or_null()
          .if_set(),
      F("images", read_image_counts, &T::images, image_counts_value,
        "images of a sequence, in models with a tower for images: `1.5`, their mean, or `{0: 5, 1: 3, 4: 1}`, how many "
        "sequences there are with each number of images for one another, which `--samples` draws for every sequence; a "
        "single iteration has the mean. An image takes the places of so many tokens, so sequences stay as long as they "
        "are ([models/](../../../models/README.md#towers))")
          .if_set(),
      F(
          "cuda_graphs", read_cuda_graphs, &T::cuda_graphs,
          [](const CudaGraphs& of) { return words_value(cuda_graph_scopes(), of); },
          "what is replayed as CUDA graphs, one or a list of `attention`, `mlp`, `router`, `layer` (the three; "
          "experts never are), `full` (forward and backward passes of the iteration)")
          .by_default("`none`")
          .if_set(),
      F("blocking_launches", &T::blocking_launches, {},
        "the host waits for the end of every kernel before it goes on (`CUDA_LAUNCH_BLOCKING=1`): nothing is issued "
        "ahead")
          .if_set(),
      F("fp8_parameters", &T::fp8_parameters, {},
        "parameters of linear layers are kept, and gathered, in the narrow format")
          .if_set(),
      F("fp8_attention", &T::fp8_attention, {},
        "attention computes in 8 bits, beside linear layers in a narrow format (Transformer Engine's `fp8_dpa`, "
        "Megatron "
        "Core's `fp8_dot_product_attention`); what it keeps for backward is counted in 16 bits")
          .if_set(),
      F("fp8_activation_input", &T::fp8_activation_input, {},
        "backward keeps the input of an MLP's activation function in 8 bits (Megatron Core's "
        "`activation_func_fp8_input_store`)")
          .if_set(),
      F("lora", &T::adapters, adapter_fields(),
        "`{rank, targets, dropout, base, decomposed, whole}`: only low-rank adapters are trained, the model itself is "
        "frozen; "
        "targets "
        "among "
        "`qkv`, `proj`, `fc1`, `fc2`, `attention` (`qkv`, `proj`), `mlp` (`fc1`, `fc2`), default all; dropout before "
        "the adapter, default 0; base: how the frozen weights of linear layers are kept, `as-trained` (default), "
        "`nf4`, "
        "`nf4-double` (its constants in 8 bits) or `int8`, from which a kernel widens them in front of each product; "
        "decomposed: DoRA, with a magnitude for each column of a weight, default false; whole: one or a list of "
        "`embedding`, `head`, `projector`, `tower`, which are trained whole beside the adapters (PEFT's "
        "`modules_to_save`), default none")
          .or_null()
          .if_set(),
      F(
          "frozen", read_frozen, &T::frozen, [](const FrozenParts& of) { return words_value(frozen_parts(), of); },
          "what is not trained of a model with a tower for images, one or a list of `tower`, `projector`, `decoder`: "
          "without gradients, optimizer state and adapters; nothing goes backward through a frozen tower, and "
          "through a frozen decoder the gradients of its inputs alone")
          .by_default("`none`")
          .if_set(),
      F("loss_chunks", &T::loss_chunks, {0, 1 << 20},
        "equal chunks of each sequence that head and loss run in, forward and backward, so that the logits of all "
        "tokens "
        "never exist at once (`ChunkedLossWrapper`); 0: as the framework does by itself")
          .if_set(),
      F("gradient_precision", &T::gradient_precision, {0, 0, gradient_precisions},
        "in which gradients are reduced: `bf16`, `fp16` or `fp32`")
          .by_default("the framework's")
          .if_set(),
      F("optimizer", &T::optimizer, {0, 0, optimizer_names},
        "`adam`, `adam-8bit` (both moments in 8 bits), `adafactor` (sums over rows and columns instead of moments), "
        "`lamb`, `sgd` (with momentum), `muon` (layers' matrices by orthogonal momentum, the rest by Adam) or "
        "`none`"),
      F("first_moment", &T::first_moment, {0, 0, moment_types},
        "type of Adam's and LAMB's first moment: `fp32`, `bf16`, `fp16` or `fp8` (Transformer Engine's FusedAdam, "
        "Megatron Core's `exp_avg_dtype`)")
          .if_set(),
      F("second_moment", &T::second_moment, {0, 0, moment_types}, "the same of the second moment (`exp_avg_sq_dtype`)")
          .if_set(),
      F("main_parameters", &T::main_parameters, {0, 0, main_parameter_types},
        "type of the parameters that Adam and LAMB update, beside those of 16 bits that passes compute with: `fp32`, "
        "`bf16`, `fp16` (`main_params_dtype`)")
          .if_set(),
      F("low_rank_gradients", &T::low_rank_gradients, low_rank_fields(),
        "`{rank, every, quantized_projectors}`: the optimizer keeps its states for projections of the gradients of "
        "layers' matrices on so many dimensions (GaLore); every: steps between two searches for the subspace, default "
        "200; quantized_projectors: a byte for each value of a projector (Q-GaLore)")
          .or_null()
          .if_set(),
      F("expert_capacity_factor", &T::expert_capacity_factor, {0, 1000},
        "an expert takes so many times the rows that it has where all have equally many, and drops the others; 0: "
        "it takes all. Only with experts' measured popularity does a factor of 1 or more drop any")
          .if_set(),
      F("pad_to_capacity", &T::pad_to_capacity, {},
        "experts compute as many rows as `expert_capacity_factor` allows, with zeros in those that are missing")
          .if_set(),
      F("local_steps", &T::local_steps, local_steps_fields(),
        "`{learners, every, fragments, delay, exchange, bandwidth, latency_s, state}`: the job is one of so many "
        "learners, equal copies that step apart, and exchange the change of their parameters after `every` steps for "
        "an "
        "outer optimizer (DiLoCo; 1: gradients of each step, as torchft's replicas do). fragments: parts that are "
        "exchanged in turn, default 1; delay: steps that go on meanwhile, default 0; exchange: format, `fp32` "
        "(default), "
        "`bf16`, `fp8`, `fp4`; bandwidth: bytes/s of a learner to the others, default the network ports of all its "
        "nodes; latency_s: of a message between learners, default 0; state: `host` (default) or `device`, where the "
        "outer optimizer's 8 bytes a parameter lie")
          .or_null()
          .if_set(),
      F("preferences", &T::preferences, preference_fields(),
        "`{answers, reference, mismatched}`: tuning by preferences (DPO and its kin), or of a reward model. answers: "
        "sequences of a sample, which one pass reads together, usually 2; reference: whose log-probabilities the loss "
        "compares those of the model with, `none` (default; ORPO, SimPO, CPO, reward models), `model` (a frozen copy, "
        "which reads each microbatch once, too), `adapters-off` (the model without its `lora`, likewise) or "
        "`computed-before` (a pass over all data in front of the training, which is not predicted); mismatched: model "
        "and reference read as many sequences again, without gradients (KTO), default false")
          .or_null()
          .if_set(),
      F("tokens", &T::tokens, {1, 1e18}, "of the whole training: adds training time and cost").or_null().if_set(),
  };
  return table;
}

TrainingSpec read_training(const Node& node, const ModelSpec& model, const FrameworkCatalog& frameworks) {
  TrainingSpec defaults;
  defaults.sequence_length = model.max_sequence;
  TrainingSpec training = training_fields().read(node, defaults, frameworks);
  if (training.framework.empty()) training.framework = frameworks.default_name();
  check_states(node, training);
  check_capacity(node, training);
  check_preferences(node, training);
  return training;
}

}  // namespace mirfak
