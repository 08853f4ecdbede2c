// Scenarios that name a capture: what is read and refused, what a resolved one holds, ranks that differ, energy and
// cost. Times are told by hand from prices: one kernel after the host's time to launch it.
#include "capture/captured_scenario.hpp"

#include "base/error.hpp"
#include "capture/capture_figures.hpp"
#include "capture/capture_file.hpp"
#include "capture/capture_simulation.hpp"
#include "capture/captured_ranks.hpp"
#include "capture_texts.hpp"
#include "captured_parts.hpp"
#include "cost/power_limit.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace captured_scenario_test {

namespace {

const std::string kOneSum = R"([["op",0,0,0,0]])";

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

// A folder with a capture and scenarios of it.
class Folder {
 public:
  explicit Folder(const std::vector<std::string>& events) {
    write(folder_ / "job.capture", capture_text_of(kSum, events.size() > 1 ? kLargeReduction : "", events));
  }
  CapturedScenario read(const std::string& cluster, const std::string& more = "") const {
    write(folder_ / "job.yaml", "capture: job.capture\ncluster: " + cluster + "\n" + more);
    return read_captured_scenario(Document::from_file(folder_.path() / "job.yaml"), sources());
  }
  CaptureResult result(const std::string& cluster) const { return simulate(read(cluster), sources()).result; }
  std::string refusal(const std::string& cluster, const std::string& more = "") const {
    try {
      simulate(read(cluster, more), sources());
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      return error.what();
    }
    return "";
  }
  std::filesystem::path path() const { return folder_.path(); }

 private:
  ScratchFolder folder_;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr const char* kTwo = "{nodes: [{type: hgx-h100, count: 1, gpus: 2}]}";

double issue_s() { return sources().table().host.forward_s + sources().table().host.launch_s; }
GpuSpec gpu(const std::string& node) { return sources().scenario().catalog.node(FileReference(node)).gpu; }
double sum_s(const std::string& node = "hgx-h100") {
  const GpuSpec of = gpu(node);
  return KernelModel(of, Precision::bf16).price_memory_bound(3 * 134217728.0).seconds;
}

double value_of(const std::vector<FigureValue>& values, const std::string& key) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const FigureValue& of) { return of.key() == key; });
  REQUIRE(found->known);
  return found->number;
}

}  // namespace

TEST_CASE("a scenario names a capture beside it; resolved, it means the same from anywhere") {
  const Folder folder({kOneSum, kOneSum});
  const CapturedScenario scenario = folder.read(kTwo);
  CHECK(scenario.capture->world_size == 2);
  CHECK(has(scenario.resolved, "hash: \"" + scenario.capture->hash + "\""));
  CHECK(has(scenario.resolved, (folder.path() / "job.capture").string()));
  CHECK(scenario.capture->hash.size() == 16);
  const CapturedScenario again = read_captured_scenario(Document::from_text(scenario.resolved, "elsewhere"), sources());
  CHECK(again.resolved == scenario.resolved);
  CHECK(again.defaulted.empty());
  CHECK(std::find(scenario.defaulted.begin(), scenario.defaulted.end(), "cluster.price") != scenario.defaulted.end());
  CHECK(simulate(again, sources()).result.iteration_s == simulate(scenario, sources()).result.iteration_s);
  std::string other = scenario.resolved;
  other.replace(other.find(scenario.capture->hash), 16, "0123456789abcdef");
  CHECK_THROWS_WITH(read_captured_scenario(Document::from_text(other, "elsewhere"), sources()),
                    doctest::Contains("it is another capture"));
}

TEST_CASE("what means nothing next to a capture is refused at its place") {
  const Folder folder({kOneSum});
  const std::string one = "{nodes: [{type: hgx-h100, count: 1}]}";
  for (const char* section : {"model", "training", "strategy", "search", "operations", "jobs"}) {
    CAPTURE(section);
    const std::string said = folder.refusal(one, std::string(section) + ": {}\n");
    CHECK(has(said, "job.yaml:3:"));
    CHECK(has(said, std::string(section) + ": this section means nothing next to a capture"));
  }
  CHECK(has(folder.refusal(one, "clusters: 1\n"), "job.yaml:3:"));
  CHECK(has(folder.refusal("{nodes: [{type: hgx-h100, count: 1, ranks_per_gpu: 2}]}"), "ranks share GPUs here"));
  CHECK(has(folder.refusal("{nodes: [{type: hgx-h100, count: 1}], perturbations: {ranks: [{rank: 8, host: 2}]}}"),
            "job.yaml:2:"));
  const Document foreign = Document::from_text("capture: job.yaml\ncluster: " + one, "--nodes");
  CHECK_THROWS_WITH(read_captured_scenario(foreign, sources()), doctest::Contains("there is no file 'job.yaml'"));
  // Everybody else says who reads such a scenario.
  folder.read(one);
  CHECK_THROWS_WITH(parse_scenario(Document::from_file(folder.path() / "job.yaml"), sources().scenario()),
                    doctest::Contains("a captured program has no model and no strategy"));
}

TEST_CASE("each rank is priced on its own GPU, and ranks that did the same are told apart") {
  const Folder folder({kOneSum, kOneSum});
  const std::string mixed = "{nodes: [{type: hgx-h100, count: 1, gpus: 1}, {type: dgx-a100-80g, count: 1, gpus: 1}]}";
  const CaptureResult both = folder.result(mixed);
  CHECK(both.iteration_s == doctest::Approx(issue_s() + sum_s("dgx-a100-80g")).epsilon(1e-9));
  REQUIRE(both.ranks.size() == 2);
  CHECK(both.ranks[0].times.memory_bound_s == doctest::Approx(sum_s()).epsilon(1e-9));
  CHECK(both.ranks[0].capacity_bytes == gpu("hgx-h100").memory_bytes.value);
  CHECK(both.ranks[1].times.memory_bound_s == doctest::Approx(sum_s("dgx-a100-80g")).epsilon(1e-9));
  CHECK(both.ranks[1].capacity_bytes == gpu("dgx-a100-80g").memory_bytes.value);
  // Rank 1 has no events of its own: it did as rank 0.
  Capture capture = *folder.read(kTwo).capture;
  capture.ranks[1].events.clear();
  capture.ranks[1].same_as = 0;
  CapturedScenario scenario = folder.read(mixed);
  scenario.capture = std::make_shared<const Capture>(capture);
  CHECK(simulate(scenario, sources()).result.iteration_s == both.iteration_s);
  scenario = folder.read(kTwo);
  scenario.capture = std::make_shared<const Capture>(capture);
  const CaptureResult alike = simulate(scenario, sources()).result;
  REQUIRE(alike.ranks.size() == 1);
  CHECK(alike.ranks[0].stands_for == 2);
  CHECK(alike.energy_j == doctest::Approx(2 * alike.ranks[0].energy_j));
}

TEST_CASE("communication between types of nodes takes as long as the slowest of them would") {
  const Folder folder({kSumAndReduction, kSumAndReduction});
  const std::string h100 = "{nodes: [{type: hgx-h100, count: 2, gpus: 1}]}";
  const std::string a100 = "{nodes: [{type: dgx-a100-80g, count: 2, gpus: 1}]}";
  const std::string mixed = "{nodes: [{type: hgx-h100, count: 1, gpus: 1}, {type: dgx-a100-80g, count: 1, gpus: 1}]}";
  const auto communication_s = [&](const std::string& cluster) {
    const CaptureResult result = folder.result(cluster);
    for (const CapturedWork& work : result.work) {
      if (work.communicates) return work.seconds;
    }
    return 0.0;
  };
  CHECK(communication_s(mixed) ==
        doctest::Approx(std::max(communication_s(h100), communication_s(a100))).epsilon(1e-9));
}

TEST_CASE("slow ranks, nodes and ports") {
  const Folder folder({kSumAndReduction, kSumAndReduction});
  const auto seconds = [&](const std::string& factors, int nodes = 1) {
    return folder
        .result(fmt::format("{{nodes: [{{type: hgx-h100, count: {}, gpus: {}}}], perturbations: {{{}}}}}", nodes,
                            2 / nodes, factors))
        .iteration_s;
  };
  const double alone = folder.result(kTwo).iteration_s;
  const double together_s = alone - issue_s() - sum_s();
  CHECK(seconds("ranks: [{rank: 1, compute: 1.5}]") - alone == doctest::Approx(0.5 * sum_s()).epsilon(1e-6));
  CHECK(seconds("ranks: [{rank: 0, host: 2}]") - alone == doctest::Approx(issue_s()).epsilon(1e-6));
  CHECK(seconds("ranks: [{rank: 1, communication: 3}]") - alone == doctest::Approx(2 * together_s).epsilon(1e-6));
  CHECK(seconds("nodes: [{node: 0, communication: 3}]") - alone == doctest::Approx(2 * together_s).epsilon(1e-6));
  CHECK(seconds("links: [{rank: 1, factor: 2}]") == alone);  // the ranks are in one node
  const double apart = seconds("", 2);
  CHECK(seconds("links: [{rank: 1, factor: 2}]", 2) - apart ==
        doctest::Approx(apart - issue_s() - sum_s()).epsilon(1e-6));
}

TEST_CASE("ranks that did as others did in groups of their own get these groups") {
  const Folder folder({kSumAndReduction, kSumAndReduction});
  Capture capture = *folder.read(kTwo).capture;
  capture.world_size = 4;
  capture.families = {{{0, 1}, {2, 3}}};
  for (const std::int64_t rank : {2, 3}) {
    CapturedRank like;
    like.rank = rank;
    like.same_as = rank - 2;
    like.in_own_groups = true;
    capture.ranks.push_back(like);
  }
  const Capture all = with_events_of_each(capture);
  REQUIRE(all.communication.size() == 2);
  CHECK(all.communication[1].ranks == std::vector<std::int64_t>{2, 3});
  REQUIRE(all.ranks[3].events.size() == all.ranks[1].events.size());
  CHECK(all.communication[all.ranks[3].events[1].entry].ranks == std::vector<std::int64_t>{2, 3});
  CHECK(all.ranks[3].same_as == -1);
  // Rank 3 holds rank 2 up, and nobody of the other group.
  CapturedScenario scenario =
      folder.read("{nodes: [{type: hgx-h100, count: 1, gpus: 4}], perturbations: {ranks: [{rank: 3, compute: 2}]}}");
  scenario.capture = std::make_shared<const Capture>(capture);
  const CaptureResult result = simulate(scenario, sources()).result;
  REQUIRE(result.ranks.size() == 4);
  CHECK(result.ranks[2].times.waiting_s == doctest::Approx(sum_s()).epsilon(1e-6));
  CHECK(result.ranks[0].times.memory_bound_s == doctest::Approx(sum_s()).epsilon(1e-6));
  CHECK(result.ranks[3].times.memory_bound_s == doctest::Approx(2 * sum_s()).epsilon(1e-6));
  capture.families.clear();
  CHECK_THROWS_WITH(with_events_of_each(capture), doctest::Contains("the file names none"));
}

TEST_CASE("events for each rank change no time of any rank") {
  const Capture folded = read_capture(source_root() + "/tests/capture/programs/ddp.capture");
  REQUIRE(
      std::any_of(folded.ranks.begin(), folded.ranks.end(), [](const CapturedRank& of) { return of.same_as >= 0; }));
  const Folder folder({kOneSum, kOneSum});
  CapturedScenario scenario = folder.read("{nodes: [{type: hgx-h100, count: 1}]}");
  const auto executed = [&](const Capture& capture) {
    scenario.capture = std::make_shared<const Capture>(capture);
    return simulate(scenario, sources()).result;
  };
  const CaptureResult one = executed(folded);
  const CaptureResult each = executed(with_events_of_each(folded));
  CHECK(each.ranks.size() == folded.ranks.size());
  CHECK(each.ranks.size() > one.ranks.size());
  CHECK(each.iteration_s == one.iteration_s);
  CHECK(each.energy_j == doctest::Approx(one.energy_j).epsilon(1e-12));
  CHECK(each.cost_usd == one.cost_usd);
}

TEST_CASE("work is said with the line of the program that calls its module") {
  Capture capture = read_capture(source_root() + "/tests/capture/programs/ddp.capture");
  REQUIRE(capture.lines.at("DistributedDataParallel.module.*") == "ddp.py:15");
  const Folder folder({kOneSum, kOneSum});
  CapturedScenario scenario = folder.read("{nodes: [{type: hgx-h100, count: 1}]}");
  const auto lines_of = [&](const std::vector<CapturedWork>& work) {
    std::map<std::string, std::string> out;
    for (const CapturedWork& each : work) out[each.module] = each.line;
    return out;
  };
  const std::map<std::string, std::string> expected = {{"", ""}, {"DistributedDataParallel.module.*", "ddp.py:15"}};
  scenario.capture = std::make_shared<const Capture>(capture);
  const CaptureResult result = simulate(scenario, sources()).result;
  CHECK(lines_of(result.modules) == expected);
  CHECK(lines_of(result.work) == expected);
  capture.lines.clear();  // of a capture that was made before lines were
  scenario.capture = std::make_shared<const Capture>(capture);
  CHECK(lines_of(simulate(scenario, sources()).result.modules).at("DistributedDataParallel.module.*").empty());
}

TEST_CASE("a rank that is not in the capture cannot be slow by itself") {
  const Folder folder({kOneSum, kOneSum});
  CapturedScenario whole = folder.read(kTwo);
  std::string text = capture_text_of(kSum, kLargeReduction, {kOneSum, kOneSum, kOneSum});
  // The third line of ranks is left out.
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  lines.pop_back();
  lines.pop_back();
  std::string cut;
  for (const std::string& line : lines) cut += line + "\n";
  ScratchFolder other;
  write(other / "job.capture", with_end(cut));
  const auto read = [&](const std::string& rank) {
    write(other / "job.yaml",
          "capture: job.capture\ncluster: {nodes: [{type: hgx-h100, count: 1}], perturbations: {ranks: [" + rank +
              "]}}\n");
    return read_captured_scenario(Document::from_file(other.path() / "job.yaml"), sources());
  };
  CHECK_THROWS_WITH(read("{rank: 2, compute: 2}"), doctest::Contains("nothing is known of what rank 2 does"));
  CHECK(read("{rank: 2, communication: 2}").capture->world_size == 3);
  CHECK(read("{rank: 1, compute: 2}").capture->world_size == 3);
}

TEST_CASE("energy is that of kernels and of waiting; money is that of the GPUs with a rank") {
  const Folder folder({kOneSum, kOneSum});
  const CapturedScenario scenario = folder.read("{nodes: [{type: hgx-h100, count: 1}], price: 2.5}");
  const CaptureSimulation simulation = simulate(scenario, sources());
  const CaptureResult& result = simulation.result;
  // A kernel that memory bounds draws 0.7 of the limit, and a GPU that waits blocked_w.
  const GpuSpec of = gpu("hgx-h100");
  const double waiting_s = result.iteration_s - sum_s();
  CHECK(result.ranks[0].energy_j ==
        doctest::Approx(kMemoryBoundDraw * of.tdp_w.value * sum_s() + of.blocked_w.value * waiting_s).epsilon(1e-6));
  CHECK(result.energy_j == doctest::Approx(2 * result.ranks[0].energy_j));
  REQUIRE(result.cost_usd.has_value());
  CHECK(*result.cost_usd == doctest::Approx(2 * 2.5 * result.iteration_s / 3600));
  const auto idle = [&](const std::string& note) { return has(note, "6 of 8 GPUs have no rank"); };
  CHECK(std::any_of(result.notes.begin(), result.notes.end(), idle));
  const std::vector<FigureValue> values = figure_values(result, scenario.cluster.facility());
  CHECK(value_of(values, "energy_j") == result.energy_j);
  CHECK(value_of(values, "average_power_w") == doctest::Approx(result.energy_j / result.iteration_s));
  CHECK(value_of(values, "gpus") == 2);
  // PUE adds figures of the facility: those of the node that the ranks are in.
  const CaptureResult around = folder.result("{nodes: [{type: hgx-h100, count: 2}], pue: 1.5}");
  const double host_w = sources().scenario().catalog.node(FileReference("hgx-h100")).spec.host_power_w.value;
  CHECK(around.facility.machine_energy_j == doctest::Approx(around.energy_j + host_w * around.iteration_s));
  CHECK(around.facility.facility_energy_j == doctest::Approx(1.5 * around.facility.machine_energy_j));
}

TEST_CASE("a clock that is set lower takes longer and less energy") {
  const std::string product =
      R"({"name":"aten::mm","overload":"default","arguments":[["self",1],["mat2",1]],"in":[["bfloat16",[8192,4096]],)"
      R"(["bfloat16",[4096,8192],[1,4096]]],"out":[["bfloat16",[8192,8192]]],"settings":{},"read_bytes":134217728,)"
      R"("written_bytes":134217728})";
  ScratchFolder other;
  write(other / "job.capture", capture_text_of(product, "", {kOneSum}));
  const auto result = [&](const std::string& clock) {
    write(other / "job.yaml",
          "capture: job.capture\ncluster: {nodes: [{type: hgx-h100, count: 1, gpus: 1" + clock + "}]}\n");
    return simulate(read_captured_scenario(Document::from_file(other.path() / "job.yaml"), sources()), sources())
        .result;
  };
  const CaptureResult full = result("");
  const CaptureResult slow = result(", clock_mhz: 1200");
  CHECK(slow.iteration_s > full.iteration_s);
  CHECK(slow.energy_j < full.energy_j);
}

TEST_CASE("keys without effect are noted; conditions hold or do not") {
  const Folder folder({kOneSum});
  const CapturedScenario scenario = folder.read(
      "{nodes: [{type: hgx-h100, count: 2, gpus: 1}], fabric: {oversubscription: 2}, price: spot, pue: 1.2}",
      "assert: [energy_j > 0, iteration_time_s < 1e-9]\nnotes: [a word on it]\n");
  const CaptureResult result = simulate(scenario, sources()).result;
  const std::vector<std::string> notes = notes_on_keys(scenario, sources(), result);
  REQUIRE(notes.size() == 2);
  CHECK(notes[0] == "a word on it");
  CHECK(has(notes[1], "cluster.fabric.oversubscription: 2 changes nothing in this job"));
  const AssertionResult asserted = check_assertions(scenario, result);
  REQUIRE(asserted.broken.size() == 1);
  CHECK(has(asserted.broken[0].text, "'iteration_time_s < 1e-9' does not hold"));
  CHECK(has(folder.refusal("{nodes: [{type: hgx-h100, count: 1}]}", "assert: [mfuu > 0.4]\n"), "mfuu"));
  const CapturedScenario unknown = folder.read("{nodes: [{type: hgx-h100, count: 1}]}", "assert: [mfu > 0.4]\n");
  CHECK_THROWS_WITH(check_assertions(unknown, result), doctest::Contains("mfu is not known"));
}

}  // namespace captured_scenario_test
