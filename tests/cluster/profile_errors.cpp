// Messages to a user who misspells a name, or writes a profile of their own.
#include "cluster/cluster.hpp"
#include "cluster/memory_draw.hpp"
#include "fixtures.hpp"
#include "tests/base/failure.hpp"

#include <fmt/format.h>

#include <cmath>

using namespace mirfak;

namespace {

// The error of loading a GPU profile in which `old_text` has become `new_text`.
std::string failure_of_gpu(const std::string& old_text, const std::string& new_text) {
  const ScratchCatalog scratch;
  scratch.replace("gpus/h100.yaml", old_text, new_text);
  return failure_of([&] { scratch.catalog().gpu("h100"); });
}

std::string failure_of_section(const std::string& text) {
  const Document document = Document::from_text(text, "job.yaml");
  return failure_of([&] { read_cluster(Node(document), catalog()); });
}

}  // namespace

TEST_CASE("an unknown name is answered with the nearest one") {
  CHECK(
      contains(failure_of([] { catalog().gpu("a100-80gb"); }), "unknown GPU 'a100-80gb'\n  did you mean 'a100-80g'?"));
  CHECK(contains(failure_of([] { catalog().link("nvlink33"); }), "unknown link 'nvlink33'\n  did you mean 'nvlink3'?"));
  CHECK(contains(failure_of([] { catalog().node("dgx-h100"); }), "did you mean 'hgx-h100'?"));
  CHECK(contains(failure_of([] { catalog().prices("awz"); }), "did you mean 'aws'?"));
  CHECK(contains(failure_of([] { catalog().gpu("DGX spark whatever"); }), "expected one of "));
}

TEST_CASE("accelerators that are not simulated are refused with the reason") {
  for (const char* name : {"tpu-v7", "TPU-v5p", "ct5p-hightpu-4t"}) {
    CHECK(contains(failure_of([&] { catalog().node(name); }), "TPUs are not simulated"));
  }
  CHECK(contains(failure_of([] { catalog().node("trn2.48xlarge"); }), "Trainium is not simulated"));
  CHECK(contains(failure_of([] { catalog().gpu("trainium3"); }), "Trainium is not simulated"));
  const std::string failure = failure_of_section("nodes:\n  - {type: tpu-v7, count: 2}\n");
  CHECK(contains(failure, "job.yaml:2:12: nodes[0].type: TPUs are not simulated"));
}

TEST_CASE("a name in other letters is the same name, on every file system") {
  CHECK(catalog().gpu("A100-80G").name == catalog().gpu("a100-80g").name);
  CHECK(contains(failure_of([] { catalog().gpu("A100-80GB"); }), "did you mean 'a100-80g'?"));
}

TEST_CASE("an unknown name in a scenario is shown where it stands") {
  const std::string failure = failure_of_section("nodes:\n  - {type: dgx-a100-80, count: 2}\n");
  CHECK(contains(failure, "job.yaml:2:12: nodes[0].type: unknown node type 'dgx-a100-80'"));
  CHECK(contains(failure, "    2 |   - {type: dgx-a100-80, count: 2}"));
  CHECK(contains(failure, "did you mean 'dgx-a100-80g'?"));
}

TEST_CASE("a folder without profiles is refused") {
  CHECK(contains(failure_of([] { Catalog("/nonexistent"); }), "/nonexistent: expected a folder of hardware data"));
}

TEST_CASE("a price that nobody knows is refused") {
  CHECK(
      contains(failure_of([] { catalog().price("sport", "h100"); }), "unknown price 'sport'\n  did you mean 'spot'?"));
  CHECK(contains(failure_of([] { catalog().price("amazon/spot", "h100"); }), "unknown price list 'amazon'"));
}

TEST_CASE("faults of a profile are reported at their place in its file") {
  const std::string unknown_key = failure_of_gpu("tdp_w:", "tpd_w:");
  CHECK(contains(unknown_key, "the key 'tdp_w' is missing"));
  CHECK(contains(unknown_key, "is 'tpd_w' meant to be 'tdp_w'?"));

  const std::string extra_key = failure_of_gpu("title:", "color: green\ntitle:");
  CHECK(contains(extra_key, "gpus/h100.yaml:1:1: color: unknown key"));

  CHECK(contains(failure_of_gpu("tdp_w: [700,", "tdp_w: [plenty,"), "expected a number, found 'plenty'"));
  CHECK(contains(failure_of_gpu("tdp_w: [700,", "tdp_w: [-700,"), "expected a number from 10 to 10000, found '-700'"));
  CHECK(contains(failure_of_gpu("tdp_w: [700,", "tdp_w: [60,"), "blocked_w and tdp_w: 147 is above 60"));
  CHECK(contains(failure_of_gpu("fp8: [1.9789e15,", "fp8: [1.9789e14,"), "slower than a wider precision"));
  const auto with_formats = [](const std::string& names) {
    return failure_of_gpu("memory_bytes:", "scaled_formats: {names: [" + names + "], source: ours}\nmemory_bytes:");
  };
  CHECK(contains(with_formats("nvfp4"), "`peak_flops` has no fp4, in which products of nvfp4 run"));
  CHECK(contains(with_formats("mxfp8, fp8-block"), "expected mxfp8, mxfp4 or nvfp4, found 'fp8-block'"));
}

TEST_CASE("a figure needs its source, and a source its figure") {
  CHECK(contains(failure_of_gpu("tdp_w: [700, accelerators]", "tdp_w: 700"), "expected a figure [value, source]"));
  const std::string unknown = failure_of_gpu("tdp_w: [700, accelerators]", "tdp_w: [700, acelerators]");
  CHECK(contains(unknown, "'acelerators' is not among the sources of this file"));
  CHECK(contains(unknown, "did you mean 'accelerators'?"));
  CHECK(contains(failure_of_gpu("sources:\n", "sources:\n  vendor: \"a leaflet\"\n"),
                 "sources.vendor: no figure of this file has this source"));
  CHECK(contains(failure_of_gpu("sources:\n", "sources:\n  vendor: \"\"\n"), "a source must say"));
}

TEST_CASE("fits are taken over from a GPU that has measured ones, and from no circle") {
  const ScratchCatalog scratch;
  scratch.replace("gpus/h800.yaml", "gemm_like: h100", "gemm_like: h20");
  CHECK(contains(failure_of([&] { scratch.catalog().gpu("h800"); }), "h20 has no measured table of its own"));
  scratch.replace("gpus/h20.yaml", "gemm_like: h100", "gemm_like: h20");
  CHECK(contains(failure_of([&] { scratch.catalog().gpu("h20"); }), "h20 has no measured table of its own"));
}

TEST_CASE("products of a GPU without a table: times a share that was measured, never above the peak; refused alone") {
  const ScratchCatalog scratch;
  const GemmConstants h100 = scratch.catalog().gpu("h100").gemm.at(Precision::bf16).constants;
  const auto efficiency = [&] { return scratch.catalog().gpu("h20").gemm.at(Precision::bf16); };
  scratch.replace("gpus/h20.yaml", "gemm_like: h100", "gemm_like: h100\ngemm_like_share: [0.9, recalled]");
  CHECK(efficiency().constants.efficiency == doctest::Approx(0.9 * h100.efficiency));
  CHECK(efficiency().sources[1].find("; times 0.9: ") != std::string::npos);
  scratch.replace("gpus/h20.yaml", "[0.9, recalled]", "[2, recalled]");
  CHECK(efficiency().constants.efficiency == 1);
  CHECK(contains(
      failure_of_gpu("tdp_w: [700, accelerators]", "tdp_w: [700, accelerators]\ngemm_like_share: [0.9, accelerators]"),
      "gemm_like_share"));
}

TEST_CASE("the clock of long runs rises where a GPU has more power for its peak than the one that it is like") {
  const ScratchCatalog scratch;
  const Catalog catalog = scratch.catalog();
  const GpuSpec t4 = catalog.gpu("t4");
  const GpuSpec quadro = catalog.gpu("quadro-rtx-8000");
  const double room = quadro.tdp_w.value / t4.tdp_w.value /
                      (quadro.peak_flops.at(Precision::fp16).value / t4.peak_flops.at(Precision::fp16).value);
  CHECK(quadro.sustained_share.value == doctest::Approx(t4.sustained_share.value * std::pow(room, 1 / kPowerExponent)));
  CHECK(catalog.gpu("rtx-2080-ti").sustained_share.value == 1);
  CHECK(catalog.gpu("h100-pcie").sustained_share.value == catalog.gpu("h100").sustained_share.value);
  // The law says what was measured of the same chip with 500 W, which scaled thresholds make of this one.
  const double less = std::pow(500.0 / 700.0, 1 / kPowerExponent) * catalog.gpu("h100").sustained_share.value;
  CHECK(catalog.gpu("h100-96g").sustained_share.value == doctest::Approx(less).epsilon(0.03));
}

TEST_CASE("attention kernels can be as fast as others of the same GPU that have figures, with the reason") {
  const GpuSpec b200 = ScratchCatalog().catalog().gpu("b200");
  CHECK(b200.attention.at("cudnn").head_dims == b200.attention.at("trtllm").head_dims);
  CHECK(b200.attention.at("cudnn").like == "trtllm");
  CHECK_FALSE(b200.attention.at("cudnn").like_source.empty());
  CHECK(b200.attention.at("flash-2").like.empty());
  for (const char* like : {"cudnn", "flash-1"}) {
    const ScratchCatalog scratch;
    scratch.replace("gpus/b200.yaml", "{like: trtllm, ", fmt::format("{{like: {}, ", like));
    CHECK(contains(failure_of([&] { scratch.catalog().gpu("b200"); }), "has no figures of its own here"));
  }
}

TEST_CASE("a node type must name hardware that exists, at the place where it names it") {
  const ScratchCatalog scratch;
  scratch.replace("nodes/hgx-h100.yaml", "network: ib-ndr", "network: ib-nrd");
  const std::string failure = failure_of([&] { scratch.catalog().node("hgx-h100"); });
  CHECK(contains(failure, "hgx-h100.yaml"));
  CHECK(contains(failure, "network: unknown link 'ib-nrd'"));
  CHECK(contains(failure, "did you mean 'ib-ndr'?"));
}

TEST_CASE("a corrected node type is like another, but for its time factors") {
  const ScratchCatalog scratch;
  const std::string ours =
      "title: ours\n"
      "like: hgx-h100\n"
      "sources: {runs: 3 runs of own.csv}\n"
      "correction:\n"
      "  framework: megatron-core\n"
      "  compute: [1.05, runs]\n"
      "  communication: [1.2, runs]\n"
      "  host: [0.9, runs]\n"
      "  deviations: [0.02, 0.1, 0.3]\n"
      "  correlations: [-0.5, 0, 0.25]\n"
      "  run_deviation: 0.03\n";
  const auto failure_with = [&](const std::string& old_text, const std::string& new_text) {
    scratch.write("nodes/ours.yaml", ours);
    scratch.replace("nodes/ours.yaml", old_text, new_text);
    return failure_of([&] { scratch.catalog().node("ours"); });
  };
  scratch.write("nodes/ours.yaml", ours);
  const NodeHardware node = scratch.catalog().node("ours");
  CHECK(node.spec.name == "ours");
  CHECK(node.gpu == scratch.catalog().node("hgx-h100").gpu);
  REQUIRE(node.spec.correction);
  CHECK(node.spec.time_factors() == TimeFactors{1.05, 1.2, 0.9});
  CHECK(node.spec.correction->source == "3 runs of own.csv");
  CHECK(node.spec.correction->covariance[0][1] == doctest::Approx(-0.5 * 0.02 * 0.1));
  CHECK(node.spec.correction->covariance[2][1] == doctest::Approx(0.25 * 0.1 * 0.3));
  CHECK(scratch.catalog().node("hgx-h100").spec.time_factors() == TimeFactors{});

  CHECK(contains(failure_with("like: hgx-h100", "like: hgx-h10"), "like: unknown node type 'hgx-h10'"));
  CHECK(contains(failure_with("like: hgx-h100", "like: ours"), "ours is like another node type itself"));
  CHECK(contains(failure_with("like: hgx-h100", "like: hgx-h100\ngpus: 4"), "gpus: unknown key"));
  CHECK(contains(failure_with("host: [0.9, runs]", "host: [0, runs]"), "expected a number from 0.2 to 5"));
  CHECK(contains(failure_with("[0.02, 0.1, 0.3]", "[0.02, 0.1]"), "expected three numbers"));
  CHECK(contains(failure_with("[-0.5, 0, 0.25]", "[-0.5, 0, 1.25]"), "expected a number from -1 to 1"));
}

TEST_CASE("a node type may be another but for its hosts, whose work takes so many times as long") {
  const ScratchCatalog scratch;
  const auto factors_with = [&](const std::string& text) {
    scratch.write("nodes/ours.yaml", "title: ours\nlike: hgx-h100\nsources: {ours: timed}\n" + text);
    return scratch.catalog().node("ours").spec.time_factors();
  };
  CHECK(factors_with("host_factor: [1.5, ours]\n") == TimeFactors{1, 1, 1.5});
  CHECK(factors_with("host_factor: [1.5, ours]\ncorrection:\n  framework: megatron-core\n  compute: [1, ours]\n"
                     "  communication: [1, ours]\n  host: [2, ours]\n  deviations: [0.1, 0.1, 0.1]\n"
                     "  correlations: [0, 0, 0]\n  run_deviation: 0.1\n") == TimeFactors{1, 1, 3});
  CHECK(contains(failure_of([&] { factors_with("host_factor: [0, ours]\n"); }), "expected a number from 0.1 to 10"));
  CHECK(contains(failure_of([&] { factors_with(""); }), "no figure of this file has this source"));
}

TEST_CASE("a GPU of one's own is like a known one but for the figures that it states, each with its origin") {
  const ScratchCatalog scratch;
  scratch.write("gpus/b400.yaml",
                "like: b300\nmemory_bytes: 400e9\ntdp_w: [1400, leaflet]\npeak_flops: {bf16: 3e15, fp16: 3e15}\n"
                "sources: {leaflet: the vendor's leaflet}\n");
  const GpuSpec b300 = scratch.catalog().gpu("b300");
  const GpuSpec b400 = scratch.catalog().gpu("b400");
  CHECK(b400.name == "b400");
  CHECK(b400.title == "b400, like " + b300.title);
  CHECK(b400.memory_bytes.value == 400e9);
  CHECK(contains(b400.memory_bytes.source, "stated in "));
  CHECK(contains(b400.memory_bytes.source, "b400.yaml"));
  CHECK(b400.tdp_w.source == "the vendor's leaflet");
  CHECK(b400.memory_bandwidth.value == b300.memory_bandwidth.value);
  CHECK(b400.memory_bandwidth.source == "as b300: " + b300.memory_bandwidth.source);
  CHECK(b400.like == b300.like);  // both borrow the same measured table

  scratch.write("gpus/h150.yaml", "like: h100\nmemory_bytes: 100e9\n");
  CHECK(scratch.catalog().gpu("h150").like == "h100");  // products borrow the H100's measured table
  const auto failure_with = [&](const std::string& text) {
    scratch.write("gpus/h150.yaml", text);
    return failure_of([&] { scratch.catalog().gpu("h150"); });
  };
  CHECK(contains(failure_with("like: h10\n"), "like: unknown GPU 'h10'"));
  CHECK(contains(failure_with("like: b400\n"), "b400 is like another profile itself"));
  CHECK(contains(failure_with("like: h100\ncolour: red\n"), "colour: unknown key"));
  CHECK(contains(failure_with("like: h100\nmemory_bytes: 1\n"), "expected a number from 1e+09"));
  CHECK(contains(failure_with("like: h100\nsources: {leaflet: x}\n"), "no figure of this file has this source"));
}

TEST_CASE("a node of one's own is like a known one, with GPUs of one's own") {
  const ScratchCatalog scratch;
  scratch.write("gpus/b400.yaml", "like: b300\nmemory_bytes: 400e9\n");
  scratch.write("nodes/hgx-b400.yaml", "like: hgx-b300\ngpu: b400\nhost_power_w: 3000\n");
  const NodeHardware node = scratch.catalog().node("hgx-b400");
  const NodeHardware known = scratch.catalog().node("hgx-b300");
  CHECK(node.gpu.memory_bytes.value == 400e9);
  CHECK(node.spec.gpus == known.spec.gpus);
  CHECK(node.network == known.network);
  CHECK(node.spec.host_power_w.value == 3000);
}

TEST_CASE("a scenario states nodes and GPUs of its own in place, as it would in files") {
  const ScratchCatalog scratch;
  scratch.write("gpus/b400.yaml", "like: b300\nmemory_bytes: 400e9\n");
  scratch.write("nodes/hgx-b400.yaml", "like: hgx-b300\ngpu: b400\nhost_power_w: 3000\n");
  const Document document = Document::from_text(
      "nodes: [{type: {like: hgx-b300, host_power_w: 3000, gpu: {name: b400x, like: b300, memory_bytes: 400e9}}, "
      "count: 2}]",
      "job.yaml");
  const Cluster cluster = read_cluster(Node(document), scratch.catalog());
  const NodeHardware& stated = cluster.groups().front().hardware;
  const NodeHardware file = scratch.catalog().node("hgx-b400");
  CHECK(stated.spec.name == "hgx-b300-like");
  CHECK(stated.gpu.name == "b400x");
  CHECK(stated.spec.gpu == "b400x");
  CHECK(stated.gpu.memory_bytes.value == file.gpu.memory_bytes.value);
  CHECK(stated.gpu.memory_bytes.source == "stated in job.yaml");
  CHECK(stated.gpu.like == file.gpu.like);
  CHECK(stated.gpu.peak_flops.at(Precision::bf16).value == file.gpu.peak_flops.at(Precision::bf16).value);
  CHECK(stated.spec.host_power_w.value == file.spec.host_power_w.value);
  CHECK(stated.network == file.network);
  CHECK_FALSE(cluster.groups().front().price);  // nobody offers such a GPU

  const auto failure = [](const std::string& type) {
    return failure_of_section("nodes: [{type: " + type + ", count: 1}]");
  };
  CHECK(contains(failure("{like: hgx-h10}"), "job.yaml:1:23: nodes[0].type.like: unknown node type 'hgx-h10'"));
  CHECK(contains(failure("{gpus: 8}"), "nodes[0].type: expected the key `like`"));
  CHECK(contains(failure("{like: hgx-h100, name: hgx-h200}"), "type.name: 'hgx-h200' is known"));
  CHECK(contains(failure("{like: hgx-h100, gpu: {like: h100, name: b200}}"), "type.gpu.name: 'b200' is known"));
  CHECK(contains(failure("{like: hgx-h100, gpu: {memory_bytes: 1e12}}"), "type.gpu: expected the key `like`"));
  CHECK(contains(failure("{like: hgx-h100, colour: red}"), "type.colour: unknown key"));
  CHECK(
      contains(failure("{like: hgx-h100, gpu: {like: h100, tdp_w: 1}}"), "type.gpu.tdp_w[0]: expected a number from"));
  CHECK(contains(failure("{like: hgx-h100, gpu: {like: h100, tdp: 600}}"), "did you mean 'tdp_w'?"));
}

TEST_CASE("parts of a host's power are at most the whole, and what is not known is not left out") {
  const ScratchCatalog scratch;
  const auto failure_with = [&](const std::string& text) {
    scratch.write("nodes/own.yaml", "like: dgx-a100-80g\n" + text);
    return failure_of([&] { scratch.catalog().node("own"); });
  };
  const std::string sources = "sources: {mine: measured}\n";
  CHECK(contains(failure_with("host_idle_power_w: [9000, mine]\n" + sources), "draws 9000 W, more than its 2010 W"));
  CHECK(contains(failure_with("fan_power_w: [1500, mine]\nsupply_loss_w: [600, mine]\n" + sources),
                 "2100 W are more than the 2010 W of the whole host"));
  const auto cluster_failure = [&](const std::string& changes, const std::string& keys = "") {
    const Document file =
        Document::from_text("nodes: [{type: dgx-a100-80g, count: 1" + changes + "}]\n" + keys, "job.yaml");
    return failure_of([&] { read_cluster(Node(file), scratch.catalog()); });
  };
  CHECK(contains(cluster_failure(", cooling: immersion"), "the power of the fans of dgx-a100-80g is not known"));
  CHECK(contains(cluster_failure(", feed: direct-current"),
                 "the loss in the power supplies of dgx-a100-80g is not known"));
  CHECK(contains(cluster_failure(", cooling: water"), "as-built"));
  CHECK(contains(cluster_failure("", "power_floor: {share: 2}\n"), "power_floor.share"));
  CHECK(contains(cluster_failure("", "power_floor: {}\n"), "a floor of nothing"));
}

TEST_CASE("all keys that a profile lacks are named at once") {
  const ScratchCatalog scratch;
  scratch.write("gpus/own.yaml", "title: own\nsources: {mine: measured}\ntdp_w: [700, mine]\n");
  const std::string failure = failure_of([&] { scratch.catalog().gpu("own"); });
  for (const char* key : {"'architecture'", "'peak_flops'", "'memory_bytes'", "'kernel_launch_s'", "'gemm'"}) {
    CAPTURE(key);
    CHECK(contains(failure, key));
  }
  CHECK_FALSE(contains(failure, "'tdp_w'"));
  CHECK(contains(failure, "like: NAME"));
}

TEST_CASE("a profile may be given by its path, relative to the file that names it") {
  const ScratchCatalog scratch;
  scratch.replace("nodes/hgx-h100.yaml", "gpu: h100", "gpu: ../gpus/h200.yaml");
  CHECK(scratch.catalog().node("hgx-h100").gpu.name == "h200");
  CHECK(catalog().gpu((scratch.folder() / "gpus/b200.yaml").string()).name == "b200");

  scratch.write("job.yaml", "nodes: [{type: nodes/hgx-h100.yaml, count: 1}]\n");
  const Document document = Document::from_file(scratch.folder() / "job.yaml");
  CHECK(read_cluster(Node(document), scratch.catalog()).gpus() == 8);
  CHECK(contains(failure_of_section("nodes: [{type: ./missing.yaml, count: 1}]"), "there is no file './missing.yaml'"));
}

TEST_CASE("a cluster section is read strictly") {
  CHECK(contains(failure_of_section("nodes: []"), "expected at least one entry"));
  CHECK(contains(failure_of_section("nodes: [{type: hgx-h100, count: 0}]"), "expected a whole number from 1"));
  CHECK(contains(failure_of_section("nodes: [{type: hgx-h100, count: 1e9}]"),
                 "expected a whole number from 1 to 131072"));
  CHECK(contains(failure_of_section("nodes: [{type: hgx-h100, count: 1}]\nfabrik: {}"), "did you mean 'fabric'?"));
  CHECK(contains(failure_of_section("nodes: [{type: hgx-h100, count: 1}]\nfabric: {type: fat-three}"),
                 "did you mean 'fat-tree'?"));
  CHECK(contains(failure_of_section("nodes: [{type: hgx-h100, count: 1}]\nfabric: {oversubscription: 0.5}"),
                 "job.yaml:2:28: fabric.oversubscription: expected a number from 1"));
  CHECK(contains(failure_of_section("nodes: [{type: hgx-h100, count: 1}]\nprice: cheap"), "unknown price 'cheap'"));
}
