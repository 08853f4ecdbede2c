#pragma once

#include "model/operator_graph.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

enum class ScheduleKind { gpipe, one_forward_one_backward, interleaved };
enum class Recompute {
  none,
  selective,  // some modules of each layer are recomputed: arXiv 2205.05198
  full,       // only the input of each layer is kept
};

// Which layers of a chunk full recomputation recomputes.
enum class RecomputeMethod {
  block,    // the first so many, each from its input
  uniform,  // all, so many in a row from the input of the first of them
};

// How the attention of context-parallel ranks gets at keys and values of tokens that other ranks hold.
enum class ContextCommunication {
  p2p,         // keys and values go round in a ring beside the kernel's pieces (ring attention, arXiv 2310.01889)
  all_gather,  // every rank gathers all keys and values (Llama 3, arXiv 2407.21783)
  all_to_all,  // heads instead of tokens are divided inside attention (Ulysses, arXiv 2309.14509)
};

// How rows of tokens get to the ranks that hold their experts, and back.
enum class ExpertDispatcher {
  all_to_all,  // permuted, exchanged (a row for every expert that a token visits), sorted by expert
  deep_ep,     // a token crosses to each rank, and to each node, once (DeepEP: github.com/deepseek-ai/DeepEP)
  hybrid_ep,   // ... by kernels that sort and pad as well as exchange (DeepEP's branch hybrid-ep)
};

// The ranks that divide experts among them. Ranks of a stage are numbered tensor fastest, then context, then data; an
// expert group is so many of them in a row, over tensor groups as a whole where these divide each expert.
struct ExpertSpan {
  bool tensor = false;   // all tensor ranks, each with experts of its own
  bool context = false;  // all context ranks
  int data = 1;          // neighbouring data-parallel replicas
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
  ScheduleKind schedule = ScheduleKind::one_forward_one_backward;
  ContextCommunication context_communication = ContextCommunication::p2p;
  ExpertDispatcher expert_dispatcher = ExpertDispatcher::all_to_all;
  bool overlap_expert = false;  // exchanges of rows run beside the passes of other microbatches
  bool sequence_parallel = false;
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
  // Layers of each stage's chunks in the order of the model (chunk 0 of every stage, then chunk 1, ...), so
  // pipeline * virtual_pipeline entries. Empty: even.
  std::vector<int> layer_split;
  // Microbatches of each data-parallel replica, `data` entries. Empty: even.
  std::vector<int> replica_microbatches;

  std::int64_t ranks() const { return std::int64_t{tensor} * context * pipeline * data; }
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

}  // namespace mirfak
