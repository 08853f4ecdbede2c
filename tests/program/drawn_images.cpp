// Numbers of images that samples draw for every sequence.

#include "job_fixture.hpp"
#include "model/model_loader.hpp"
#include "simulation/spread.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace drawn_images_test {

namespace {

Job job(std::vector<ImageCount> counts) {
  Job out = small_job(8, 1, sized(1, 8, 1), 32);
  out.model = load_model("qwen3-vl-4b", std::filesystem::path(source_root()) / "models", {});
  out.training.sequence_length = 4096;
  double sequences = 0;
  out.training.images.mean = 0;
  for (const ImageCount& of : counts) {
    sequences += of.count;
    out.training.images.mean += of.count * static_cast<double>(of.images);
  }
  out.training.images.mean /= sequences;
  out.training.images.counts = std::move(counts);
  return out;
}

Spread samples(const Job& of) { return sample_iterations(of, {40, 3, true, 0}); }

}  // namespace

TEST_CASE("drawn images: without variance every sample is the iteration") {
  const Spread spread = samples(job({{2, 1}, {3, 1e-12}}));
  for (const SampledIteration& of : spread.samples)
    CHECK(of.time_s == doctest::Approx(spread.without_s).epsilon(1e-11));
}

TEST_CASE("drawn images: replicas wait for the one with most, longer where numbers differ more") {
  const Spread some = samples(job({{1, 1}, {3, 1}}));
  const Spread more = samples(job({{0, 3}, {8, 1}}));
  CHECK(some.without_s == doctest::Approx(more.without_s).epsilon(1e-12));
  CHECK(some.time.value > some.without_s);
  CHECK(more.time.value > some.time.value);
  CHECK(more.deviation_s > some.deviation_s);
  CHECK(some.binds[static_cast<std::size_t>(Cause::images)] >= 38);
  CHECK(some.binds[static_cast<std::size_t>(Cause::tokens)] == 0);
}

TEST_CASE("drawn images: where all sequences of a sample have as many, the sample is the iteration with that many") {
  // One replica and one microbatch: a sample has 1 image or 3, and its time is that of 1 or 3.
  Job of = job({{1, 1}, {3, 1}});
  Job one = of;
  one.training.images = {1, {}};
  Job three = of;
  three.training.images = {3, {}};
  for (Job* each : {&of, &one, &three}) {
    each->strategy.data = 1;
    each->training.global_batch = 1;
    each->cluster = cluster_of("dgx-a100-80g", 1);
  }
  const double low = simulate(one).result.iteration_time_s;
  const double high = simulate(three).result.iteration_time_s;
  for (const SampledIteration& sample : samples(of).samples) {
    const bool few = sample.time_s < (low + high) / 2;
    CHECK(sample.time_s == doctest::Approx(few ? low : high).epsilon(0.01));
  }
}

}  // namespace drawn_images_test
