// A cluster as schedulers and clouds print it ends as nodes or as a refusal with a place, whatever it says.

#include "import/cluster_choice.hpp"
#include "import_sources.hpp"
#include "require.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace mirfak;
  static const ClusterKnowledge knowledge = read_cluster_knowledge(fuzz_sources().catalog.folder());
  const ImportFile file{"input.txt", std::string(bytes, bytes + size)};
  for (const ClusterFormat& format : cluster_formats()) {
    format.recognises(file);
    try {
      ClusterFacts facts;
      format.read(file, facts);
      require(facts.listed().size() <= 100'000);
      if (facts.listed().empty() && !facts.rented && !facts.matrix) continue;
      const ClusterChoice choice = choose_nodes(facts, {}, fuzz_sources().catalog, knowledge);
      require(!choice.reason.empty());
      require(nodes_left_out(facts).size() <= 17);
    } catch (const Error& error) {
      require_refusal(error);
    }
  }
  return 0;
}
