// Real traces against tables that another parser made of them: every sum by class, message and step. Neither is a part
// of the project: without them beside the source tree these cases only say so.
#include "base/csv.hpp"
#include "recording/kineto.hpp"
#include "recording/recording_summary.hpp"
#include "recording/step_replay.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>

using namespace mirfak;

namespace {

const std::filesystem::path kTraces = source_root() + "/../shared/kineto-traces";
const char* const kNames[] = {"b200-eager",           "hta-128gpu-sampled-rank0", "hta-128gpu-sampled-rank1",
                              "hta-a100-16gpu-rank0", "hta-a100-2gpu-ncclmeta",   "hta-v100-2gpu",
                              "kineto-resnet50"};

// Kernels that the tables class otherwise than hw_profiles/kernel_classes.yaml: all whose name has `word` count as
// `theirs` there, in the traces whose name has `trace`. The first that fits holds.
struct Exception {
  const char* trace;
  const char* word;
  const char* theirs;
  const char* why;
};
const Exception kExceptions[] = {
    {"", "nccl", "comm", ""},
    {"", "routingRenormalize", "norm", "the choice of experts: `normalize` is a part of its name"},
    {"", "nocast", "quantise/transpose", "element by element without a cast: `cast` is a part of its name"},
    {"", "fbgemm", "gemm", "look-ups of FBGEMM: `gemm` is a part of the library's name"},
    {"", "LayerNormForwardCUDA", "other", "a layer norm, written without the underscore that the tables ask for"},
    {"", "RowwiseMoments", "other", "a part of a layer norm"},
    {"", "GammaBetaBackward", "other", "the same"},
    {"a100-2gpu", "max_pool", "other", "pooling, which the tables have no word for"},
    {"resnet50", "max_pool", "other", "the same"},
    {"resnet50", "scudnn_winograd", "conv", ""},
    {"resnet50", "OffsetsKernel", "other", "offsets of cuDNN's convolutions"},
    {"resnet50", "scudnn", "gemm or other", "convolutions of cuDNN, by whether sums are split"},
};

bool available() {
  if (std::filesystem::exists(kTraces)) return true;
  MESSAGE("skipped: no ../shared/kineto-traces");
  return false;
}

const KernelClasses& classes() {
  static const KernelClasses read = KernelClasses::from_file(source_root() + "/hw_profiles/kernel_classes.yaml");
  return read;
}

const Recording& recording_of(const std::string& name) {
  static std::map<std::string, Recording> read;
  const auto found = read.find(name);
  if (found != read.end()) return found->second;
  return read.emplace(name, read_kineto(kTraces / (name + ".json.gz"), classes())).first->second;
}

CsvTable fact(const std::string& name, const std::string& table) {
  return CsvTable::from_file(kTraces / "facts" / (name + "." + table + ".csv"));
}

double microseconds(Nanoseconds time) { return static_cast<double>(time) / 1000; }

// Times of the tables are floating-point sums of microseconds, rounded to a nanosecond.
bool same(double ours, double theirs) { return std::abs(ours - theirs) <= 0.0015 + 1e-9 * std::abs(theirs); }
// Unions there are sums over intervals whose ends were rounded apiece.
bool same_union(double ours, double theirs) { return std::abs(ours - theirs) <= 0.2 + 1e-6 * std::abs(theirs); }

std::string class_in_tables(const std::string& trace, const std::string& kernel, const std::string& ours) {
  for (const Exception& each : kExceptions) {
    if (trace.find(each.trace) == std::string::npos || kernel.find(each.word) == std::string::npos) continue;
    if (std::string(each.theirs) != "gemm or other") return each.theirs;
    return kernel.find("splitK") != std::string::npos ? "gemm" : "other";
  }
  return ours;
}

}  // namespace

TEST_CASE("what the traces hold equals the tables' summary") {
  if (!available()) return;
  for (const std::string name : kNames) {
    CAPTURE(name);
    const Recording& recording = recording_of(name);
    const RecordingSummary summary = summarize(recording);
    const CsvTable table = fact(name, "summary");
    std::map<std::string, std::string> facts;
    for (std::size_t row = 0; row < table.rows(); ++row) facts[table.text(row, 0)] = table.text(row, 1);
    const auto text_of = [](const std::optional<std::int64_t>& value) { return value ? std::to_string(*value) : ""; };
    CHECK(recording.gpu == facts["gpu"]);
    CHECK(text_of(recording.rank) == facts["rank"]);
    CHECK(text_of(recording.world_size) == facts["world_size"]);
    CHECK(recording.nccl_version == facts["nccl_version"]);
    CHECK(std::to_string(recording.events) == facts["events"]);
    CHECK(std::to_string(summary.kernels) == facts["kernels"]);
    CHECK(std::to_string(summary.copies) == facts["memcpy_memset"]);
    CHECK(std::to_string(recording.steps.size()) == facts["steps"]);
    CHECK((summary.with_shapes > 0) == (facts["shapes_recorded"] == "yes"));
    CHECK((summary.communications_described > 0) == (facts["collective_metadata_on_kernels"] == "yes"));
    CHECK(same(microseconds(summary.first_to_last), std::stod(facts["gpu_first_to_last_us"])));
    CHECK(same(microseconds(summary.kernel_sum), std::stod(facts["sum_of_kernel_durations_us"])));
    CHECK(same_union(microseconds(summary.busy), std::stod(facts["gpu_busy_us"])));
    CHECK(same_union(microseconds(summary.communication), std::stod(facts["gpu_comm_us"])));
    CHECK(same_union(microseconds(summary.other), std::stod(facts["gpu_not_comm_us"])));
    CHECK(same_union(microseconds(summary.overlapped), std::stod(facts["comm_overlapped_with_other_us"])));
    CHECK(same_union(microseconds(summary.exposed()), std::stod(facts["comm_exposed_us"])));
  }
}

TEST_CASE("sums by class equal the tables'") {
  if (!available()) return;
  for (const std::string name : kNames) {
    CAPTURE(name);
    const Recording& recording = recording_of(name);
    std::map<std::string, std::pair<long, Nanoseconds>> ours;
    for (const RecordedKernel& kernel : recording.kernels) {
      const RecordedClass& cls = recording.class_of(kernel);
      auto& sum = ours[cls.copies ? cls.name : class_in_tables(name, recording.names[kernel.name], cls.name)];
      ++sum.first;
      sum.second += kernel.duration();
    }
    const CsvTable table = fact(name, "classes");
    CHECK(ours.size() == table.rows());
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const std::string& cls = table.text(row, 0);
      CAPTURE(cls);
      CHECK(std::to_string(ours[cls].first) == table.text(row, 1));
      CHECK(same(microseconds(ours[cls].second), table.number(row, 2, 0, 1e12)));
    }
  }
}

TEST_CASE("communication by message equals the tables'") {
  if (!available()) return;
  for (const std::string name : kNames) {
    CAPTURE(name);
    const RecordingSummary summary = summarize(recording_of(name));
    const CsvTable table = fact(name, "comm");
    CHECK(summary.communication_kernels.size() == table.rows());
    std::size_t found = 0;
    for (const CommunicationTime& time : summary.communication_kernels) {
      const RecordedCollective said = time.collective != nullptr ? *time.collective : RecordedCollective{};
      const auto text_of = [](const std::optional<std::int64_t>& value) { return value ? std::to_string(*value) : ""; };
      for (std::size_t row = 0; row < table.rows(); ++row) {
        const auto cell = [&](const char* column) { return table.text(row, table.require(column)); };
        // The tables note of one kernel what is known of it otherwise.
        const std::string kernel = cell("kernel").substr(0, cell("kernel").find(" ("));
        if (time.kernel.find(kernel) == std::string::npos || said.collective != cell("collective") ||
            text_of(said.in_elements) != cell("in_elements")) {
          continue;
        }
        ++found;
        CAPTURE(time.kernel);
        CHECK(said.type == cell("dtype"));
        CHECK(text_of(said.group_size) == cell("group_size"));
        CHECK(text_of(said.out_elements) == cell("out_elements"));
        CHECK(text_of(said.in_bytes) == cell("in_bytes"));
        CHECK(text_of(said.out_bytes) == cell("out_bytes"));
        CHECK(std::to_string(time.count) == cell("count"));
        CHECK(same(microseconds(time.sum), std::stod(cell("total_us"))));
        CHECK(same(microseconds(time.shortest), std::stod(cell("min_us"))));
        CHECK(same(time.median / 1000, std::stod(cell("median_us"))));
        CHECK(same(microseconds(time.longest), std::stod(cell("max_us"))));
      }
    }
    CHECK(found == table.rows());
  }
}

TEST_CASE("steps equal the tables'") {
  if (!available()) return;
  for (const std::string name : kNames) {
    if (!std::filesystem::exists(kTraces / "facts" / (name + ".steps.csv"))) continue;
    CAPTURE(name);
    const Recording& recording = recording_of(name);
    const RecordingSummary summary = summarize(recording);
    const CsvTable table = fact(name, "steps");
    REQUIRE(summary.steps.size() == table.rows());
    const Nanoseconds zero = recording.steps.front().start;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const StepTime& time = summary.steps[row];
      const auto number = [&](const char* column) { return table.number(row, table.require(column), -1e12, 1e12); };
      CAPTURE(time.step->name);
      CHECK(time.step->name == table.text(row, 0));
      CHECK(same(microseconds(time.step->start - zero), number("host_start_us")));
      CHECK(same(microseconds(time.step->end - time.step->start), number("host_duration_us")));
      CHECK(static_cast<double>(time.kernels) == number("kernels_launched"));
      CHECK(same_union(microseconds(time.busy), number("gpu_busy_us")));
      CHECK(same_union(microseconds(time.communication), number("gpu_comm_us")));
      CHECK(same(microseconds(time.first - zero), number("gpu_first_us")));
      CHECK(same(microseconds(time.last - zero), number("gpu_last_us")));
    }
  }
}

TEST_CASE("fitted to every second step, the replay gives the other steps") {
  if (!available()) return;
  for (const std::string name : kNames) {
    const ReplayScore replay = replay_steps(recording_of(name));
    if (replay.judged.empty()) continue;
    CAPTURE(name);
    // In the first step of this trace kernels of the step before run, whose launches are not recorded: of its other
    // steps, which agree within 2 % of each other, none is more than 2.5 % off.
    const bool has_alien_step = name == "hta-a100-16gpu-rank0";
    const double allowed = has_alien_step ? 0.025 : std::max(0.03, replay.other_spread);
    for (const ReplayedStep& step : replay.judged) {
      CAPTURE(step.step);
      CHECK(step.unknown == 0);
      CHECK(std::abs(step.other_error()) <= allowed);
      CHECK(std::abs(step.step_error()) <= replay.step_spread);
    }
  }
}
