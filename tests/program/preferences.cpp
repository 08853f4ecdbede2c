// Tuning by preferences: answers are sequences of one microbatch, and passes without gradients cost a forward pass
// each, a frozen copy its weights, and nothing else.

#include "engine/execute.hpp"
#include "job_fixture.hpp"
#include "program/pass_parts.hpp"
#include "simulation/evaluator.hpp"
#include "simulation/iteration.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace preferences_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr int kLayers = 4;
constexpr int kRanks = 8;
constexpr int kMicrobatches = 2;

// Two microbatches of so many samples on each of eight GPUs.
Job job_of(const Preferences& preferences, const char* framework = "pytorch-fsdp", int zero = 3, int samples = 2) {
  Strategy s = sized(1, kRanks, 1);
  s.zero = zero;
  s.micro_batch = samples;
  Job job = small_job(kLayers, 1, s, std::int64_t{kRanks} * kMicrobatches * samples);
  job.framework = test::framework_named(framework);
  job.training.preferences = preferences;
  return job;
}

Job adapted(Job job) {
  job.training.adapters = {16, 0, true, true, true, true};
  return job;
}

const MemoryUse& peak(const IterationResult& result) { return result.stages.front().memory.peak; }

// Time that the device takes for the blocks of passes without gradients, and for the trained model's forward pass.
struct ForwardTimes {
  Picoseconds alone = 0;
  Picoseconds trained = 0;
  double flop_alone = 0;
  double flop_trained = 0;
};
ForwardTimes forward_times(const Simulation& simulation) {
  const StagePlan& plan = simulation.plans.front();
  const ChunkPlan& chunk = plan.chunks.front();
  const int own = chunk.own_blocks();
  const FoldedBody alone = plan.folded_part(chunk, Pass::Kind::forward, own, chunk.blocks());
  const FoldedBody trained = plan.folded_part(chunk, Pass::Kind::forward, 0, own);
  return {alone.device, trained.device, alone.flop, trained.flop};
}

double parameters_of(const Simulation& simulation) { return simulation.plans.front().parameters.elements; }

// Elements that the parts of a pass gather.
double gathered(const Simulation& simulation, Pass::Kind kind) {
  const std::vector<PassPart> parts = split_pass(simulation.job, simulation.plans.front().chunks.front(), kind);
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double sum, const PassPart& part) { return sum + part.gathers.total(); });
}

}  // namespace

TEST_CASE("two answers without a reference are a microbatch of twice as many sequences, to the bit") {
  for (const char* framework : {"pytorch-fsdp", "huggingface-liger", "torchtune"}) {
    CAPTURE(framework);
    const int zero = std::string(framework) == "huggingface-liger" ? 0 : 3;
    const IterationResult pairs = simulate(job_of({2}, framework, zero, 2)).result;
    const IterationResult plain = simulate(job_of({}, framework, zero, 4)).result;
    CHECK(pairs.iteration_time_s == plain.iteration_time_s);
    CHECK(pairs.energy_j == plain.energy_j);
    CHECK(pairs.tokens_per_s == plain.tokens_per_s);
    CHECK(pairs.model_flop == plain.model_flop);
    CHECK(pairs.hardware_flop == plain.hardware_flop);
    CHECK(peak(pairs) == peak(plain));
  }
}

TEST_CASE("what was computed before costs an iteration nothing, and is noted") {
  const IterationResult none = simulate(job_of({2})).result;
  const Job job = job_of({2, Reference::computed_before});
  const IterationResult before = simulate(job).result;
  CHECK(before.iteration_time_s == none.iteration_time_s);
  CHECK(peak(before) == peak(none));
}

TEST_CASE("a frozen reference: one more forward pass of each microbatch, and its weights") {
  Job plain = free_communication(job_of({2}, "megatron-core", 1));
  Job compared = free_communication(job_of({2, Reference::model}, "megatron-core", 1));
  for (Job* job : {&plain, &compared}) job->framework.host = {};
  const Simulation none = simulate(plain);
  const Simulation model = simulate(compared);
  const ForwardTimes times = forward_times(model);
  CHECK(times.alone == times.trained);
  CHECK(forward_times(none).alone == 0);
  CHECK(model.result.iteration_time_s - none.result.iteration_time_s ==
        doctest::Approx(to_seconds(kMicrobatches * times.alone)));
  CHECK(times.flop_alone == times.flop_trained);
  CHECK(model.result.hardware_flop - none.result.hardware_flop ==
        doctest::Approx(kMicrobatches * kRanks * times.flop_alone));
  CHECK(model.result.model_flop == none.result.model_flop);
  CHECK(model.result.tokens_per_s < none.result.tokens_per_s);
  CHECK(peak(model.result).parameters == 2 * peak(none.result).parameters);
  CHECK(peak(model.result).gradients == peak(none.result).gradients);
  CHECK(peak(model.result).optimizer == peak(none.result).optimizer);
  CHECK(peak(model.result).activations == peak(none.result).activations);
  CHECK(peak(model.result).workspace >= peak(none.result).workspace);
}

TEST_CASE("its weights are sharded where the model's are, and gathered in each forward pass, never backward") {
  const Simulation none = simulate(job_of({2}));
  const Simulation model = simulate(job_of({2, Reference::model}));
  const double all = parameters_of(none);
  CHECK(parameters_of(model) == all);
  CHECK(model.plans.front().parameters.frozen_elements == all);
  CHECK(peak(model.result).parameters - peak(none.result).parameters == doctest::Approx(2 * all / kRanks));
  CHECK(gathered(model, Pass::Kind::forward) == 2 * gathered(none, Pass::Kind::forward));
  CHECK(gathered(model, Pass::Kind::backward) == gathered(none, Pass::Kind::backward));
  CHECK(model.result.iteration_time_s > none.result.iteration_time_s);
}

TEST_CASE("a word embedding that is also the output projection is one in the copy, too") {
  for (const bool tied : {false, true}) {
    Job job = job_of({2, Reference::model}, "megatron-core", 1);
    job.model.tied_embeddings = tied;
    const StageParameters& held = simulate(job).plans.front().parameters;
    CHECK(held.frozen_elements == held.elements);
    CHECK(held.bytes == 2 * 2 * held.elements);
  }
}

TEST_CASE("a model without its adapters is a reference that has no memory of its own") {
  const Simulation none = simulate(adapted(job_of({2}, "huggingface", 0)));
  const Simulation off = simulate(adapted(job_of({2, Reference::adapters_off}, "huggingface", 0)));
  const Simulation copy = simulate(adapted(job_of({2, Reference::model}, "huggingface", 0)));
  CHECK(off.result.iteration_time_s > none.result.iteration_time_s);
  CHECK(off.result.iteration_time_s == copy.result.iteration_time_s);
  CHECK(peak(off.result).parameters == peak(none.result).parameters);
  CHECK(peak(copy.result).parameters - peak(off.result).parameters ==
        2 * none.plans.front().parameters.frozen_elements);
  const ForwardTimes times = forward_times(off);
  CHECK(times.alone < times.trained);  // the adapters' products
}

TEST_CASE("parameters of an outermost unit are whole already when the model is read without its adapters") {
  const Simulation none = simulate(adapted(job_of({2})));
  const Simulation off = simulate(adapted(job_of({2, Reference::adapters_off})));
  const double layers = gathered(off, Pass::Kind::forward) - gathered(none, Pass::Kind::forward);
  const ChunkPlan& chunk = off.plans.front().chunks.front();
  double of_layers = 0;
  for (int i = chunk.own_blocks(); i < chunk.blocks(); ++i) of_layers += chunk.is_layer(i) ? chunk.frozen_of(i) : 0;
  CHECK(layers == of_layers);
}

TEST_CASE("mismatched answers: model and reference read as many sequences again") {
  const auto alone = [](const Preferences& preferences) {
    Job job = free_communication(job_of(preferences, "megatron-core", 1));
    job.framework.host = {};
    const Simulation simulation = simulate(job);
    return std::pair(forward_times(simulation), peak(simulation.result).parameters);
  };
  const auto [times, weights] = alone({1, Reference::none, true});
  CHECK(times.alone == times.trained);
  const auto [compared, with_copy] = alone({1, Reference::model, true});
  CHECK(compared.alone == 3 * compared.trained);
  CHECK(with_copy == 2 * weights);
  const auto [before, as_before] = alone({1, Reference::computed_before, true});
  CHECK(before.alone == before.trained);
  CHECK(as_before == weights);
}

TEST_CASE("every way to execute an iteration agrees, with passes without gradients, too") {
  for (const Preferences& preferences : {Preferences{2, Reference::model}, Preferences{1, Reference::model, true}}) {
    for (const int zero : {0, 3}) {
      const Lowered lowered(job_of(preferences, zero == 0 ? "huggingface" : "pytorch-fsdp", zero));
      const Simulation simulation = simulate(lowered.job);
      for (const bool unfolded : {false, true}) {
        for (const bool operators : {false, true}) {
          LoweringOptions options;
          options.unfolded = unfolded;
          options.operators = operators;
          CHECK(to_seconds(execute(lowered.program(options)).makespan) == simulation.result.iteration_time_s);
        }
      }
      CHECK(Evaluator().evaluate(lowered.job).iteration_time_s == simulation.result.iteration_time_s);
    }
  }
}

}  // namespace preferences_test
