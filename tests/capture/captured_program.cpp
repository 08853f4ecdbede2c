// Small captures whose time can be told by hand: the host's time to the first launch, and known prices after it.
#include "capture/captured_program.hpp"

#include "base/error.hpp"
#include "capture/capture_file.hpp"
#include "capture/capture_report.hpp"
#include "capture/kernel_clocks.hpp"
#include "capture_texts.hpp"
#include "cluster/catalog.hpp"
#include "cost/power_limit.hpp"
#include "strategy/framework_catalog.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <string>

using namespace mirfak;
using namespace mirfak::test;

namespace captured_program_test {

namespace {

std::filesystem::path profiles() { return source_root() + "/hw_profiles"; }

const OperatorTable& table() {
  static const OperatorTable read = read_operator_table(profiles() / "pytorch" / "operators.yaml");
  return read;
}

const Framework& framework() {
  static const FrameworkCatalog catalog(profiles());
  return catalog.framework(FileReference(table().framework));
}

const Cluster& nodes() {
  static const Cluster cluster = [] {
    NodeAllotment nodes;
    nodes.hardware = Catalog(profiles()).node(FileReference("hgx-h100"));
    nodes.count = 1;
    return Cluster({nodes}, default_fabric());
  }();
  return cluster;
}

const GpuSpec& gpu() { return nodes().gpu_of(0); }

Capture capture_of(const std::string& operators, const std::string& collectives,
                   const std::vector<std::string>& events) {
  const ScratchFolder folder;
  const std::string path = (folder.path() / "a.capture").string();
  std::ofstream(path, std::ios::binary) << capture_text_of(operators, collectives, events);
  return read_capture(path);
}

Capture committed(const std::string& name) {
  return read_capture(source_root() + (name == "ddp" ? "/tests/capture/programs/" : "/scenarios/capture/") + name +
                      ".capture");
}

CapturedProgram executed(const Capture& capture) { return captured_program(capture, {nodes(), table(), framework()}); }

double seconds(const Capture& capture) { return to_seconds(executed(capture).timeline.makespan); }

std::string refusal(const Capture& capture) {
  try {
    executed(capture);
  } catch (const Error& error) {
    REQUIRE(error.kind() == ErrorKind::input);
    return error.message();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A sum of two tensors of 64 Mi elements, which are in no cache.
const std::string kSum =
    R"({"name":"aten::add","overload":"Tensor","arguments":[["self",1],["other",1]],"in":[["bfloat16",[67108864]],)"
    R"(["bfloat16",[67108864]]],"out":[["bfloat16",[67108864]]],"settings":{},"read_bytes":268435456,)"
    R"("written_bytes":134217728})";
const std::string kProduct =
    R"({"name":"aten::mm","overload":"default","arguments":[["self",1],["mat2",1]],"in":[["bfloat16",[8192,4096]],)"
    R"(["bfloat16",[4096,8192],[1,4096]]],"out":[["bfloat16",[8192,8192]]],"settings":{},"read_bytes":134217728,)"
    R"("written_bytes":134217728})";
// Nothing is launched by an operator that only looks at a tensor.
const std::string kLook =
    R"({"name":"prim::device","overload":"default","arguments":[],"in":[],"out":[],"settings":{},"read_bytes":9,)"
    R"("written_bytes":0})";

double sum_s() { return KernelModel(gpu(), Precision::bf16).price_memory_bound(3 * 134217728.0).seconds; }
double issue_s() { return table().host.forward_s + table().host.launch_s; }

std::string reduction(const std::string& kind, double bytes, const std::string& ranks = "[0,1]") {
  return fmt::format(
      R"({{"kind":"{}","ranks":{},"dtype":"float32","via":"c10d","op":"SUM","in_bytes":{},"out_bytes":{}}})", kind,
      ranks, bytes, bytes);
}
std::string message(const std::string& kind, int peer, double bytes) {
  const bool sends = kind == "send";
  return fmt::format(
      R"({{"kind":"{}","ranks":[0,1],"dtype":"float32","via":"c10d","peer":{},"in_bytes":{},"out_bytes":{}}})", kind,
      peer, sends ? bytes : 0, sends ? 0 : bytes);
}

double reduction_s(double bytes) {
  const std::int64_t ranks[] = {0, 1};
  return CommunicationPrices(nodes()).price(ChakraCollective::all_reduce, bytes, ranks)->seconds;
}

}  // namespace

TEST_CASE("kernels of a stream run in a row, while the host is ahead") {
  CHECK(seconds(capture_of(kSum, "", {R"([["op",0,0,0,0],["op",0,0,0,0],["op",0,0,0,0]])"})) ==
        doctest::Approx(issue_s() + 3 * sum_s()).epsilon(1e-9));
}

TEST_CASE("the host takes its time for what launches nothing, too, and less in backward") {
  const double forward_s = table().host.forward_s;
  CHECK(seconds(capture_of(kSum, "", {R"([["host",4],["op",0,0,0,0]])"})) ==
        doctest::Approx(4 * forward_s + issue_s() + sum_s()).epsilon(1e-9));
  CHECK(seconds(capture_of(kSum, "", {R"([["op",0,0,2,0]])"})) ==
        doctest::Approx(table().host.backward_s + table().host.launch_s + sum_s()).epsilon(1e-9));
  CHECK(seconds(capture_of(kLook, "", {R"([["op",0,0,0,0]])"})) == doctest::Approx(forward_s).epsilon(1e-9));
}

TEST_CASE("the host takes its time for lines of Python; an operator forward has some where nobody counted them") {
  const OperatorTable::Host& host = table().host;
  REQUIRE(host.python_line_s > 0);
  Capture calls = capture_of(kLook, "", {R"([["op",0,0,0,0],["python",300],["op",0,0,0,0],["python",40]])"});
  const double counted = 2 * host.forward_s + 340 * host.python_line_s;
  CHECK(seconds(calls) == doctest::Approx(counted).epsilon(1e-9));
  CHECK(executed(calls).notes.empty());
  calls.ranks.front().python_lines = -1;
  REQUIRE(executed(calls).notes.size() == 1);
  CHECK(executed(calls).notes.front().starts_with("the capture counts no lines of Python"));
  CHECK(seconds(calls) ==
        doctest::Approx(counted + 2 * host.python_lines_of_forward * host.python_line_s).epsilon(1e-9));
}

TEST_CASE("a host that blocks goes on when the stream is done") {
  CHECK(seconds(capture_of(kSum, "", {R"([["op",0,0,0,0],["block","item"],["op",0,0,0,0]])"})) ==
        doctest::Approx(2 * (issue_s() + sum_s())).epsilon(1e-9));
}

TEST_CASE("a CUDA graph takes the host one launch, whatever is in it") {
  const std::string small =
      R"({"name":"aten::add","overload":"Tensor","arguments":[["self",1]],"in":[["bfloat16",[64]]],)"
      R"("out":[["bfloat16",[64]]],"settings":{},"read_bytes":128,"written_bytes":128})";
  const std::string three = R"(["op",0,0,0,0],["op",0,0,0,0],["op",0,0,0,0])";
  const Capture graph = capture_of(small, "", {R"([["graph",3],)" + three + "]"});
  const double kernel_s = executed(graph).prices.front().front().cost.seconds;
  REQUIRE(kernel_s < issue_s());  // otherwise the host would not be seen
  CHECK(seconds(graph) == doctest::Approx(issue_s() + 3 * kernel_s).epsilon(1e-9));
  CHECK(seconds(capture_of(small, "", {"[" + three + "]"})) == doctest::Approx(3 * issue_s() + kernel_s).epsilon(1e-9));
  // The kernel after the graph is launched by itself.
  CHECK(seconds(capture_of(small, "", {R"([["graph",1],["op",0,0,0,0],["op",0,0,0,0]])"})) ==
        doctest::Approx(2 * issue_s() + kernel_s).epsilon(1e-9));
}

TEST_CASE("kernels of two streams share the GPU, and an event orders them") {
  CHECK(seconds(capture_of(kSum, "", {R"([["op",0,0,0,0],["op",0,0,0,1]])"})) ==
        doctest::Approx(issue_s() + 2 * sum_s()).epsilon(1e-6));
  CHECK(seconds(capture_of(kSum, "", {R"([["op",0,0,0,0],["record",1,0],["await",1,1],["op",0,0,0,1]])"})) ==
        doctest::Approx(issue_s() + 2 * sum_s()).epsilon(1e-9));
}

TEST_CASE("products are priced as those of scenarios, at the clock that the power limit leaves") {
  const KernelModel model(gpu(), Precision::bf16);
  const KernelCost cost = model.price_gemm({1, 8192, 8192, 4096}, 2 * 134217728.0);
  PowerMix mix(gpu().limit_share());
  mix.add_clocked(cost.clocked_s, cost.draw);
  mix.add_other(cost.seconds - cost.clocked_s, kMemoryBoundDraw);
  const double lowest = std::min(mix.clock_share(), gpu().sustained_share.value);
  const CapturedProgram program = executed(capture_of(kProduct, "", {R"([["op",0,1,0,0]])"}));
  REQUIRE(program.ranks.size() == 1);
  REQUIRE(program.ranks[0].clock.size() == 1);
  const double clock = program.ranks[0].clock[0];
  CHECK(clock >= lowest);  // the wait for the first launch leaves a little room
  CHECK(clock < lowest * 1.02);
  CHECK(to_seconds(program.timeline.makespan) ==
        doctest::Approx(issue_s() + cost.seconds + cost.clocked_s * (1 / clock - 1)).epsilon(1e-9));
}

TEST_CASE("clocks follow the kernels around, and a step goes round") {
  KernelCost product;
  product.seconds = product.clocked_s = 0.01;
  product.draw = 1.5;
  KernelCost copy;
  copy.seconds = 0.01;
  // 100 ms of products, then 100 ms of copies: the window of the fifth product holds products alone.
  std::vector<const KernelCost*> costs(10, &product);
  costs.insert(costs.end(), 10, &copy);
  const std::vector<double> clocks = kernel_clocks(costs, 0, gpu());
  REQUIRE(clocks.size() == 20);
  PowerMix alone(gpu().limit_share());
  alone.add_clocked(1, 1.5);
  CHECK(clocks[4] == doctest::Approx(alone.clock_share()));
  CHECK(clocks[9] > clocks[4]);
  CHECK(clocks[0] == doctest::Approx(clocks[9]));  // before the first product are copies, too
  CHECK(clocks[15] == gpu().sustained_share.value);
  CHECK(kernel_clocks(costs, 0.1, gpu())[4] > clocks[4]);
  CHECK(kernel_clocks({}, 0, gpu()).empty());
}

TEST_CASE("ranks meet in a collective, which the stream waits for") {
  const std::string meets = R"(["comm",0,0,0,0,1],["wait",1,0],["op",0,0,0,0]])";
  const double time =
      seconds(capture_of(kSum, reduction("all_reduce", 1e9), {"[" + meets, R"([["op",0,0,0,0],)" + meets}));
  CHECK(time == doctest::Approx(issue_s() + sum_s() + reduction_s(1e9) + sum_s()).epsilon(1e-9));
}

TEST_CASE("a collective of several tensors at once costs what one of their bytes costs") {
  const std::string events = R"([["comm",0,1,0,0,1],["wait",1,0]])";
  CHECK(seconds(capture_of("", reduction("all_reduce_coalesced", 1e8), {events, events})) ==
        seconds(capture_of("", reduction("all_reduce", 1e8), {events, events})));
}

TEST_CASE("a rank that is not captured is ready whenever others are") {
  const Capture capture =
      capture_of(kSum, reduction("all_reduce", 1e9), {R"([["comm",0,0,0,0,1]])", R"([["comm",0,0,0,0,1]])"});
  Capture one = capture;
  one.ranks.pop_back();
  CHECK(seconds(one) == doctest::Approx(framework().host.collective_s + reduction_s(1e9)).epsilon(1e-9));
  CHECK(seconds(one) == seconds(capture));
  const CaptureResult result = capture_result(one, {nodes(), table(), framework()}, executed(one));
  REQUIRE(result.notes.size() == 2);
  CHECK(has(result.notes[0], "6 of 8 GPUs have no rank"));
  CHECK(has(result.notes[1], "1 of 2 ranks are not in the capture"));
}

TEST_CASE("collectives that do not match are named with rank, module and position") {
  const std::string both =
      reduction("all_reduce", 64) + "," + reduction("broadcast", 64) + "," + reduction("all_reduce", 128);
  const auto said = [&](const std::string& a, const std::string& b) { return refusal(capture_of(kSum, both, {a, b})); };
  const std::string other = said(R"([["comm",0,0,0,0,1]])", R"([["host",1],["comm",1,1,2,0,1]])");
  CHECK(has(other,
            "broadcast of rank 1 (model.layers.0, backward, event 1): it is call 1 of the group of ranks 0,1, with "
            "kind broadcast; with it meets all_reduce of rank 0 (forward, event 0), with kind all_reduce"));
  CHECK(has(said(R"([["comm",0,0,0,0,1]])", R"([["comm",2,0,0,0,1]])"), "with bytes 128"));
  CHECK(has(
      said(R"([["comm",0,0,0,0,1],["comm",0,0,0,0,2]])", R"([["comm",0,0,0,0,1]])"),
      "all_reduce of rank 0 (forward, event 1): it is call 2 of the group of ranks 0,1, which rank 1 does not make"));
  CHECK(has(said("[]", R"([["comm",0,0,0,0,1]])"), "which rank 0 does not make"));
}

TEST_CASE("messages have two ends of one size") {
  const std::string ends = message("send", 1, 64) + "," + message("recv", 0, 64) + "," + message("recv", 0, 32);
  const auto said = [&](const std::string& a, const std::string& b) { return refusal(capture_of(kSum, ends, {a, b})); };
  CHECK(said(R"([["comm",0,0,0,0,1]])", R"([["comm",1,0,0,0,1]])").empty());
  CHECK(has(said(R"([["comm",0,1,0,0,1]])", "[]"),
            "send of rank 0 (model.layers.0, forward, event 0): rank 1 does not receive it"));
  CHECK(has(said("[]", R"([["comm",1,0,0,0,1]])"), "recv of rank 1 (forward, event 0): rank 0 does not send it"));
  CHECK(has(said(R"([["comm",0,0,0,0,1]])", R"([["comm",2,0,0,0,1]])"), "of 64 bytes"));
}

TEST_CASE("ranks that wait for each other are refused") {
  // Both stages of scenarios/capture/pipeline.py send first.
  CHECK(refusal(committed("pipeline")).empty());
  CHECK(has(refusal(committed("deadlock")), "ranks wait for each other: "));
  CHECK(has(refusal(committed("deadlock")), "of rank 0"));
}

TEST_CASE("an operator that the table does not know is priced by its bytes, and noted") {
  std::string foreign = kSum;
  foreign.replace(foreign.find("aten::add"), 9, "mine::add");
  const Capture capture = capture_of(foreign, "", {R"([["op",0,0,0,0]])"});
  const CapturedProgram program = executed(capture);
  CHECK(to_seconds(program.timeline.makespan) == doctest::Approx(issue_s() + sum_s()).epsilon(1e-9));
  const CaptureResult result = capture_result(capture, {nodes(), table(), framework()}, program);
  REQUIRE(result.notes.size() == 2);
  CHECK(has(result.notes[0], "mine::add"));
  CHECK(has(result.notes[0], "1 calls, 100.00 % of the kernels' time"));
}

TEST_CASE("notes: another GPU, other nodes, products that might run in TF32; memory that is handed out decides") {
  Capture capture = committed("fsdp");
  const auto result_of = [](const Capture& of) {
    return capture_result(of, {nodes(), table(), framework()}, executed(of));
  };
  const auto noted = [](const CaptureResult& result, const std::string& part) {
    return std::any_of(result.notes.begin(), result.notes.end(), [&](const auto& note) { return has(note, part); });
  };
  CHECK(noted(result_of(capture), "products of float32 are priced in fp32"));
  CHECK_FALSE(noted(result_of(committed("attention")), "products of float32"));
  CHECK_FALSE(noted(result_of(capture), "captured for"));
  capture.device = "b200";
  capture.gpus_per_node = 1;
  CHECK(noted(result_of(capture), "captured for b200, priced on NVIDIA H100"));
  CHECK(noted(result_of(capture), "that a node has 1 GPUs, and runs on nodes of 8"));
  capture.ranks[0].peak_reserved_bytes = 2 * gpu().memory_bytes.value;
  CHECK(result_of(capture).fits);
  capture.ranks[0].peak_allocated_bytes = gpu().memory_bytes.value;
  CHECK_FALSE(result_of(capture).fits);
}

TEST_CASE("work that takes for ever is refused") {
  std::string endless = kProduct;
  const std::string shape = "[8192,4096]";
  endless.replace(endless.find(shape), shape.size(), "[1000000000,4096]");
  const std::string other = "[4096,8192],[1,4096]";
  endless.replace(endless.find(other), other.size(), "[4096,1000000000]");
  CHECK(has(refusal(capture_of(endless, "", {R"([["op",0,1,0,0]])"})), "aten::mm takes more than"));
}

TEST_CASE("a world that the nodes do not hold is refused") {
  Capture capture = committed("ddp");
  capture.world_size = 9;
  CHECK(has(refusal(capture), "the capture is of 9 ranks, and the nodes have 8 GPUs"));
}

TEST_CASE("committed captures: memory as in the file, parts that add up, the same each time") {
  for (const char* name : {"attention", "ddp", "fsdp", "pipeline"}) {
    CAPTURE(name);
    const Capture capture = committed(name);
    const CapturePricing pricing{nodes(), table(), framework()};
    const CapturedProgram program = executed(capture);
    program.joined.program.validate();
    const CaptureResult result = capture_result(capture, pricing, program);
    for (const CapturedRankResult& rank : result.ranks) {
      const CapturedRank& recorded = capture.ranks[static_cast<std::size_t>(rank.rank)];
      CHECK(rank.allocated_bytes == recorded.peak_allocated_bytes);
      CHECK(rank.reserved_bytes == recorded.peak_reserved_bytes);
      CHECK(rank.memory_bytes == rank.reserved_bytes + framework().memory.platform_bytes);
      const CapturedTimes& times = rank.times;
      CHECK(times.gemm_s + times.attention_s + times.memory_bound_s + times.optimizer_s + times.communication_s +
                times.host_s + times.waiting_s ==
            doctest::Approx(result.iteration_s).epsilon(1e-6));
    }
    CHECK(result.fits);
    for (const std::string& note : result.notes) CHECK_FALSE(has(note, "does not know it"));
    const auto again = capture_json(capture, pricing, capture_result(capture, pricing, executed(capture)), 0);
    CHECK(again == capture_json(capture, pricing, result, 0));
  }
}

}  // namespace captured_program_test
