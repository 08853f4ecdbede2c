// A user's own MLP in Llama, by a path in the scenario: one file, no model file, nothing else.

#include "scenario/scenario.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <fstream>

using namespace mirfak;

namespace {

const std::filesystem::path kTop = source_root();

Scenario with_mlp(const std::string& mlp) {
  const ScratchFolder folder;
  std::ofstream(folder / "my_mlp.yaml") << mlp;
  std::ofstream(folder / "scenario.yaml")
      << "model:\n"
         "  name: llama2-7b-own\n"
         "  max_sequence: 4096\n"
         "  sizes: {hidden: 4096, heads: 32, ffn: 11008, vocab: 32000}\n"
         "  blocks: [embedding, {use: llama, count: 32, mlp: ./my_mlp.yaml}, head]\n"
         "cluster: {nodes: [{type: hgx-h100, count: 1}]}\n"
         "training: {global_batch: 64}\n"
         "strategy: {tensor: 2, sequence_parallel: true}\n";
  return load_scenario(folder / "scenario.yaml", {}, {kTop / "models", kTop / "hw_profiles"});
}

}  // namespace

// Two matrices where Llama has three: 32 * 4096 * 11008 fewer than 6,738,415,616 (arXiv 2307.09288: 6.7B).
TEST_CASE("a plain MLP with ReLU") {
  const Scenario scenario = with_mlp(
      "description: two products and ReLU\n"
      "text: |\n"
      "  block relu_mlp(hidden, ffn):\n"
      "    axes   b=batch s=sequence h=hidden f=ffn\n"
      "    input  x[b s h]\n"
      "    param  w1[h f] linear @fc1  w2[f h] linear @fc2\n"
      "    out[b s h] = relu((x[b s h] w1[h f])[b s f]) w2[f h]\n");
  CHECK(count_parameters(scenario.job.model).total == 6738415616.0 - 32.0 * 4096 * 11008);
  CHECK(scenario.job.model.name == "llama2-7b-own");
}

// 8 experts of which a token visits 2; what it meets is what it visits.
TEST_CASE("a sparse MLP") {
  const Scenario scenario = with_mlp(
      "description: a mixture of gated experts\n"
      "text: |\n"
      "  block sparse_mlp(hidden, ffn, experts=8, per_token=2, expert_ffn=ffn):\n"
      "    axes   b=batch s=sequence h=hidden c=experts @none e=experts f=expert_ffn\n"
      "    input  x[b s h]\n"
      "    param  wr[h c]  w1[e h f] linear  w3[e h f] linear  w2[e f h] linear\n"
      "    z[b s c] fp32 = x[b s h] wr[h c]\n"
      "    p[b s c] fp32 = route(z; c, k=per_token)\n"
      "    (r[e b s h], w[e b s] fp32) = dispatch(x, p; c -> e, k=per_token)\n"
      "    u[e b s f]    = silu(r[e b s h] w1[e h f]) * (r[e b s h] w3[e h f]) * w\n"
      "    y[e b s h]    = u[e b s f] w2[e f h]\n"
      "    out[b s h]    = combine(y; e)\n");
  const double mlp = 3.0 * 4096 * 11008;
  const ParameterCount count = count_parameters(scenario.job.model);
  CHECK(count.total == 6738415616.0 + 32 * (7 * mlp + 8 * 4096));
  CHECK(count.active == 6738415616.0 + 32 * (mlp + 8 * 4096));
  CHECK(scenario.job.model.mixture.experts == 8);
  CHECK(scenario.job.model.mixture.per_token == 2);
}
