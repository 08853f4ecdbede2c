// The explanation is written once per kind of stage: stages that share priced bodies (the same GPUs, the tensor group
// placed alike) have the same tables. A row has its own numbers and the letter of its formula, which kernels of other
// sizes share; the formulas follow the tables, and the sources of all constants stand at the end.

#include "report/explanation.hpp"

#include "base/units.hpp"
#include "program/data_parallel.hpp"
#include "program/divided_weights.hpp"
#include "program/exchange_kind.hpp"
#include "program/expert_load.hpp"
#include "program/expert_room.hpp"
#include "program/job_network.hpp"
#include "program/optimizer_offload.hpp"
#include "program/optimizer_step.hpp"
#include "program/transfer_cost.hpp"
#include "program/weight_exchange.hpp"
#include "report/document_report.hpp"
#include "report/host_copies.hpp"
#include "report/link_report.hpp"
#include "report/range_report.hpp"
#include "report/source_list.hpp"
#include "sharding/row_chunks.hpp"
#include "simulation/anomalies.hpp"
#include "simulation/prediction_range.hpp"
#include "simulation/replica_labels.hpp"
#include "strategy/rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace mirfak {

namespace {

// Rows of a table. A row that holds for several plans is written once.
class StageRows {
 public:
  // Adds a row for a plan. `plan`: the index of the plan.
  void add(int plan, const std::string& what, std::vector<std::string> cells) {
    cells.insert(cells.begin(), what);
    for (auto& [plans, known] : rows_) {
      if (known == cells) return plans.push_back(plan);
    }
    rows_.emplace_back(std::vector<int>{plan}, std::move(cells));
  }
  void write(const Simulation& simulation, Table& table) const {
    for (const auto& [plans, cells] : rows_) {
      std::vector<Cell> row(cells.begin(), cells.end());
      row.insert(row.begin(), plans_text(simulation, plans));
      table.add(std::move(row));
    }
  }

 private:
  std::vector<std::pair<std::vector<int>, std::vector<std::string>>> rows_;
};

constexpr double kPicosecond = 1e-12;

// Returns the kernel model at the clock at which a block's passes run.
KernelModel clocked(const StagePlan& plan, BlockId id) {
  KernelModel kernels = plan.costs.kernels;
  kernels.set_clock_share(plan.bodies_of(id).settled_clock, kernels.clock_limit());
  return kernels;
}

// Returns the numbers, and the value in seconds that the formula yields with them.
std::string with_evaluation(const std::string& numbers, const std::string& evaluation) {
  return evaluation.empty() ? numbers : numbers + " = " + evaluation + " s";
}

class Explainer {
 public:
  Explainer(const Scenario& scenario, const Simulation& simulation)
      : scenario_(scenario), simulation_(simulation), job_(simulation.job) {}

  std::vector<Section> sections() {
    std::vector<Section> out = {scenario_section()};
    if (std::optional<Section> documents = documents_section(simulation_)) out.push_back(std::move(*documents));
    for (const std::vector<int>& alike : plans_alike()) {
      const StagePlan& plan = simulation_.plans[static_cast<std::size_t>(alike.front())];
      Section& passes = out.emplace_back();
      passes.title = fmt::format("Passes on {}: {} at {:.1f} % of its clock", plans_text(simulation_, alike),
                                 plan.costs.hardware->hardware.gpu.title, 100 * plan.costs.kernels.running_clock());
      for (const BlockId block : blocks_on(alike)) add_block(passes, plan, block);
    }
    out.push_back(communication_section());
    if (std::optional<Section> links = links_section(simulation_)) out.push_back(std::move(*links));
    out.insert(out.end(), {sum_section(), range_section(job_, simulation_.result), memory_section()});
    Section anomalies = {"Where more takes longer", {}};
    for (const std::string& anomaly : anomalies_of(simulation_)) anomalies.add("  " + anomaly + "\n");
    if (!anomalies.parts.empty()) out.push_back(std::move(anomalies));
    out.push_back(framework_section());
    out.push_back(formulas_.section(sources_));  // cites sources, so the call comes before their list is written
    out.push_back(sources_.section());
    return out;
  }

 private:
  std::vector<std::vector<int>> plans_alike() const;
  std::vector<BlockId> blocks_on(const std::vector<int>& plans) const;
  Section scenario_section();
  void add_block(Section& out, const StagePlan& plan, BlockId id);
  Table step_table(const StagePlan& plan, BlockId id, const std::vector<BlockStep>& steps,
                   std::span<const BodyStep> charged);
  void add_parts(Section& out, const StagePlan& plan, BlockId id, const RowBodies& row,
                 const std::vector<std::span<const BlockStep>>& lists);
  std::vector<Cell> step_row(const StagePlan& plan, BlockId id, const BlockStep& step, const BodyStep& charged);
  Section communication_section();
  // Return the job as the stage of a plan sees it, and the stage's blocks.
  const Job& job_of(const StagePlan& plan) const { return job_at(job_, simulation_.blocks, plan.stage); }
  const ShardedBlocks& blocks_of(const StagePlan& plan) const { return simulation_.blocks.at(plan.stage); }
  int index_of(const StagePlan& plan) const { return static_cast<int>(&plan - simulation_.plans.data()); }
  void add_transfers(StageRows& rows, const StagePlan& from);
  void add_plain_transfers(StageRows& rows, const StagePlan& from, int to, BlockId stream);
  void add_cross_transfers(StageRows& rows, const StagePlan& from, int to);
  void add_reductions(StageRows& rows, const StagePlan& plan);
  void add_optimizer(StageRows& rows, const StagePlan& plan) const;
  std::vector<std::string> exchange_cells(double seconds, double bytes, const Explanation& why) {
    return {format_seconds(seconds), format_bytes(bytes), formulas_.cite(why),
            with_evaluation(why.numbers, why.evaluation)};
  }
  Section sum_section() const;
  void add_memory_parts(Table& table);
  void add_fit_probability(Table& table);
  bool is_first_of_shape(int stage) const;
  std::string shape_text(int stage) const;
  static void add_blocks(Table& table, const Job& job, const ShardedBlocks& blocks, const std::string& where);
  Section memory_section();
  Section framework_section();

  const Scenario& scenario_;
  const Simulation& simulation_;
  const Job& job_;
  FormulaList formulas_;
  SourceList sources_;
};

std::vector<std::vector<int>> Explainer::plans_alike() const {
  std::vector<std::vector<int>> out;
  std::vector<const void*> bodies;
  for (const StagePlan& plan : simulation_.plans) {
    const auto found = std::find(bodies.begin(), bodies.end(), plan.bodies.get());
    if (found == bodies.end()) {
      bodies.push_back(plan.bodies.get());
      out.push_back({index_of(plan)});
    } else {
      out[static_cast<std::size_t>(found - bodies.begin())].push_back(index_of(plan));
    }
  }
  return out;
}

// Returns the blocks on these plans, in the order of the model.
std::vector<BlockId> Explainer::blocks_on(const std::vector<int>& plans) const {
  std::set<BlockId> found;
  for (const int plan : plans) {
    for (const ChunkPlan& chunk : simulation_.plans[static_cast<std::size_t>(plan)].chunks) {
      for (const BlockRun& run : chunk.runs) found.insert(run.block);
    }
  }
  return {found.begin(), found.end()};
}

std::string indented(const std::string& text) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += "  " + text.substr(begin, end - begin) + '\n';
    begin = end + 1;
  }
  return out;
}

Section Explainer::scenario_section() {
  Section out = {fmt::format("The scenario {} with every default written out", scenario_.name),
                 {indented(scenario_.resolved), "  model figures " + sources_.cite(job_.model.source) + '\n'}};
  if (!scenario_.defaulted.empty()) {
    out.add(fmt::format("  left to their defaults: {}\n", fmt::join(scenario_.defaulted, ", ")));
  }
  return out;
}

// Adds the tables of a block. Their steps are those of the bodies that were charged, recomputation before backward.
void Explainer::add_block(Section& out, const StagePlan& plan, BlockId id) {
  const PartitionedBlock& block = blocks_of(plan).of(id);
  const BlockBodies& bodies = plan.bodies_of(id);
  const auto add_title = [&](const char* pass, const FoldedBody& folded) {
    out.add(fmt::format("\n  {}, {}: {} on the device, {} of them kernels, {} on the host; clock {:.1f} %\n",
                        block.graph.name, pass, format_seconds(to_seconds(folded.device)),
                        format_seconds(to_seconds(folded.kernels)), format_seconds(to_seconds(folded.host)),
                        100 * clocked(plan, id).running_clock()));
  };
  if (block.part) {
    out.add("\n  both parts of a microbatch, inside of a row of layers, in the order of their beginnings:");
    add_title("forward", bodies.folded_forward);
    add_parts(out, plan, id, bodies.forward_row, {block.part->forward});
    add_title(block.recompute.empty() ? "backward" : "recomputation and backward", bodies.folded_backward);
    add_parts(out, plan, id, bodies.backward_row, {block.part->recompute, block.part->backward});
    return;
  }
  const std::span<const BodyStep> backward(bodies.backward.steps);
  add_title("forward", bodies.folded_forward);
  out.add(step_table(plan, id, block.forward, bodies.forward.steps));
  if (id > blocks_of(plan).head_id()) return;  // of a pass that only goes forward
  add_title(block.recompute.empty() ? "backward" : "recomputation and backward", bodies.folded_backward);
  if (!block.recompute.empty()) {
    out.add(step_table(plan, id, block.recompute, backward.first(block.recompute.size())));
    out.add("    then\n");
  }
  out.add(step_table(plan, id, block.backward, backward.subspan(block.recompute.size())));
}

Table Explainer::step_table(const StagePlan& plan, BlockId id, const std::vector<BlockStep>& steps,
                            std::span<const BodyStep> charged) {
  Table table("kernel or collective | >time | >FLOP | >bytes | by | numbers", 4);
  for (std::size_t i = 0; i < steps.size(); ++i) table.add(step_row(plan, id, steps[i], charged[i]));
  return table;
}

// Adds the table of a body of both parts of a microbatch. `lists`: the steps of one part, list after list.
void Explainer::add_parts(Section& out, const StagePlan& plan, BlockId id, const RowBodies& row,
                          const std::vector<std::span<const BlockStep>>& lists) {
  std::vector<const BlockStep*> steps;
  for (const std::span<const BlockStep> list : lists) {
    for (const BlockStep& step : list) steps.push_back(&step);
  }
  Table table("kernel or collective | >time | >FLOP | >bytes | by | numbers", 4);
  const PairedBody& body = row.placed({true, true}).steps;
  for (std::size_t i = 0; i < body.origins.size(); ++i) {
    std::vector<Cell> cells =
        step_row(plan, id, *steps[static_cast<std::size_t>(body.origins[i].step)], body.body.steps[i]);
    cells.front() = body.body.steps[i].name;
    table.add(std::move(cells));
  }
  out.add(std::move(table));
}

// Returns the row of a step. In addition to the kernel itself, a pass is charged with its waiting for a host that
// issues nothing ahead, and with the time that an overlapped collective takes away.
std::vector<Cell> Explainer::step_row(const StagePlan& plan, BlockId id, const BlockStep& step,
                                      const BodyStep& charged) {
  const PartitionedBlock& whole = blocks_of(plan).of(id);
  const PartitionedBlock& block = whole.part ? *whole.part : whole;
  const double seconds = to_seconds(charged.device);
  if (step.kind == BlockStep::Kind::kernel) {
    const KernelModel kernels = clocked(plan, id);
    const double load = expert_load(job_of(plan));
    std::optional<PartitionedBlock> scaled;
    if (load != 1 && is_where_tokens_are(block.graph.op(step.op))) {
      scaled = block;
      scale_expert_rows(scaled->graph, 1 / load);
    } else if (runs_over_room(job_of(plan), block.graph, block.graph.op(step.op))) {
      scaled = block;
      scale_expert_rows(scaled->graph, expert_room(job_of(plan)));
    }
    const PartitionedBlock& own = scaled ? *scaled : block;
    const KernelCost cost = kernels.price(own, step);
    Explanation why = kernels.explain(own, step);
    const double held = to_seconds(charged.held);
    const double beyond = seconds - held - cost.seconds;
    if (held > 0) {
      why.numbers += ", issued once the host saw the one before end " + format_seconds(held);
      why.evaluation += fmt::format(" + {:.6g}", held);
    }
    if (std::abs(beyond) > kPicosecond) {
      why.numbers += (beyond > 0 ? ", slowed down by a collective at the same time " : ", launched by a CUDA graph ") +
                     format_seconds(beyond);
      why.evaluation += fmt::format(" {} {:.6g}", beyond > 0 ? '+' : '-', std::abs(beyond));
    }
    return {block.graph.op(step.op).name, format_seconds(seconds), cost.flop > 0 ? format_flop(cost.flop) : "",
            format_bytes(cost.bytes),     formulas_.cite(why),     with_evaluation(why.numbers, why.evaluation)};
  }
  Explanation why = explain_collective_step(job_of(plan), block, step, plan.costs);
  const double held = to_seconds(charged.held);
  const double copied = seconds - held - price_collective_step(job_of(plan), block, step, plan.costs).seconds;
  if (copied > kPicosecond) {
    why.numbers += ", then a copy to where the parts belong " + format_seconds(copied);
    why.evaluation += fmt::format(" + {:.6g}", copied);
  }
  return {fmt::format("{} {}", name_of(collective_of(job_of(plan), block, step)), block.graph.tensor(step.tensor).name),
          format_seconds(seconds),
          "",
          format_bytes(charged.bytes),
          formulas_.cite(why),
          with_evaluation(why.numbers, why.evaluation)};
}

void Explainer::add_transfers(StageRows& rows, const StagePlan& from) {
  const int stages = job_.strategy.pipeline;
  const bool around = job_.strategy.virtual_pipeline > 1;
  if (stages == 1 || from.stage + (around ? 0 : 1) >= stages) return;
  const int to = (from.stage + 1) % stages;
  if (!cross_mesh(job_.strategy, from.stage, to).same()) return add_cross_transfers(rows, from, to);
  for (const BlockId stream : streams_leaving(from, simulation_.blocks)) add_plain_transfers(rows, from, to, stream);
}

void Explainer::add_plain_transfers(StageRows& rows, const StagePlan& from, int to, BlockId stream) {
  const TransferCost cost =
      transfer_cost(job_, simulation_.plans, simulation_.blocks, {from.stage, to, from.replica_class, stream});
  const CollectiveModel& model = from.costs.communication;
  const int replica = from.replicas.first();
  const std::array<int, 2> ends = {job_.rank_of(from.stage, replica, 0), job_.rank_of(to, replica, 0)};
  const GroupInside inside = communication_group(job_, ends).inside;
  Explanation why = model.explain_send(cost.bytes, !cost.on_network, inside);
  const double beyond = cost.seconds - model.price_send(cost.bytes, !cost.on_network, inside).seconds;
  if (beyond > 0) {
    why.numbers += fmt::format(", then {} to gather or by the other end", format_seconds(beyond));
    why.evaluation += fmt::format(" + {:.6g}", beyond);
  }
  const char* back = gradients_return(job_, simulation_.blocks, from.stage, stream) ? ", gradients back" : "";
  rows.add(index_of(from), fmt::format("activations to the next{}", back),
           exchange_cells(cost.seconds, cost.bytes, why));
}

// Adds the transfers between stages of different shape, each way: senders, receivers and bytes.
void Explainer::add_cross_transfers(StageRows& rows, const StagePlan& from, int to) {
  const auto add = [&](const char* what, int sending, int receiving) {
    const TransferCost cost = transfer_cost(job_, simulation_.plans, simulation_.blocks,
                                            {sending, receiving, from.replica_class, from.chunks.front().leaving});
    const auto [sends, receives] = std::pair(job_.strategy.shape_of(sending), job_.strategy.shape_of(receiving));
    std::string numbers = fmt::format(
        "each of {} ranks (tensor {}, data {}) sends {} to {} of {} ranks (tensor {}, data {}), each from {}",
        job_.strategy.ranks_of(sending), sends.tensor, sends.data, format_bytes(cost.bytes), cost.receivers,
        job_.strategy.ranks_of(receiving), receives.tensor, receives.data, cost.senders);
    if (cost.gathered_bytes > 0) {
      numbers +=
          fmt::format(", then the {} tensor ranks gather {}", receives.tensor, format_bytes(cost.gathered_bytes));
    }
    rows.add(index_of(from), what, {format_seconds(cost.seconds), format_bytes(cost.sent()), "", numbers});
  };
  add("activations to the next", from.stage, to);
  const bool back = gradients_return(job_, simulation_.blocks, from.stage, from.chunks.front().leaving);
  if (back) add("gradients from the next", to, from.stage);
}

void Explainer::add_reductions(StageRows& rows, const StagePlan& plan) {
  const StageCosts& costs = plan.costs;
  const auto add = [&](const std::string& what, CollectiveKind kind, double bytes, const CommunicationGroup& group) {
    const CommunicationCost cost = costs.communication.price(kind, bytes, group);
    const Explanation why = costs.communication.explain(kind, bytes, group);
    rows.add(index_of(plan), what, exchange_cells(cost.seconds, cost.bytes_sent, why));
  };
  const StageParameters& held = plan.parameters;
  const auto add_replicas = [&](const ReplicaCollective& collective, bool in_parts) {
    const CommunicationGroup& group = group_of(costs, collective.among);
    const CommunicationCost cost = price(collective, costs);
    Explanation why =
        slowest_model(collective, costs).explain(collective.kind, collective.bytes / collective.pieces, alone(group));
    const std::string what = std::string(collective.name) + (in_parts ? " (all parts at once)" : "");
    if (collective.pieces > 1) {
      why.numbers = fmt::format("{} times ", collective.pieces) + why.numbers;
      why.evaluation = fmt::format("{} * ({})", collective.pieces, why.evaluation);
    }
    if (collective.max_bytes_per_s > 0 && cost.bytes_sent > 0) {
      why.numbers += fmt::format(", as {} calls it no faster than {}", job_.framework.name,
                                 format_rate(collective.max_bytes_per_s));
      why.evaluation =
          fmt::format("max({}, {:.6g} / {:.6g})", why.evaluation, cost.bytes_sent, collective.max_bytes_per_s);
    }
    if (const int channels = registered_channels(collective, costs); channels > 0) {
      why.numbers += fmt::format(", on {} multiprocessors by registered buffers", cost.multiprocessors);
    }
    add_host_copies(why, collective, costs.hardware->hardware);
    rows.add(index_of(plan), what, exchange_cells(cost.seconds, cost.bytes_sent, why));
  };
  const DataParallelPlan replicas = data_parallel_plan(job_of(plan));
  const HeldParameters exchanged = job_.strategy.divides_weights() ? divided_weights(plan) : held.held();
  if (replicas.reduce != DataParallelPlan::Reduce::never) {
    for (const ReplicaCollective& collective : gradient_reduction(job_of(plan), exchanged)) {
      add_replicas(collective, replicas.reduce != DataParallelPlan::Reduce::at_end);
    }
  }
  for (const GatheredFrom from : {GatheredFrom::shards, GatheredFrom::second_copy}) {
    const bool none = from == GatheredFrom::second_copy && job_of(plan).strategy.zero_second_group == 0;
    if (none || replicas.gather == DataParallelPlan::Gather::never) continue;
    for (const ReplicaCollective& collective : parameter_gather(job_of(plan), held, exchanged, from)) {
      add_replicas(collective, replicas.gather != DataParallelPlan::Gather::after_step);
    }
  }
  if (job_.strategy.divides_weights()) {
    const bool in_passes = replicas.reduce_of_parts == DataParallelPlan::Reduce::last_backward;
    for (const ReplicaCollective& of : reduction_of_parts(job_, held.held())) add_replicas(of, in_passes);
    for (const ReplicaCollective& of : reduction_of_whole(job_, held.held())) add_replicas(of, false);
    const bool ahead = replicas.gather_of_parts == DataParallelPlan::Gather::first_forward;
    if (job_.strategy.zero > 0) {
      for (const ReplicaCollective& of : gather_of_parts(job_, held.held())) add_replicas(of, ahead);
    }
  }
  if (held.tensor_partial_elements > 0) {
    add("reduce norm gradients", CollectiveKind::all_reduce, held.tensor_partial_elements * gradient_bytes(job_),
        costs.tensor_group);
  }
  for (const auto& [first, last] : tied_stages(placement_of(job_.strategy), words_part(job_.strategy, job_.model))) {
    if (held.tied_elements <= 0 || (plan.stage != first && plan.stage != last)) continue;
    const int replica = plan.replicas.first();
    const std::array<int, 2> ends = {job_.rank_of(first, replica, 0), job_.rank_of(last, replica, 0)};
    add("reduce tied embedding gradients", CollectiveKind::all_reduce, held.tied_elements * gradient_bytes(job_),
        communication_group(job_, ends));
  }
}

// Returns the sum that update_body() computes.
std::string update_evaluation(const StagePlan& plan) {
  std::map<Picoseconds, int> times;  // number of blocks by the time that one block takes
  for (const ChunkPlan& chunk : plan.chunks) {
    for (const BlockRun& run : chunk.runs) {
      if (!run.forward_only) times[plan.bodies_of(run.block).folded_update.device] += run.count;
    }
  }
  times.erase(0);
  std::string out;
  for (const auto& [device, count] : times) {
    out += fmt::format("{}{} * {:.6g}", out.empty() ? "" : " + ", count, to_seconds(device));
  }
  return out;
}

// Adds the charges of step_body(): the kernels and the framework's work in addition to them, or the share on the host
// if that share takes longer.
void Explainer::add_optimizer(StageRows& rows, const StagePlan& plan) const {
  const FoldedBody step = step_body(job_of(plan), plan.parameters, plan.costs);
  const double parameters = shard_of(job_of(plan), plan.parameters.held());
  const KernelCost cost = plan.costs.kernels.price_memory_bound(step.bytes);
  const double offloaded = offloaded_step(job_of(plan), plan.parameters, plan.costs.hardware->hardware).seconds();
  std::string numbers = fmt::format("memory-bound: {} parameters x {:g} bytes", format_count(parameters),
                                    optimizer_traffic_bytes(job_, plan.parameters));
  std::string evaluation = fmt::format("{:.6g} + {:.6g}", cost.overhead_s, cost.memory_s);
  const double beside = to_seconds(step.device) - cost.seconds;
  if (to_seconds(step.device) > std::max(cost.seconds, offloaded) + kPicosecond) {
    const double held = plan.parameters.held().total();
    numbers += fmt::format(", and what {} does in addition for {} parameters {}", job_.framework.name,
                           format_count(held), format_seconds(beside));
    evaluation += held > 0 ? fmt::format(" + {:.6g} * {:.6g}", held, beside / held) : fmt::format(" + {:.6g}", beside);
  }
  if (offloaded > 0) {
    numbers += ", in addition to the share on the host " + format_seconds(offloaded);
    evaluation = fmt::format("max({}, {:.6g})", evaluation, offloaded);
  }
  if (job_.training.optimizer != Optimizer::none) {
    rows.add(index_of(plan), "optimizer step",
             {format_seconds(to_seconds(step.device)), "", "", with_evaluation(numbers, evaluation)});
  }
  const FoldedBody orthogonal = orthogonalization_body(job_of(plan), plan);
  if (orthogonal.device > 0) {
    rows.add(index_of(plan), "orthogonalize matrices",
             {format_seconds(to_seconds(orthogonal.device)), "", "",
              fmt::format("5 Newton-Schulz iterations, {} of products, {} through memory", format_flop(orthogonal.flop),
                          format_bytes(orthogonal.bytes))});
  }
  const LowRankStep low = low_rank_step(plan);
  if (low.seconds > 0) {
    rows.add(index_of(plan), "project gradients",
             {format_seconds(low.seconds), "", "",
              fmt::format("{} of products, {} through memory; a search for the subspaces of {}, once in {} steps",
                          format_flop(low.flop), format_bytes(low.bytes), format_seconds(low.search_s),
                          job_.training.low_rank_gradients.every)});
  }
  const FoldedBody update = update_body(plan);
  if (update.device == 0) return;
  rows.add(index_of(plan), "quantize parameters",
           {format_seconds(to_seconds(update.device)), "", "",
            with_evaluation(format_bytes(update.bytes) + " through memory", update_evaluation(plan))});
}

// Returns the uses of each stage's time as a sum.
Section Explainer::sum_section() const {
  StageRows rows;
  for (std::size_t place = 0; place < simulation_.result.stages.size(); ++place) {
    const ActivitySeconds& seconds = simulation_.result.stages[place].activity_s;
    std::string names;
    std::string sum;
    for (std::size_t i = 0; i < kActivities; ++i) {
      if (seconds[i] <= 0) continue;
      names += (names.empty() ? "" : " + ") + std::string(name_of(static_cast<Activity>(i)));
      sum += fmt::format("{}{:.6g}", sum.empty() ? "" : " + ", seconds[i]);
    }
    rows.add(static_cast<int>(place), "iteration",
             {format_seconds(simulation_.result.iteration_time_s), with_evaluation(names, sum)});
  }
  Table table("| | >time | of what");
  rows.write(simulation_, table);
  return {"The iteration", {table}};
}

Section Explainer::communication_section() {
  StageRows rows;
  for (const StagePlan& plan : simulation_.plans) add_transfers(rows, plan);
  for (const StagePlan& plan : simulation_.plans) add_reductions(rows, plan);
  for (const StagePlan& plan : simulation_.plans) add_optimizer(rows, plan);
  Table table("| | >time | >sent | by | numbers");
  rows.write(simulation_, table);
  return {"Between stages, between replicas, and the optimizer", {table}};
}

// Returns the largest tensors that a block keeps for its backward pass.
std::string largest_kept(const Job& job, const PartitionedBlock& block) {
  constexpr std::size_t shown = 6;
  const DeviceMesh mesh = mesh_of(job.strategy);
  std::vector<std::pair<double, std::string>> tensors;
  for (const TensorId id : block.kept) {
    const double bytes = bytes_at_once(block.graph, id, block.shardings[static_cast<std::size_t>(id)], mesh);
    tensors.emplace_back(-bytes, block.graph.tensor(id).name);
  }
  std::sort(tensors.begin(), tensors.end());
  std::string out = fmt::format("{} tensors that backward reads:", tensors.size());
  for (std::size_t i = 0; i < std::min(shown, tensors.size()); ++i) {
    out += fmt::format("{} {} {}", i > 0 ? "," : "", tensors[i].second, format_bytes(-tensors[i].first));
  }
  return out + (tensors.size() > shown ? ", ..." : "");
}

// Returns the origin of a part of memory. Most parts follow from the graph, the layout and bytes per element. The
// memory of libraries does not: it is measured if the framework's file says on which runs it was chosen.
std::string origin_of(const MemoryPart& part, const Framework& framework) {
  if (part.bytes != &MemoryUse::platform) return "derived";
  const std::span<const HabitNote> notes = framework.notes.all();
  const bool measured = std::any_of(notes.begin(), notes.end(), [](const HabitNote& note) {
    return note.habit == "memory.platform_bytes" && !note.chosen_on.empty();
  });
  return measured ? "measured" : "estimated";
}

void Explainer::add_memory_parts(Table& table) {
  const StageResult& fullest = simulation_.result.stages[simulation_.result.fullest_plan];
  for (const MemoryPart& part : memory_parts()) {
    table.add({fmt::format("{} of the fullest stage", part.name), format_bytes(fullest.memory.peak.*part.bytes),
               origin_of(part, job_.framework)});
  }
}

// True for the first of the stages of one shape, which stands for all of them.
bool Explainer::is_first_of_shape(int stage) const {
  const auto& stages = simulation_.blocks.stages;
  if (stages.empty()) return stage == 0;
  const auto own = stages.begin() + stage;
  return std::find(stages.begin(), own, *own) == own;
}

// Returns the shape of a stage if stages differ: " (tensor 4, data 2)".
std::string Explainer::shape_text(int stage) const {
  if (job_.strategy.stages.empty()) return {};
  const StageShape shape = job_.strategy.shape_of(stage);
  return fmt::format(" (tensor {}, data {})", shape.tensor, shape.data);
}

// Returns the bytes that leave a block of the model, from the least to the most if blocks differ.
std::string streams_text(const ShardedBlocks& blocks) {
  double least = blocks.stream_bytes(ShardedBlocks::kEmbedding);
  double most = least;
  for (BlockId id = blocks.layer_id(0); id < blocks.head_id(); ++id) {
    least = std::min(least, blocks.stream_bytes(id));
    most = std::max(most, blocks.stream_bytes(id));
  }
  return least == most ? format_bytes(most) : format_bytes(least) + " to " + format_bytes(most);
}

void Explainer::add_blocks(Table& table, const Job& job, const ShardedBlocks& blocks, const std::string& where) {
  for (BlockId id = blocks.layer_id(0); id < blocks.head_id(); ++id) {
    const PartitionedBlock& block = blocks.of(id);
    table.add({fmt::format("kept by a {} for a microbatch{}", block.graph.name, where), format_bytes(block.kept_bytes),
               largest_kept(job, block)});
    table.add({fmt::format("recomputed by a {}{}", block.graph.name, where), format_bytes(block.recomputed_bytes), ""});
  }
  table.add({"passed between stages" + where, streams_text(blocks), ""});
}

// Adds how the probability to fit comes about: the errors that it allows for, and what the fullest stage then needs.
void Explainer::add_fit_probability(Table& table) {
  const DeviceMemoryWidths& widths = job_.ranges.memory.device;
  const double probability = simulation_.result.fit_probability;
  if (probability < 0) return;
  constexpr double kUnlucky = 0.9;
  const StageMemory& memory = simulation_.result.stages[simulation_.result.fullest_plan].memory;
  const double platform = memory.peak.platform;
  const double rest = memory.peak.total() - platform;
  const auto add_need = [&](const char* label, double quantile) {
    const MemoryLimit limit = limit_of_probability(widths, quantile);
    table.add({label, format_bytes(platform + limit.spare_bytes + limit.factor * rest),
               fmt::format("platform {} {}, all else x {:.3g}", limit.spare_bytes < 0 ? '-' : '+',
                           format_bytes(std::abs(limit.spare_bytes)), limit.factor)});
  };
  table.add({"probability to fit", format_percent(probability), "ranges.yaml, memory.device"});
  add_need("need of the fullest stage, 1 of 10 processes exceeds it", kUnlucky);
  add_need("need of the fullest stage, 9 of 10 processes exceed it", 1 - kUnlucky);
}

Section Explainer::memory_section() {
  Table table("|>|");
  add_memory_parts(table);
  add_fit_probability(table);
  const Framework& framework = job_.framework;
  const std::string source = sources_.cite(framework.memory.source);
  table.add({"bytes per parameter", fmt::format("{:g}", bytes_per_element(job_.precision())), job_.training.precision});
  table.add({"bytes per gradient", fmt::format("{:g}", gradient_bytes(job_)), source});
  const StageParameters& first = simulation_.plans.front().parameters;
  table.add({"optimizer bytes per parameter", fmt::format("{:.4g}", optimizer_bytes(job_, first)),
             source + (job_.strategy.zero >= 1 ? ", over the data-parallel ranks" : "")});
  table.add({"optimizer traffic per parameter", fmt::format("{:.4g}", optimizer_traffic_bytes(job_, first)), source});
  table.add({"platform", format_bytes(framework.memory.platform_bytes), source});
  for (const StagePlan& plan : simulation_.plans) {
    if (plan.replica_class > 0 || !is_first_of_shape(plan.stage)) continue;
    add_blocks(table, job_of(plan), blocks_of(plan), shape_text(plan.stage));
  }
  for (const NodeGroup& group : job_.cluster.kinds()) {
    const GpuSpec& gpu = group.hardware.gpu;
    table.add({"memory of " + gpu.name, format_bytes(gpu.memory_bytes.value), sources_.cite(gpu.memory_bytes.source)});
    table.add({"power of " + gpu.name + ", computing", fmt::format("{:g} W", gpu.tdp_w.value),
               sources_.cite(gpu.tdp_w.source)});
    table.add({"power of " + gpu.name + ", waiting", fmt::format("{:g} W", gpu.blocked_w.value),
               sources_.cite(gpu.blocked_w.source)});
    if (!group.price) continue;
    table.add({"GPU hour of " + gpu.name, format_price(group.price->usd_per_gpu_hour.value),
               sources_.cite(group.price->usd_per_gpu_hour.source)});
  }
  return {"Memory, power and price", {table}};
}

// Returns the runs that a value was chosen on, the runs that it was judged on, and its error.
std::string fit_text(const HabitNote& note) {
  if (note.chosen_on.empty()) return {};
  std::string out = fmt::format("; chosen on {}", fmt::join(note.chosen_on, ", "));
  if (!note.judged_on.empty()) out += fmt::format("; judged on {}", fmt::join(note.judged_on, ", "));
  if (note.error) out += fmt::format("; error {}", format_percent(*note.error));
  return out;
}

// Returns fused operators: "bias? + gelu, bias? + dropout? + add; into products: bias".
std::string fused_text(const FusionRules& rules) {
  std::vector<std::string> chains;
  for (const FusedChain& chain : rules.chains) chains.push_back(fmt::format("{}", fmt::join(chain.words, " + ")));
  std::string out = chains.empty() ? "nothing" : fmt::format("{}", fmt::join(chains, ", "));
  if (!rules.epilogues.empty()) out += fmt::format("; into products: {}", fmt::join(rules.epilogues, ", "));
  return out;
}

Section Explainer::framework_section() {
  const Framework& f = job_.framework;
  Table table("|");
  const auto habits = [&](const char* title, std::initializer_list<std::pair<const char*, bool>> list) {
    std::string yes;
    std::string no;
    for (const auto& [name, has] : list) {
      std::string& side = has ? yes : no;
      side += (side.empty() ? "" : ", ") + std::string(name);
    }
    table.add({title, (yes.empty() ? "nothing" : yes) + (no.empty() ? "" : "; not: " + no)});
  };
  habits("one kernel", {{"attention (flash)", !f.fusion.attention.empty()},
                        {"rotary embedding", f.fusion.rotary},
                        {"cross entropy", f.fusion.cross_entropy},
                        {"gradient accumulation", f.fusion.gradient_accumulation}});
  table.add({"fuses", fused_text(f.fusion.rules)});
  habits("overlaps", {{"tensor-parallel gradients", f.communication.overlap_tensor_gradients},
                      {"pipeline transfers", f.communication.overlap_pipeline}});
  habits("between stages",
         {{"scatter/gather", f.communication.scatter_gather_pipeline}, {"host waits", f.host.waits_for_pipeline}});
  table.add({"these habits", sources_.cite(f.source)});
  table.add({"host per kernel", fmt::format("{} forward, {} backward, {} per collective {}",
                                            format_seconds(f.host.forward_s), format_seconds(f.host.backward_s),
                                            format_seconds(f.host.collective_s), sources_.cite(f.host.source))});
  table.add({"vocabulary", fmt::format("padded to a multiple of {} x tp", f.kernels.vocabulary_multiple)});
  if (job_.strategy.overlap_grad_reduce) {
    table.add({"gradient buckets", fmt::format("{} parameters", format_count(f.sharding.bucket_parameters))});
  }
  for (const HabitNote& note : f.notes) {
    table.add({note.habit, fmt::format("{} {}{}", note.value, sources_.cite(note.source), fit_text(note))});
  }
  const std::string inherits = f.likes.empty() ? "" : fmt::format(", which is like {}", f.likes.front());
  return {fmt::format("Habits of {}{}", f.name, inherits), {table}};
}

}  // namespace

std::vector<Section> explanation(const Scenario& scenario, const Simulation& simulation) {
  return Explainer(scenario, simulation).sections();
}

}  // namespace mirfak
