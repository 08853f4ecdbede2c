#pragma once

#include "schedule/schedule_id.hpp"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

// The function after each enumeration returns the names that scenarios use for its values, in the order of the
// enumeration.

enum class Recompute {
  none,
  selective,  // some modules of each layer are recomputed: arXiv 2205.05198
  full,       // only the input of each layer is kept
};
const std::vector<std::string>& recompute_names();

// Parts of a layer whose activations can be dropped and recomputed separately: the operators of a block with the tag
// that module_names() states.
enum class Module : std::uint8_t {
  core_attention,        // scores, softmax, dropout, context
  layer_norm,            // norms in front of attention and MLP
  latent_up_projection,  // latent attention: from latent vectors to heads
  expert_activation,     // activation function of experts
  mlp,                   // whole plain MLP
  experts,               // whole mixture of experts, including the exchange of rows
  alternate_products,    // everything except the outputs of attention and of every other product of the layer
};
inline constexpr std::size_t kModules = 7;
using ModuleSet = std::bitset<kModules>;

// Parts of a layer whose inputs can wait in the host's memory, by the tags that operators of a block have
// (offloaded_tensors.hpp), in the order of offload_module_names().
enum class OffloadModule : std::uint8_t {
  attention_norm,        // norm in front of attention
  attention_inputs,      // projections to queries, keys and values
  core_attention,        // scores, softmax, dropout, context
  attention_projection,  // projection behind attention
  mlp_norm,              // norm in front of an MLP or of experts
  expert_inputs,         // first products of experts
  expert_activation,     // activation function of experts
};
// Returns the modules as Megatron Core's --offload-modules names them.
const std::vector<std::string>& offload_module_names();

// Layers of a chunk that full recomputation recomputes.
enum class RecomputeMethod {
  block,    // the first recompute_layers layers, each from its input
  uniform,  // all, in groups of recompute_layers layers, each group from the input of its first layer
};
const std::vector<std::string>& recompute_method_names();

// Way in which the attention of a context-parallel rank gets the keys and values of tokens that other ranks hold.
enum class ContextCommunication {
  p2p,  // keys and values circulate in a ring, overlapped with the kernel's pieces (ring attention, arXiv 2310.01889)
  all_gather,  // every rank gathers all keys and values (Llama 3, arXiv 2407.21783)
  all_to_all,  // attention is divided by heads instead of tokens (Ulysses, arXiv 2309.14509)
};
const std::vector<std::string>& context_communication_names();

// Way in which rows of tokens get to the ranks that hold their experts, and back.
enum class ExpertDispatcher {
  all_to_all,  // permuted, exchanged (a row for every expert that a token visits), sorted by expert
  deep_ep,     // a token crosses to each rank, and to each node, once (DeepEP: github.com/deepseek-ai/DeepEP)
  hybrid_ep,   // as deep_ep, with kernels that also sort and pad (DeepEP's branch hybrid-ep)
  all_gather,  // every rank gets all tokens, picks the rows of its experts, and reduces and scatters their results
};
const std::vector<std::string>& expert_dispatcher_names();

// Transfer of activations between stages without sequence parallelism, where each tensor rank of a stage has the whole
// activation that the next stage needs: each rank sends its share over its own link and the receivers gather the
// shares, or each rank sends the whole activation (arXiv 2104.04473, section 4.1).
enum class ScatterGather : std::uint8_t {
  framework,  // the framework's default
  off,
  on,
};
const std::vector<std::string>& scatter_gather_names();

// Order in which ranks are numbered, the dimension of neighbouring ranks first (megatron/core/parallel_state.py,
// RankGenerator). Consecutive ranks lie in one node, so the order decides which groups cross nodes.
enum class RankOrder : std::uint8_t {
  pipeline_last,  // all replicas of a stage, then the next stage
  data_last,      // all stages of a replica, then the next replica
};
const std::vector<std::string>& rank_order_names();

// Returns the modules of a layer as Megatron Core's --recompute-modules names them; "op" is torchtitan's word.
const std::vector<std::string>& module_names();

// Ranks that divide experts among them. Among the ranks of a stage, tensor is fastest, then context, then data. An
// expert group consists of consecutive ranks, or of consecutive whole tensor groups if the tensor groups divide each
// expert.
struct ExpertSpan {
  bool tensor = false;   // all tensor ranks, each with experts of its own
  bool context = false;  // all context ranks
  int data = 1;          // neighbouring data-parallel replicas
};

// Sizes of one pipeline stage, if stages differ.
struct StageShape {
  int tensor = 1;
  int data = 1;
  int expert = 1;

  friend bool operator==(const StageShape&, const StageShape&) = default;
};

// Distribution of a model over ranks, and its schedule. Plain data; 1 means "not used".
struct Strategy {
  int tensor = 1;            // tensor-parallel size (tp)
  int context = 1;           // context-parallel size (cp): tokens of a sequence are divided in all parts of a layer
  int pipeline = 1;          // pipeline stages (pp)
  int virtual_pipeline = 1;  // chunks of each stage (vpp)
  int data = 1;              // data-parallel replicas (dp)
  int expert = 1;            // expert-parallel size (ep): experts divided over ranks of a stage
  int expert_tensor = 0;     // ranks that divide each expert (etp): 1 or `tensor`; 0: `tensor`, as in Megatron Core
  int micro_batch = 1;       // sequences of a microbatch
  int microbatch_group = 0;  // interleaved schedule: microbatches of one chunk before the next chunk; 0: `pipeline`
  ScheduleId schedule = kDefaultSchedule;
  int max_in_flight = 0;  // memory-limited schedule: microbatches that a stage keeps; 0: `pipeline`
  ContextCommunication context_communication = ContextCommunication::p2p;
  // Neighboring context ranks that divide heads among them inside attention, by all-to-alls; context_communication is
  // the way of their groups (Megatron Core's a2a+p2p, USP: arXiv 2405.07719). 1: none.
  int context_heads = 1;
  // Tokens of a document that one rank holds at most: each document of a batch takes as many of the `context` x `data`
  // ranks, a power of two, as its length asks, and all others take other documents at the same time. 0: every sequence
  // takes the `context` ranks.
  int context_tokens = 0;
  ExpertDispatcher expert_dispatcher = ExpertDispatcher::all_to_all;
  bool overlap_expert = false;  // exchanges of rows are overlapped with the passes of other microbatches
  // Rows that the experts of each rank have room for, over the rows of evenly chosen experts, so that no host waits for
  // counts of rows (Megatron Core's --moe-expert-rank-capacity-factor, expert_room_rules.hpp). 0: as many as come.
  double expert_rank_capacity = 0;
  // Pages that hold the rows that experts keep for backward passes, over those of evenly chosen experts: on the device
  // (Megatron Core's --moe-paged-stash), and on the host for what does not fit there. 0: none.
  double expert_stash = 0;
  double expert_stash_host = 0;
  bool sequence_parallel = false;
  ScatterGather scatter_gather = ScatterGather::framework;
  RankOrder rank_order = RankOrder::pipeline_last;
  Recompute recompute = Recompute::none;
  RecomputeMethod recompute_method = RecomputeMethod::block;
  int recompute_layers = 0;  // block: the first layers of each chunk, 0: all; uniform: layers of a group
  // Selective recomputation: modules that are recomputed; default: core_attention alone.
  ModuleSet recompute_modules{1};
  int offload_layers = 0;     // layers at the start whose kept activations wait in the host's memory
  ModuleSet offload_modules;  // modules whose kept inputs wait in the host's memory, of OffloadModule; none: empty
  // ZeRO stage (arXiv 1910.02054): 1 shards the optimizer state over data-parallel ranks, 2 also the gradients, 3 also
  // the parameters.
  int zero = 0;
  double offload_optimizer = 0;     // share of the optimizer's state that is kept and updated on the host
  bool offload_parameters = false;  // ZeRO 3: the host keeps the shards of the parameters, too
  // State of the host lies on its disks between uses (ZeRO-Infinity, arXiv 2104.07857): the optimizer's state, and
  // the shards of the parameters.
  bool optimizer_on_disk = false;
  bool parameters_on_disk = false;
  bool overlap_disk = false;  // the next piece of the optimizer's state is read, the last one written, during updates
  int zero_group = 0;         // ranks that share one sharded copy; 0: all data-parallel ranks
  // ZeRO++ (arXiv 2306.10209), with ZeRO 3. Neighbouring ranks that share a second copy of the parameters, from which
  // all gathers of an iteration come after the first (hpZ); 0: there is none.
  int zero_second_group = 0;
  bool quantized_gathers = false;     // parameters are gathered in 8 bits (qwZ)
  bool quantized_reductions = false;  // gradients are exchanged in 4 bits, in each node and then between nodes (qgZ)
  // Parts into which each weight outside experts is divided: the tensor ranks times neighbouring replicas, which gather
  // it for each pass (Megatron Core's generalized tensor parallelism, weight_rules.hpp). 0: the tensor ranks alone.
  int weight_shards = 0;
  int expert_weight_shards = 0;       // likewise of each expert: the ranks that divide it times replicas that hold it
  bool overlap_grad_reduce = false;   // gradients are reduced while the last backward passes run
  bool overlap_param_gather = false;  // ZeRO 1 and 2: parameters are gathered while the first forward passes run
  // Sequence parallelism: products of a layer run in pieces, overlapped with their collectives.
  bool overlap_tensor = false;
  // Parts of each microbatch that a layer runs at once: while tensor or context ranks exchange data of one part, the
  // layer computes the other (NanoFlow, arXiv 2408.12757; Kareus, arXiv 2601.17654). 1: microbatches stay whole.
  int nanobatches = 1;
  int communication_sms = 0;  // most multiprocessors that a collective takes; 0: as many as its library chooses
  // Buffers of parameters and gradients are registered with the library of collectives, whose gathers and
  // reduce-scatters among replicas then need few multiprocessors (CollectiveModel::registered_channels).
  bool registered_buffers = false;
  // True: an even split counts the embedding, or the head, as a layer, so that the very first chunk, or the very last,
  // has one layer fewer (Megatron Core's options of these names).
  bool account_for_embedding_in_pipeline_split = false;
  bool account_for_loss_in_pipeline_split = false;
  // Layers of each stage's chunks in the order of the model (chunk 0 of every stage, then chunk 1, ...), so
  // pipeline * virtual_pipeline entries. Empty: even.
  std::vector<int> layer_split;
  // Microbatches of each data-parallel replica, `data` entries. Empty: even.
  std::vector<int> replica_microbatches;
  // Shape of each pipeline stage, `pipeline` entries. Empty: all stages have the sizes above. Otherwise `tensor`,
  // `data` and `expert` are the sizes of the first stage among those with the most replicas, and `micro_batch` counts
  // the sequences of one of its replicas. On a stage with fewer replicas, each replica has proportionally more
  // sequences, so that a microbatch consists of the same sequences on every stage (Alpa, arXiv 2201.12023, section 5).
  std::vector<StageShape> stages;

  // Returns the strategy as one stage sees it, with the sizes and microbatches of that stage.
  Strategy at(int stage) const;
  StageShape shape_of(int stage) const {
    return stages.empty() ? StageShape{tensor, data, expert} : stages[static_cast<std::size_t>(stage)];
  }
  int ranks_of(int stage) const {
    const StageShape shape = shape_of(stage);
    return shape.tensor * context * shape.data;
  }
  // Number of the first rank of a stage where stages have consecutive ranks, in their order (pipeline_last).
  int first_rank(int stage) const;

  std::int64_t chunks() const { return std::int64_t{pipeline} * virtual_pipeline; }  // chunks of all stages
  // Number of layers that an even split counts in addition to the layers of the model.
  int counted_as_layers() const {
    return (account_for_embedding_in_pipeline_split ? 1 : 0) + (account_for_loss_in_pipeline_split ? 1 : 0);
  }
  std::int64_t ranks() const {
    return stages.empty() ? std::int64_t{tensor} * context * pipeline * data : std::int64_t{first_rank(pipeline)};
  }
  // Number of layers at the start of each chunk that are recomputed, if not all are; 0: all layers, or none.
  int partly_recomputed() const { return recompute_method == RecomputeMethod::block ? recompute_layers : 0; }
  int team() const { return tensor * context; }  // ranks that run a microbatch of one stage together
  // Number of ranks that hold the same parameters: gradients are reduced over these ranks, and ZeRO shards state among
  // them.
  int replicas() const { return data * context; }
  // Number of ranks, among the replicas(), that share one sharded copy of the state; 1 without ZeRO.
  int shards() const { return zero == 0 ? 1 : zero_group > 0 ? zero_group : replicas(); }
  // Number of replicas that divide the weights outside experts among them, and those of experts; 1: none do.
  int weight_group() const { return weight_shards > 0 ? weight_shards / tensor : 1; }
  int expert_weight_group() const { return expert_weight_shards > 0 ? expert_weight_shards / tensor_of_experts() : 1; }
  bool divides_weights() const { return weight_group() > 1 || expert_weight_group() > 1; }
  int tensor_of_experts() const { return expert_tensor > 0 ? expert_tensor : tensor; }
  ExpertSpan expert_span() const;
  // Number of ranks that hold the same experts, among the replicas() that hold the same of everything else.
  int expert_replicas() const;
  int expert_shards() const { return zero == 0 ? 1 : expert_replicas(); }

  friend bool operator==(const Strategy&, const Strategy&) = default;
};

namespace strategy_limits {
inline constexpr int kRanks = 1 << 20;
inline constexpr int kLayers = 10'000;
inline constexpr int kBatch = 1 << 30;
inline constexpr int kChannels = 64;  // most channels of a communicator (NVIDIA/nccl v2.28.9, MAXCHANNELS)
}  // namespace strategy_limits

}  // namespace mirfak
