// The data of hw_profiles/: all of it loads, every figure has a source, and no figure is out of its order of
// magnitude or contradicts another.
#include "fixtures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace mirfak;

namespace {

void check_within(double value, double low, double high) {
  CHECK(value >= low);
  CHECK(value <= high);
}

}  // namespace

TEST_CASE("the catalog holds the hardware that scenarios name") {
  const auto holds = [](ProfileKind kind, const std::vector<std::string>& wanted) {
    const std::vector<std::string> names = catalog().names(kind);
    CHECK(std::is_sorted(names.begin(), names.end()));
    for (const std::string& name : wanted) {
      CAPTURE(name);
      CHECK(std::binary_search(names.begin(), names.end(), name));
    }
  };
  holds(ProfileKind::gpu, {"v100-16g",
                           "v100-32g",
                           "v100-pcie-32g",
                           "a100-40g",
                           "a100-80g",
                           "a100-pcie-40g",
                           "a100-pcie-80g",
                           "a800-80g",
                           "a40",
                           "l40s",
                           "h100",
                           "h100-pcie",
                           "h100-nvl",
                           "h800",
                           "h20",
                           "h200",
                           "gh200",
                           "b200",
                           "gb200",
                           "b300",
                           "gb300",
                           "t4",
                           "a10g",
                           "l4",
                           "rtx-3090",
                           "rtx-3080",
                           "rtx-4090",
                           "rtx-5090",
                           "rtx-a6000",
                           "rtx-6000-ada",
                           "a10",
                           "l20",
                           "quadro-rtx-8000",
                           "mi350x",
                           "mi455x",
                           "r100"});
  holds(ProfileKind::node, {"dgx-1-v100-16g",
                            "dgx-1-v100-32g",
                            "dgx-2",
                            "dgx-a100-40g",
                            "dgx-a100-80g",
                            "hgx-a800",
                            "hgx-h100",
                            "hgx-h800",
                            "hgx-h20",
                            "hgx-h200",
                            "hgx-b200",
                            "hgx-b300",
                            "gb200-nvl72",
                            "gb300-nvl72",
                            "aws-p3",
                            "aws-p4d",
                            "aws-p5",
                            "gcp-a3-mega",
                            "azure-nd-h100-v5",
                            "oci-bm-gpu-h100",
                            "l40s-pcie-8",
                            "a40-pcie-8",
                            "v100-pcie-8",
                            "rtx-4090-pcie-8",
                            "rtx-5090-pcie-8",
                            "rtx-3080-pcie-8",
                            "rtx-a6000-pcie-8",
                            "rtx-6000-ada-pcie-8",
                            "a10-pcie-4",
                            "l20-pcie-8",
                            "quadro-rtx-8000-8",
                            "hgx-rubin-nvl8",
                            "vr200-nvl72",
                            "helios-mi455x",
                            "gcp-a4-highgpu",
                            "gcp-a4x-highgpu",
                            "gcp-a4x-max",
                            "aws-p6e-gb200",
                            "azure-nd-gb300-v6",
                            "oci-bm-gpu-gb200",
                            "oci-bm-gpu-mi355x"});
  holds(ProfileKind::price, {"aws", "azure", "gcp", "median"});
}

TEST_CASE("a clock that is set lowers what kernels draw, where nothing is measured as on an A100") {
  const ClockPower a100 = catalog().gpu("a100-80g").clock_power;
  CHECK(a100.draw(1) == doctest::Approx(1));
  CHECK(a100.draw(0.5) == doctest::Approx(a100.static_share.value).epsilon(0.1));
  CHECK(catalog().gpu("a100-pcie-80g").clock_power.draw(0.8) == a100.draw(0.8));
  CHECK(catalog().gpu("h100").clock_power.draw(0.8) == a100.draw(0.8));
  CHECK(catalog().gpu("a40").clock_power.draw(0.8) != a100.draw(0.8));
}

TEST_CASE("every GPU loads, with a source for every figure and figures that make sense together") {
  for (const std::string& name : catalog().names(ProfileKind::gpu)) {
    CAPTURE(name);
    const GpuSpec gpu = catalog().gpu(name);
    CHECK(gpu.name == name);
    CHECK_FALSE(gpu.title.empty());
    visit_figures(gpu, [](const std::string& figure_name, const Figure& figure) {
      CAPTURE(figure_name);
      CHECK_FALSE(figure.source.empty());
      const bool may_be_zero = figure_name.ends_with(".preference");
      CHECK((figure.value > 0 || (may_be_zero && figure.value == 0)));
    });
    check_within(gpu.memory_bandwidth.value, 0.2e12, 25e12);
    check_within(gpu.memory_bytes.value, 8e9, 450e9);
    check_within(gpu.peak_flops.at(Precision::fp16).value, 40e12, 6e15);
    check_within(gpu.tdp_w.value, 50, 2300);
    CHECK(gpu.idle_w.value < gpu.blocked_w.value);
    CHECK(gpu.blocked_w.value < gpu.tdp_w.value / 2);
    check_within(gpu.clock_max_hz.value, 1e9, 3.2e9);
    double wider = 0;
    for (const auto& [precision, peak] : gpu.peak_flops) {
      CHECK(peak.value >= wider);
      wider = peak.value;
    }
  }
}

TEST_CASE("every precision of every GPU has a GEMM fit to use, measured or taken over within the architecture") {
  for (const std::string& name : catalog().names(ProfileKind::gpu)) {
    CAPTURE(name);
    const GpuSpec gpu = catalog().gpu(name);
    for (const auto& [precision, peak] : gpu.peak_flops) {
      const GemmFit& fit = gpu.gemm_fit(precision);
      check_within(fit.constants.efficiency, 0.25, 1);
      check_within(fit.constants.overhead_s, 1e-6, 20e-6);
      const bool taken_over = fit.sources.front().starts_with("taken over from ");
      CHECK((fit.quality.measurements == 0) == taken_over);
      if (taken_over) {
        // A few AMD GPUs, and what is announced only, have those of another architecture, and say how far off that is.
        const bool own = fit.sources.front().find("(" + gpu.architecture + ")") != std::string::npos;
        CHECK((own || gpu.like_error->value > 0.1));
      } else {
        CHECK(fit.quality.median_error <= fit.quality.p90_error);
        CHECK(fit.quality.held_out_median_error <= fit.quality.held_out_p90_error);
        check_within(fit.quality.held_out_median_error, 0.005, 0.2);
      }
    }
  }
}

TEST_CASE("a fit taken over scales the power threshold: more watts, more FLOP/s") {
  // The A100 PCIe has the peak of the SXM part at 300 W for 400 W.
  const double sxm = catalog().gpu("a100-80g").gemm.at(Precision::bf16).constants.power_threshold;
  const double pcie = catalog().gpu("a100-pcie-80g").gemm.at(Precision::bf16).constants.power_threshold;
  CHECK(pcie == doctest::Approx(0.75 * sxm));
}

TEST_CASE("scales of blocks slow products down on Hopper, whose tensor cores do not apply them") {
  const double h200 = catalog().gpu("h200").block_scaled_rate.value;
  CHECK(h200 < 1);
  for (const char* name : {"h100", "h200-nvl", "h800"}) CHECK(catalog().gpu(name).block_scaled_rate.value == h200);
  for (const char* name : {"b200", "gb300", "a100-80g"}) CHECK(catalog().gpu(name).block_scaled_rate.value == 1);
}

TEST_CASE("a precision without a fit of its own uses the nearest one") {
  const GpuSpec h100 = catalog().gpu("h100");
  CHECK(&h100.gemm_fit(Precision::fp16) == &h100.gemm.at(Precision::bf16));
  CHECK(&h100.gemm_fit(Precision::tf32) == &h100.gemm.at(Precision::bf16));
  CHECK(&h100.gemm_fit(Precision::fp32) == &h100.gemm.at(Precision::bf16));
  CHECK(&h100.gemm_fit(Precision::fp8) == &h100.gemm.at(Precision::fp8));
  CHECK(&h100.gemm_fit(Precision::fp4) == &h100.gemm.at(Precision::fp8));
  const GpuSpec h200 = catalog().gpu("h200");
  CHECK(&h200.gemm_fit(Precision::fp32) == &h200.gemm.at(Precision::bf16));
}

TEST_CASE("every link loads, with a source for every figure and figures that make sense together") {
  for (const std::string& name : catalog().names(ProfileKind::link)) {
    CAPTURE(name);
    const LinkSpec link = catalog().link(name);
    visit_figures(link, [](const std::string& figure_name, const Figure& figure) {
      CAPTURE(figure_name);
      CHECK_FALSE(figure.source.empty());
      CHECK(figure.value > 0);
    });
    check_within(link.bandwidth.value, 1e8, 2e12);
    check_within(link.latency_s.value, 0.1e-6, 100e-6);
    check_within(link.base_latency_s.value, 1e-6, 20e-6);
    check_within(link.send_latency_s.value, 1e-6, 200e-6);
    if (link.in_switch_reduction) {
      // Worth it on 8 GPUs: S (1 + 1/8) over the links instead of a ring's 2 S 7/8.
      CHECK(link.in_switch_reduction->efficiency.value / 1.125 > link.efficiency.value / 1.75);
      CHECK(link.in_switch_reduction->minimum_ranks > 2);
    }
  }
}

TEST_CASE("the efficiency of a group is that of the largest measured group that is not larger") {
  LinkSpec link;
  link.efficiency.value = 0.8;
  CHECK(link.efficiency_for(2).value == 0.8);
  link.efficiency_of_ranks = {{2, {0.6, ""}}, {4, {0.7, ""}}};
  CHECK(link.efficiency_for(2).value == 0.6);
  CHECK(link.efficiency_for(3).value == 0.6);
  CHECK(link.efficiency_for(4).value == 0.7);
  CHECK(link.efficiency_for(5).value == 0.8);
}

TEST_CASE("every node type loads and names GPUs and links of the catalog") {
  for (const std::string& name : catalog().names(ProfileKind::node)) {
    CAPTURE(name);
    const NodeHardware node = catalog().node(name);
    CHECK(node.spec.name == name);
    CHECK(node.gpu.name == node.spec.gpu);
    CHECK(node.scale_up.name == node.spec.scale_up);
    CHECK(node.host_link.name == node.spec.host_link);
    CHECK(node.network.name == node.spec.network);
    CHECK_FALSE(node.spec.host_memory_bytes.source.empty());
    CHECK_FALSE(node.spec.host_power_w.source.empty());
    check_within(node.spec.gpus, 1, 16);
    check_within(node.spec.host_power_w.value, 100, 7000);
    CHECK(node.spec.scale_up_domain % node.spec.gpus == 0);
    // A GPU's share of the network is never above its own links.
    CHECK(node.network.bandwidth.value * node.spec.ports / node.spec.gpus <= node.scale_up.bandwidth.value);
  }
}

TEST_CASE("every price is of a GPU of the catalog, dated, and spot is cheaper than on-demand") {
  const std::vector<std::string> gpus = catalog().names(ProfileKind::gpu);
  for (const std::string& provider : catalog().names(ProfileKind::price)) {
    for (const PriceSpec& price : catalog().prices(provider)) {
      CAPTURE(provider);
      CAPTURE(price.gpu);
      CHECK(std::binary_search(gpus.begin(), gpus.end(), price.gpu));
      CHECK_FALSE(price.date.empty());
      CHECK_FALSE(price.usd_per_gpu_hour.source.empty());
      check_within(price.usd_per_gpu_hour.value, 0.1, 30);
    }
    for (const std::string& gpu : gpus) {
      const std::optional<PriceSpec> on_demand = catalog().price(provider + "/on-demand", gpu);
      const std::optional<PriceSpec> spot = catalog().price(provider + "/spot", gpu);
      if (on_demand && spot) CHECK(spot->usd_per_gpu_hour.value < on_demand->usd_per_gpu_hour.value);
    }
  }
}

TEST_CASE("a price is asked for by kind, or by provider and kind") {
  CHECK(catalog().price("on-demand", "a100-80g")->provider == "median");
  CHECK(catalog().price("spot", "a100-80g")->usd_per_gpu_hour.value == doctest::Approx(1.604));
  CHECK(catalog().price("aws/on-demand", "h100")->usd_per_gpu_hour.value == doctest::Approx(6.88));
  CHECK(catalog().price("aws/on-demand", "h100")->instance == "p5.48xlarge");
  CHECK_FALSE(catalog().price("azure/spot", "h100").has_value());
}

TEST_CASE("an instance has its own price where the list knows it") {
  const auto price = [](const char* node, const char* choice) {
    const Document document =
        Document::from_text(std::string("nodes: [{type: ") + node + ", count: 1}]\nprice: " + choice, "job.yaml");
    return read_cluster(Node(document), catalog()).groups()[0].price;
  };
  CHECK(price("gcp-a3-mega", "gcp/on-demand")->instance == "a3-megagpu-8g");
  CHECK(price("gcp-a3-mega", "gcp/on-demand")->usd_per_gpu_hour.value == doctest::Approx(11.5268));
  CHECK(price("gcp-a3-high", "gcp/on-demand")->instance == "a3-highgpu-8g");
  CHECK(price("gcp-a3-high", "gcp/on-demand")->usd_per_gpu_hour.value == doctest::Approx(10.9791));
  CHECK(price("hgx-h100", "gcp/on-demand")->instance == "a3-highgpu-1g");  // of any node: the first listed
  CHECK(price("gcp-a3-mega", "aws/on-demand")->instance == "p5.48xlarge");
  CHECK(price("gcp-a3-mega", "spot")->provider == "median");
  CHECK_FALSE(price("aws-p3", "aws/spot").has_value());  // the list knows p3.16xlarge on demand only
  CHECK(price("gcp-a3-mega", "gcp/spot")->origin() == "gcp a3-megagpu-8g spot 2025 to 2026");
}

TEST_CASE("nodes that name an instance are priced as it, by the list of their provider") {
  for (const std::string& name : catalog().names(ProfileKind::node)) {
    const NodeSpec node = catalog().node(name).spec;
    const std::string provider = name.substr(0, name.find('-'));
    const std::vector<std::string> lists = catalog().names(ProfileKind::price);
    if (node.instance.empty() || !std::binary_search(lists.begin(), lists.end(), provider)) continue;
    CAPTURE(name);
    const std::vector<PriceSpec> offers = catalog().prices(provider);
    const bool known = std::any_of(offers.begin(), offers.end(), [&](const PriceSpec& price) {
      return price.instance == node.instance && price.gpu == node.gpu;
    });
    const auto price = catalog().price(provider + "/on-demand", node.gpu, node.instance);
    if (known) CHECK((!price || price->instance == node.instance));
  }
}
