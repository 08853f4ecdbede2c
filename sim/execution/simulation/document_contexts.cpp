#include "simulation/document_contexts.hpp"

#include "base/cancellation.hpp"
#include "base/error.hpp"
#include "simulation/evaluator.hpp"
#include "strategy/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace mirfak {

namespace {

constexpr int kSettled = 4;             // microbatches after which passes repeat themselves
constexpr double kMaxPlacements = 1e9;  // documents x ranks; scheduling as many takes some seconds

// Sums of one iteration of documents of one length, as far as they grow with their number.
struct Sums {
  double seconds = 0;
  ActivitySeconds activity_s{};
  double energy_j = 0;
  double events = 0;
  IterationWork work;

  void add(const Sums& other, double times) {
    seconds += times * other.seconds;
    for (std::size_t i = 0; i < kActivities; ++i) activity_s[i] += times * other.activity_s[i];
    energy_j += times * other.energy_j;
    events += times * other.events;
    work.model_flop += times * other.work.model_flop;
    work.visible_flop += times * other.work.visible_flop;
    work.hardware_flop += times * other.work.hardware_flop;
    work.executed_flop += times * other.work.executed_flop;
  }
};

Sums sums_of(const IterationResult& result) {
  Sums out;
  out.seconds = result.iteration_time_s;
  out.activity_s = result.stages.front().activity_s;
  out.energy_j = result.energy_j;
  out.events = static_cast<double>(result.events);
  out.work = {0, result.model_flop, result.visible_flop, result.hardware_flop, result.executed_flop};
  return out;
}

// Documents of one length in all: what one row of them, which fills all ranks, adds to an iteration, and what comes
// once.
struct ShapeSums {
  std::int64_t documents = 0;
  Sums row;
  Sums once;
  double memory_peak_bytes = 0;
};
using Shapes = std::map<DocumentShape, ShapeSums, std::greater<>>;

void check_rules(const Job& job, const DocumentShape& shape) {
  const auto broken = first_violation({job.model, job.training, job.framework, job.strategy, job.cluster.gpus()});
  if (!broken) return;
  fail_infeasible({},
                  fmt::format("strategy.context_tokens: documents of {} tokens on {} ranks: {}", shape.tokens,
                              shape.ranks, broken->message),
                  "change strategy.context_tokens, or training.document_lengths");
}

Shapes shapes_of(const std::vector<DocumentRound>& rounds) {
  Shapes out;
  for (const DocumentRound& round : rounds) {
    for (const DocumentTeam& team : round) {
      for (const std::int64_t tokens : team.tokens) ++out[{tokens, team.ranks}].documents;
    }
  }
  return out;
}

// Documents that a rank runs, for each rank.
std::vector<int> documents_of_ranks(const std::vector<DocumentRound>& rounds, int ranks) {
  std::vector<int> out(static_cast<std::size_t>(ranks));
  for (const DocumentRound& round : rounds) {
    std::size_t rank = 0;
    for (const DocumentTeam& team : round) {
      for (int i = 0; i < team.ranks; ++i) out[rank++] += static_cast<int>(team.tokens.size());
    }
  }
  return out;
}

void price(const Job& job, int microbatches, Shapes& shapes) {
  for (auto& [shape, sums] : shapes) {
    check_cancelled();
    check_rules(job_of_documents(job, shape, 1), shape);
    Evaluator evaluator(1);
    const auto run = [&, &shape = shape](int count) { return evaluator.evaluate(job_of_documents(job, shape, count)); };
    sums.once = sums_of(run(1));
    const IterationResult& settled = run(kSettled);
    const double settled_bytes = settled.memory_peak_bytes;
    sums.row = sums_of(settled);
    sums.row.add(sums_of(run(kSettled - 1)), -1);
    sums.once.add(sums.row, -1);
    sums.memory_peak_bytes = microbatches < kSettled ? run(microbatches).memory_peak_bytes : settled_bytes;
  }
}

double seconds_of(const DocumentTeam& team, const Shapes& shapes) {
  double out = 0;
  for (const std::int64_t tokens : team.tokens) out += shapes.at({tokens, team.ranks}).row.seconds;
  return out;
}

const DocumentTeam& busiest(const DocumentRound& round, const Shapes& shapes) {
  return *std::max_element(round.begin(), round.end(), [&](const DocumentTeam& a, const DocumentTeam& b) {
    return seconds_of(a, shapes) < seconds_of(b, shapes);
  });
}

// Returns the documents with which the last round ends: what comes once follows them.
const ShapeSums& last_documents(const std::vector<DocumentRound>& rounds, const Shapes& shapes) {
  const DocumentTeam& last = busiest(rounds.back(), shapes);
  return shapes.at({last.tokens.back(), last.ranks});
}

DocumentContexts contexts_of(const Job& job, const std::vector<DocumentRound>& rounds, const Shapes& shapes) {
  DocumentContexts out{job, documents_of_batch(job.training), {}, rounds.size()};
  const double ranks = job.strategy.replicas();
  for (const auto& [shape, of] : shapes) {
    out.shapes.push_back({shape, of.documents, of.row.seconds, of.row.activity_s, of.memory_peak_bytes});
    out.mean_s += of.row.seconds * static_cast<double>(of.documents) * shape.ranks / ranks;
    out.tokens += of.documents * shape.tokens;
  }
  for (const DocumentRound& round : rounds) out.busiest_s += seconds_of(busiest(round, shapes), shapes);
  out.fixed_s = last_documents(rounds, shapes).once.seconds;
  return out;
}

// Joins the documents of all lengths to one iteration; `simulation` has the documents that need most memory.
void join(const std::vector<DocumentRound>& rounds, const Shapes& shapes, const DocumentContexts& contexts,
          Simulation& simulation) {
  const double ranks = contexts.job.strategy.replicas();
  Sums all = last_documents(rounds, shapes).once;
  all.work = {};
  for (const auto& [shape, of] : shapes) all.add(of.row, static_cast<double>(of.documents) * shape.ranks / ranks);
  all.work.tokens = static_cast<double>(contexts.tokens);
  const double waited_s = contexts.busiest_s - contexts.mean_s;
  const StagePlan& plan = simulation.plans.front();
  all.activity_s[static_cast<std::size_t>(Activity::bubble)] += waited_s;
  all.energy_j += waited_s * plan.costs.hardware->hardware.gpu.blocked_w.value * plan.gpus();
  simulation.result = result_of_parts(
      simulation, {contexts.fixed_s + contexts.busiest_s, {all.activity_s}, all.energy_j, {all.energy_j}, all.work});
  simulation.result.events = static_cast<std::uint64_t>(all.events);
}

}  // namespace

Simulation simulate_documents(const Job& job, const LoweringOptions& options, Executor executor) {
  const int ranks = job.strategy.replicas();
  const std::vector<BatchDocuments> batch = documents_of_batch(job.training);
  double documents = 0;
  for (const BatchDocuments& of : batch) documents += static_cast<double>(of.count);
  if (documents * ranks > kMaxPlacements) {
    fail_infeasible(
        {},
        fmt::format("strategy.context_tokens: {:.2g} documents on {} ranks are too many to schedule", documents, ranks),
        "lower training.global_batch");
  }
  const std::vector<DocumentRound> rounds = schedule_documents(batch, job.strategy.context_tokens, ranks);
  Shapes shapes = shapes_of(rounds);
  const std::vector<int> counts = documents_of_ranks(rounds, ranks);
  const int most = *std::max_element(counts.begin(), counts.end());
  const bool even = most == *std::min_element(counts.begin(), counts.end()) && shapes.size() == 1;
  const DocumentShape& longest = shapes.begin()->first;
  price(job, most, shapes);
  const auto fullest = std::max_element(shapes.begin(), shapes.end(), [](const auto& a, const auto& b) {
    return a.second.memory_peak_bytes < b.second.memory_peak_bytes;
  });
  DocumentContexts contexts = contexts_of(job, rounds, shapes);
  contexts.alike = even && job_of_documents(job, longest, 1).training.sequence_length == longest.tokens;
  const int shown = contexts.alike ? most : std::min(kSettled, most);
  Simulation out = simulate(job_of_documents(job, fullest->first, shown), options, executor);
  if (!contexts.alike) join(rounds, shapes, contexts, out);
  out.contexts = std::make_shared<const DocumentContexts>(std::move(contexts));
  return out;
}

}  // namespace mirfak
