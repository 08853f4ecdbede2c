// Any bytes are either a profile of a GPU, a link, a node or a price list whose figures are possible, or an input error
// that says where.

#include "base/error.hpp"
#include "cluster/catalog.hpp"
#include "cluster/profiles.hpp"
#include "input_file.hpp"
#include "require.hpp"
#include "support/source_root.hpp"

#include <cmath>

namespace {

using namespace mirfak;

const Catalog kCatalog(source_root() + "/hw_profiles");

void require_positive(double value) { require(std::isfinite(value) && value > 0); }

void check_gpu(ProfileFile& file) {
  const GpuSpec gpu = read_gpu_profile(file, [](const Node& name) { return kCatalog.gpu(name); });
  for (const auto& [precision, peak] : gpu.peak_flops) require_positive(peak.value);
  require(!gpu.peak_flops.empty());
  for (const Figure* figure : {&gpu.memory_bytes, &gpu.memory_bandwidth, &gpu.tdp_w, &gpu.clock_peak_hz}) {
    require_positive(figure->value);
  }
  require(gpu.clock_min_hz.value <= gpu.clock_max_hz.value);
}

void check_link(ProfileFile& file) {
  const LinkSpec link = read_link_profile(file);
  require(!link.joins.empty());
  require_positive(link.bandwidth.value);
}

void check_node(ProfileFile& file) { require(read_node_profile(file).spec.gpus > 0); }

void check_prices(ProfileFile& file) {
  for (const PriceSpec& price : read_price_profile(file)) require(!price.gpu.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const InputFile input(".yaml");
  const std::filesystem::path& path = input.of(bytes, size);
  for (const auto& check : {check_gpu, check_link, check_node, check_prices}) {
    try {
      ProfileFile file(path);
      check(file);
    } catch (const Error& error) {
      require_refusal(error);
    }
  }
  return 0;
}
