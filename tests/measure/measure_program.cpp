#include "measure_program.hpp"

#include <fmt/format.h>

namespace mirfak::test {

std::string tiny_scenario(const std::string& node, int nodes, const std::string& keys) {
  return fmt::format(
      "model: {{source: test, family: gpt, layers: 4, hidden: 64, heads: 4, ffn: 256, vocab: 512, max_sequence: 64,\n"
      "  activation: gelu, normalization: layer_norm, position: learned, linear_bias: true, tied_embeddings: true,\n"
      "  dropout: 0.1}}\n"
      "cluster: {{nodes: [{{type: {}, count: {}, gpus: 2}}]}}\n"
      "training: {{global_batch: 4, sequence_length: 64, precision: fp32, cuda_graphs: full}}\n"
      "strategy: {{{}}}\n",
      node, nodes, keys);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Finished measure(int processes, const std::string& arguments, const ScratchFolder& folder) {
  const std::string environment =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
      "OMPI_MCA_hwloc_base_binding_policy=none";
  return run_shell(fmt::format("{} '{}' -n {} mirfak-measure {}", environment, MIRFAK_MPIRUN, processes, arguments),
                   folder.path());
}

}  // namespace mirfak::test
