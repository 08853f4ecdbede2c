#include "replay/derived_graph.hpp"

#include "replay/recorded_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace mirfak {

namespace {

using Operations = std::vector<const MeasuredOperation*>;

const OperationKind& kind_of(const MeasuredOperation& operation) { return operation_kinds()[operation.kind]; }

bool is_forward(const MeasuredOperation& operation) { return kind_of(operation).task == TaskKind::forward; }

bool is_of(const MeasuredOperation& operation, OperationRole role) { return kind_of(operation).role == role; }

bool starts_before(const MeasuredOperation* a, const MeasuredOperation* b) {
  return std::tie(a->start_s, a->kind, a->sequence) < std::tie(b->start_s, b->kind, b->sequence);
}

bool counts_before(const MeasuredOperation* a, const MeasuredOperation* b) {
  return std::tie(a->kind, a->sequence) < std::tie(b->kind, b->sequence);
}

// The passes of every rank in every step, in the order in which they began.
using PassOrders = std::map<std::pair<std::uint32_t, std::uint32_t>, Operations>;

PassOrders pass_orders(const MeasuredTrace& trace) {
  PassOrders out;
  for (const MeasuredOperation& operation : trace.operations) {
    if (is_of(operation, OperationRole::pass)) out[{operation.step, operation.rank}].push_back(&operation);
  }
  for (auto& [of, passes] : out) std::sort(passes.begin(), passes.end(), starts_before);
  return out;
}

class GraphDeriver {
 public:
  explicit GraphDeriver(const MeasuredTrace& trace) : trace_(trace), naming_(distinct_naming(trace)) {
    for (const MeasuredRank& rank : trace.ranks) first_data_ = std::min(first_data_, rank.data);
    for (const MeasuredOperation& operation : trace.operations) last_part_ = std::max(last_part_, part_of(operation));
  }

  StepGraph derive() {
    number_operations();
    check_orders();
    for (const auto& [stage, operations] : stages_) derive_stage(stage, operations);
    join_transfers();
    for (const auto& [key, members] : meeting_) {
      graph_.groups.push_back({members, operation_kinds()[key.kind].meets != OperationMeets::stages});
    }
    return std::move(graph_);
  }

 private:
  // Key of operations that meet: stage is -1 if stages meet.
  struct Meeting {
    OperationKindId kind = 0;
    std::int32_t sequence = 0;
    int stage = -1;
    friend auto operator<=>(const Meeting&, const Meeting&) = default;
  };
  // A pass of a microbatch in a part of the model.
  using PassKey = std::tuple<bool, std::int32_t, std::int32_t>;

  bool is_first_replica(const MeasuredOperation& operation) const {
    const MeasuredRank& rank = trace_.ranks[operation.rank];
    return rank.data == first_data_ && rank.peer == 0;
  }

  std::int32_t part_of(const MeasuredOperation& operation) const {
    return operation.part >= 0 ? operation.part : trace_.ranks[operation.rank].stage;
  }

  std::uint32_t number_of(const MeasuredOperation& operation) const { return numbers_.at(&operation); }
  GraphOperation& node_of(const MeasuredOperation& operation) { return graph_.operations[number_of(operation)]; }

  void wait(const MeasuredOperation& operation, const MeasuredOperation& before) {
    std::vector<std::uint32_t>& after = node_of(operation).after;
    const std::uint32_t other = number_of(before);
    if (std::find(after.begin(), after.end(), other) == after.end()) after.push_back(other);
  }

  // Numbers the operations of the first step on the first data rank, which stand for all.
  void number_operations() {
    for (const MeasuredOperation& operation : trace_.operations) {
      if (operation.step != 0 || !is_first_replica(operation)) continue;
      numbers_.emplace(&operation, static_cast<std::uint32_t>(graph_.operations.size()));
      graph_.operations.push_back({name_of(operation, trace_, naming_), trace_.where(operation), {}});
      const int stage = trace_.ranks[operation.rank].stage;
      stages_[stage].push_back(&operation);
      switch (kind_of(operation).meets) {
        case OperationMeets::nobody:
        case OperationMeets::peer:
          break;
        case OperationMeets::replicas:
          meeting_[{operation.kind, operation.sequence, stage}].push_back(number_of(operation));
          break;
        case OperationMeets::stages:
        case OperationMeets::everyone:
          meeting_[{operation.kind, operation.sequence, -1}].push_back(number_of(operation));
      }
    }
  }

  void check_orders() const {
    const PassOrders orders = pass_orders(trace_);
    std::map<int, const Operations*> of_stage;
    for (const auto& [of, passes] : orders) {
      const auto [first, is_first] = of_stage.try_emplace(trace_.ranks[of.second].stage, &passes);
      if (!is_first) check_order(*first->second, passes);
    }
  }

  void check_order(const Operations& expected, const Operations& passes) const {
    for (std::size_t i = 0; i < std::min(expected.size(), passes.size()); ++i) {
      const OperationName own = name_of(*passes[i], trace_, naming_);
      const OperationName first = name_of(*expected[i], trace_, naming_);
      if (own == first) continue;
      fail_input(trace_.where(*passes[i]),
                 fmt::format("rank {} runs {} here in step {}, where rank {} runs {} in step {}, line {}",
                             trace_.ranks[passes[i]->rank].number, own.text(), trace_.steps[passes[i]->step],
                             trace_.ranks[expected[i]->rank].number, first.text(), trace_.steps[expected[i]->step],
                             expected[i]->line),
                 "a graph of dependencies is derived where all run their passes in one order; state --dependencies");
    }
  }

  static Operations of_role(const Operations& operations, OperationRole role) {
    Operations out;
    for (const MeasuredOperation* operation : operations) {
      if (is_of(*operation, role)) out.push_back(operation);
    }
    const bool by_start = role == OperationRole::pass;
    std::sort(out.begin(), out.end(), by_start ? starts_before : counts_before);
    return out;
  }

  void derive_stage(int stage, const Operations& operations) {
    const Operations passes = of_role(operations, OperationRole::pass);
    if (passes.empty()) {
      fail_input({trace_.name, 0, 0},
                 fmt::format("stage {} of data rank {} has no passes in step {}", stage, first_data_, trace_.steps[0]));
    }
    for (std::size_t i = 1; i < passes.size(); ++i) wait(*passes[i], *passes[i - 1]);
    for (const bool forward : {true, false}) derive_transfers(stage, operations, passes, forward);

    const Operations gathers = of_role(operations, OperationRole::gather);
    for (std::size_t i = 0; i < gathers.size(); ++i) {
      if (i > 0) wait(*gathers[i], *gathers[i - 1]);
      const auto user = std::find_if(passes.begin(), passes.end(), [&](const MeasuredOperation* pass) {
        return i == 0 || gathers[i]->chunk < 0 || pass->chunk == gathers[i]->chunk;
      });
      wait(user == passes.end() ? *passes.front() : **user, *gathers[i]);
    }
    const MeasuredOperation* last = passes.back();
    for (const MeasuredOperation* operation : of_role(operations, OperationRole::finish)) {
      wait(*operation, *last);
      last = operation;
    }
  }

  void derive_transfers(int stage, const Operations& operations, const Operations& passes, bool forward) {
    Operations own;  // passes of this direction
    Operations receivers;
    Operations senders;
    for (const MeasuredOperation* pass : passes) {
      if (is_forward(*pass) != forward) continue;
      own.push_back(pass);
      const std::int32_t part = part_of(*pass);
      if (part != (forward ? 0 : last_part_)) receivers.push_back(pass);
      if (part != (forward ? last_part_ : 0)) senders.push_back(pass);
    }
    const StreamKind receives = forward ? StreamKind::recv_forward : StreamKind::recv_backward;
    const StreamKind sends = forward ? StreamKind::send_forward : StreamKind::send_backward;
    const Operations in = transfers(stage, operations, receives, receivers.size());
    const Operations out = transfers(stage, operations, sends, senders.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const auto at = std::find(own.begin(), own.end(), receivers[i]);
      if (at != own.begin()) wait(*in[i], **(at - 1));
      wait(*receivers[i], *in[i]);
      received_[key_of(*receivers[i])] = in[i];
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      wait(*out[i], *senders[i]);
      sent_[key_of(*senders[i])] = out[i];
    }
    if (forward) return;
    const MeasuredOperation* second = last_forward_but_one(passes);
    if (second == nullptr) return;
    if (!in.empty()) wait(*in.front(), *second);
    if (!out.empty()) wait(*out.front(), *second);
  }

  // Returns the transfers on a stream in their order, and makes each wait for the one before it.
  Operations transfers(int stage, const Operations& operations, StreamKind stream, std::size_t passes) {
    Operations out;
    for (const MeasuredOperation* operation : operations) {
      if (kind_of(*operation).stream == stream) out.push_back(operation);
    }
    std::sort(out.begin(), out.end(), counts_before);
    if (out.size() != passes) {
      fail_input(out.empty() ? Location{trace_.name, 0, 0} : trace_.where(*out.front()),
                 fmt::format("stage {} has {} transfers on its stream {} in step {}, for {} passes", stage, out.size(),
                             name_of(stream), trace_.steps[0], passes),
                 "a graph of dependencies is derived where each pass has its transfers; state --dependencies");
    }
    for (std::size_t i = 1; i < out.size(); ++i) wait(*out[i], *out[i - 1]);
    return out;
  }

  static const MeasuredOperation* last_forward_but_one(const Operations& passes) {
    const MeasuredOperation* last = nullptr;
    const MeasuredOperation* before = nullptr;
    for (const MeasuredOperation* pass : passes) {
      if (!is_forward(*pass)) break;
      before = last;
      last = pass;
    }
    return before;
  }

  PassKey key_of(const MeasuredOperation& pass) const { return {is_forward(pass), pass.number(), part_of(pass)}; }

  void join_transfers() {
    for (const auto& [key, send] : sent_) {
      const auto& [forward, microbatch, part] = key;
      const auto receive = received_.find({forward, microbatch, forward ? part + 1 : part - 1});
      if (receive == received_.end()) {
        fail_input(trace_.where(*send),
                   fmt::format("nothing receives what {} sends", name_of(*send, trace_, naming_).text()),
                   "state --dependencies and --groups");
      }
      graph_.groups.push_back({{number_of(*send), number_of(*receive->second)}, false});
    }
  }

  const MeasuredTrace& trace_;
  Naming naming_;
  int first_data_ = std::numeric_limits<int>::max();
  std::int32_t last_part_ = 0;
  StepGraph graph_;
  std::map<const MeasuredOperation*, std::uint32_t> numbers_;
  std::map<int, Operations> stages_;
  std::map<Meeting, std::vector<std::uint32_t>> meeting_;
  std::map<PassKey, const MeasuredOperation*> sent_;
  std::map<PassKey, const MeasuredOperation*> received_;
};

}  // namespace

StepGraph derive_step_graph(const MeasuredTrace& trace) { return GraphDeriver(trace).derive(); }

}  // namespace mirfak
