// The short way of a sweep gives the very numbers of simulate(), bit by bit.

#include "fixture.hpp"
#include "scenario/point_reader.hpp"
#include "simulation/evaluator.hpp"
#include "sweep/sweep_table.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace {

std::vector<double> figures_of(const IterationResult& result) {
  std::vector<double> figures;
  append_figures(result, figures);
  for (const StageResult& stage : result.stages) {
    figures.insert(figures.end(), stage.activity_s.begin(), stage.activity_s.end());
    figures.push_back(stage.memory.peak.total());
    figures.push_back(stage.memory.passes_in_flight);
  }
  return figures;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

void check_all_points(const SweepFile& sweep) {
  PointReader reader(sweep, Catalog(data_folders().hardware), data_folders());
  Evaluator evaluator(2);
  for (std::uint64_t point = 0; point < sweep.points(); ++point) {
    const Job& job = reader.read(point);
    CAPTURE(point);
    CHECK(same_bits(figures_of(evaluator.evaluate(job)), figures_of(simulate(job).result)));
  }
}

}  // namespace

TEST_CASE("an evaluator gives what simulate gives, to the bit: one node") {
  check_all_points(sweep_of(
      "scenario:\n"
      "  model: llama3-8b\n"
      "  cluster: {nodes: [{type: hgx-h100, count: 1}]}\n"
      "  training: {global_batch: 64, sequence_length: 4096}\n"
      "  strategy: {sequence_parallel: true}\n"
      "axes:\n"
      "  - grid: {training.global_batch: [16, 64], strategy.tensor: [1, 4], training.tokens: [1e9, 2e9]}\n"
      "  - zip:\n"
      "      strategy.zero: [0, 1, 1, 2, 3]\n"
      "      training.framework: [megatron-core, megatron-core, megatron-lm-2022, pytorch-fsdp, pytorch-fsdp]\n"
      "      strategy.overlap_grad_reduce: [false, true, false, false, false]\n"));
}

TEST_CASE("an evaluator gives what simulate gives, to the bit: pipelines, experts and shared links") {
  check_all_points(
      sweep_of("scenario:\n"
               "  model: llama2-70b\n"
               "  cluster: {nodes: [{type: hgx-h100, count: 4}]}\n"
               "  training: {global_batch: 64, sequence_length: 4096}\n"
               "  strategy: {tensor: 4, sequence_parallel: true, zero: 1, overlap_grad_reduce: true}\n"
               "axes:\n"
               "  - zip: {strategy.pipeline: [4, 4, 2, 1], strategy.virtual_pipeline: [1, 2, 5, 1]}\n"
               "  - grid: {training.global_batch: [32, 64], strategy.recompute: [none, full]}\n"));
  check_all_points(
      sweep_of("scenario:\n"
               "  model: mixtral-8x7b\n"
               "  cluster: {nodes: [{type: hgx-h100, count: 2}]}\n"
               "  training: {global_batch: 64, sequence_length: 4096}\n"
               "  strategy: {tensor: 2, sequence_parallel: true}\n"
               "axes:\n"
               "  - grid: {training.global_batch: [64, 128], strategy.expert: [1, 4], strategy.pipeline: [1, 2]}\n"));
}

TEST_CASE("jobs that differ in their batch alone share their blocks") {
  const SweepFile sweep = sweep_of(
      "scenario:\n"
      "  model: gpt3-1.3b\n"
      "  cluster: {nodes: [{type: dgx-a100-80g, count: 1}]}\n"
      "  training: {global_batch: 64}\n"
      "axes:\n"
      "  - grid: {strategy.tensor: [1, 2], training.global_batch: {from: 8, to: 64, step: 8}}\n");
  PointReader reader(sweep, Catalog(data_folders().hardware), data_folders());
  Evaluator evaluator;
  for (std::uint64_t point = 0; point < sweep.points(); ++point) evaluator.evaluate(reader.read(point));
  CHECK(evaluator.families() == 2);
}

TEST_CASE("a framework of other habits tells jobs apart, by the same name too") {
  Job job = parse_scenario(Document::from_text("model: gpt3-1.3b\n"
                                               "cluster: {nodes: [{type: dgx-a100-80g, count: 1}]}\n"
                                               "training: {global_batch: 64}\n",
                                               "test.yaml"),
                           data_folders())
                .job;
  Evaluator evaluator;
  const double before = evaluator.evaluate(job).iteration_time_s;
  job.framework.host.forward_s *= 100;
  const double after = evaluator.evaluate(job).iteration_time_s;
  CHECK(after > before);
  CHECK(after == simulate(job).result.iteration_time_s);
  CHECK(evaluator.families() == 2);
}
