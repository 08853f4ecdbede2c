#pragma once

#include "schedule/schedule_id.hpp"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

// What scenarios call the values of an enumeration stands behind it, in its order.

enum class Recompute {
  none,
  selective,  // some modules of each layer are recomputed: arXiv 2205.05198
  full,       // only the input of each layer is kept
};
const std::vector<std::string>& recompute_names();

// Parts of a layer whose activations can be dropped and computed again one by one: the operators of a block with the
// tag that module_names() says.
enum class Module : std::uint8_t {
  core_attention,        // scores, softmax, dropout, context
  layer_norm,            // the norms in front of attention and MLP
  latent_up_projection,  // latent attention: from latent vectors to heads
  expert_activation,     // the activation function of experts
  mlp,                   // the whole plain MLP
  experts,               // the whole mixture of experts, the exchange of rows included
  alternate_products,    // everything but what attention and every other product of the layer make
};
inline constexpr std::size_t kModules = 7;
using ModuleSet = std::bitset<kModules>;

// Which layers of a chunk full recomputation recomputes.
enum class RecomputeMethod {
  block,    // the first so many, each from its input
  uniform,  // all, so many in a row from the input of the first of them
};
const std::vector<std::string>& recompute_method_names();

// How the attention of context-parallel ranks gets at keys and values of tokens that other ranks hold.
enum class ContextCommunication {
  p2p,         // keys and values go round in a ring beside the kernel's pieces (ring attention, arXiv 2310.01889)
  all_gather,  // every rank gathers all keys and values (Llama 3, arXiv 2407.21783)
  all_to_all,  // heads instead of tokens are divided inside attention (Ulysses, arXiv 2309.14509)
};
const std::vector<std::string>& context_communication_names();

// How rows of tokens get to the ranks that hold their experts, and back.
enum class ExpertDispatcher {
  all_to_all,  // permuted, exchanged (a row for every expert that a token visits), sorted by expert
  deep_ep,     // a token crosses to each rank, and to each node, once (DeepEP: github.com/deepseek-ai/DeepEP)
  hybrid_ep,   // ... by kernels that sort and pad as well as exchange (DeepEP's branch hybrid-ep)
  all_gather,  // every rank gets all tokens, picks the rows of its experts, and reduces and scatters their results
};
const std::vector<std::string>& expert_dispatcher_names();

// Without sequence parallelism each tensor rank of a stage has the whole activation that the next one needs. It sends
// its share over its own link and the receivers gather them, or it sends all (arXiv 2104.04473, section 4.1).
enum class ScatterGather : std::uint8_t {
  framework,  // as the framework does by itself
  off,
  on,
};
const std::vector<std::string>& scatter_gather_names();

// Modules of a layer as Megatron Core's --recompute-modules calls them; "op" is torchtitan's word.
const std::vector<std::string>& module_names();

// The ranks that divide experts among them. Ranks of a stage are numbered tensor fastest, then context, then data; an
// expert group is so many of them in a row, over tensor groups as a whole where these divide each expert.
struct ExpertSpan {
  bool tensor = false;   // all tensor ranks, each with experts of its own
  bool context = false;  // all context ranks
  int data = 1;          // neighbouring data-parallel replicas
};

// The sizes of one pipeline stage, where stages differ.
struct StageShape {
  int tensor = 1;
  int data = 1;
  int expert = 1;

  friend bool operator==(const StageShape&, const StageShape&) = default;
};

// How a model is spread over ranks and scheduled. Plain data; 1 means "not used".
struct Strategy {
  int tensor = 1;            // tensor-parallel size (tp)
  int context = 1;           // context-parallel size (cp): tokens of a sequence divided, in all of a layer
  int pipeline = 1;          // pipeline stages (pp)
  int virtual_pipeline = 1;  // chunks of each stage (vpp)
  int data = 1;              // data-parallel replicas (dp)
  int expert = 1;            // expert-parallel size (ep): experts divided over ranks of a stage
  int expert_tensor = 0;     // ranks that divide each expert (etp): 1 or `tensor`; 0: `tensor`, as in Megatron Core
  int micro_batch = 1;       // sequences of a microbatch
  int microbatch_group = 0;  // interleaved schedule: microbatches of one chunk before the next; 0: `pipeline`
  ScheduleId schedule = kDefaultSchedule;
  int max_in_flight = 0;  // memory-limited schedule: microbatches that a stage keeps; 0: `pipeline`
  ContextCommunication context_communication = ContextCommunication::p2p;
  ExpertDispatcher expert_dispatcher = ExpertDispatcher::all_to_all;
  bool overlap_expert = false;  // exchanges of rows run beside the passes of other microbatches
  bool sequence_parallel = false;
  ScatterGather scatter_gather = ScatterGather::framework;
  Recompute recompute = Recompute::none;
  RecomputeMethod recompute_method = RecomputeMethod::block;
  int recompute_layers = 0;        // of each chunk: block: the first so many, 0: all; uniform: of a group
  ModuleSet recompute_modules{1};  // selective: which; core_attention alone
  int offload_layers = 0;          // kept activations of the first so many layers wait in the host's memory
  // ZeRO stage (arXiv 1910.02054): 1 shards the optimizer state over data-parallel ranks, 2 the gradients too, 3 the
  // parameters too.
  int zero = 0;
  double offload_optimizer = 0;       // share of the optimizer's state that lies, and is updated, on the host
  int zero_group = 0;                 // ranks that share one sharded copy; 0: all data-parallel ranks
  bool overlap_grad_reduce = false;   // gradients are reduced while the last backward passes run
  bool overlap_param_gather = false;  // ZeRO 1 and 2: parameters are gathered while the first forward passes run
  bool overlap_tensor = false;        // sequence parallelism: a layer's products run in pieces beside their collectives
  // An even split counts the embedding, or the head, as a layer: the very first chunk, or the very last, has one layer
  // fewer (Megatron Core's options of these names).
  bool account_for_embedding_in_pipeline_split = false;
  bool account_for_loss_in_pipeline_split = false;
  // Layers of each stage's chunks in the order of the model (chunk 0 of every stage, then chunk 1, ...), so
  // pipeline * virtual_pipeline entries. Empty: even.
  std::vector<int> layer_split;
  // Microbatches of each data-parallel replica, `data` entries. Empty: even.
  std::vector<int> replica_microbatches;
  // Of each pipeline stage, `pipeline` entries. Empty: all have the sizes above. Else `tensor`, `data` and `expert` are
  // those of the first of the stages with most replicas, and `micro_batch` is of its replicas: where there are fewer,
  // each has proportionally more sequences, so that a microbatch is the same sequences on every stage (Alpa,
  // arXiv 2201.12023, section 5).
  std::vector<StageShape> stages;

  // The strategy as one stage sees it: sizes and microbatches are its own.
  Strategy at(int stage) const;
  StageShape shape_of(int stage) const {
    return stages.empty() ? StageShape{tensor, data, expert} : stages[static_cast<std::size_t>(stage)];
  }
  int ranks_of(int stage) const {
    const StageShape shape = shape_of(stage);
    return shape.tensor * context * shape.data;
  }
  int first_rank(int stage) const;  // stages have ranks in a row, in their order

  std::int64_t chunks() const { return std::int64_t{pipeline} * virtual_pipeline; }  // of all stages
  // What an even split counts beside the layers of the model.
  int counted_as_layers() const {
    return (account_for_embedding_in_pipeline_split ? 1 : 0) + (account_for_loss_in_pipeline_split ? 1 : 0);
  }
  std::int64_t ranks() const {
    return stages.empty() ? std::int64_t{tensor} * context * pipeline * data : std::int64_t{first_rank(pipeline)};
  }
  // Of each chunk, the first so many layers that are recomputed where not all are; 0: all are, or none.
  int partly_recomputed() const { return recompute_method == RecomputeMethod::block ? recompute_layers : 0; }
  int team() const { return tensor * context; }  // ranks that run a microbatch of one stage together
  // Ranks that hold the same parameters: gradients are reduced over them, ZeRO divides its shards among them.
  int replicas() const { return data * context; }
  // Of these, the ranks that share one sharded copy of the state; 1 without ZeRO.
  int shards() const { return zero == 0 ? 1 : zero_group > 0 ? zero_group : replicas(); }
  int tensor_of_experts() const { return expert_tensor > 0 ? expert_tensor : tensor; }
  ExpertSpan expert_span() const;
  // Ranks that hold the same experts, of the replicas() that hold the same of everything else.
  int expert_replicas() const;
  int expert_shards() const { return zero == 0 ? 1 : expert_replicas(); }

  friend bool operator==(const Strategy&, const Strategy&) = default;
};

namespace strategy_limits {
inline constexpr int kRanks = 1 << 20;
inline constexpr int kLayers = 10'000;
inline constexpr int kBatch = 1 << 30;
}  // namespace strategy_limits

}  // namespace mirfak
