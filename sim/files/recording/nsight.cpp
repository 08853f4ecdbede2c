// The database of Nsight Systems has a table for each kind of event, but only if such events were recorded. Names are
// numbers in StringIds; times are nanoseconds; process and thread are one serialized number, whose lower 24 bits are
// the thread's. Tables and columns follow the "SQLite Schema Reference" of Nsight Systems' documentation, from version
// 2020.2 to 2025; the reader does not look at the version of the file, only at its content.
#include "recording/nsight.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "recording/nsight_ranges.hpp"
#include "recording/recording_builder.hpp"
#include "recording/sqlite_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace mirfak {

namespace {

constexpr const char* kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr const char* kCopies = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr const char* kSets = "CUPTI_ACTIVITY_KIND_MEMSET";
constexpr const char* kCalls = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr const char* kGraphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
constexpr const char* kHint = "record with `nsys profile --trace=cuda,nvtx`, export with `nsys export --type sqlite`";

struct GpuRow {
  RecordedKernel kernel;
  std::optional<std::int64_t> correlation;
};

class NsightReader {
 public:
  NsightReader(const SqliteFile& file, const KernelClasses& classes) : file_(file), classes_(classes) {}

  std::vector<Recording> read() {
    find_processes();
    read_kernels();
    read_copies(kCopies);
    read_copies(kSets);
    read_calls();
    read_nvtx(file_, processes_);
    note_unread();
    std::vector<Recording> out;
    for (auto& [process, builder] : processes_) out.push_back(finished(builder));
    return out;
  }

 private:
  void find_processes() {
    for (const char* column : {"start", "end", "deviceId", "streamId", "correlationId"}) {
      file_.require(kKernels, column, kHint);
    }
    if (!file_.has(kKernels, "demangledName")) file_.require(kKernels, "shortName", kHint);
    file_.require("StringIds", "id", kHint);
    file_.require("StringIds", "value", kHint);
    if (!file_.has(kKernels, "globalPid")) {
      processes_.try_emplace(0, file_.name(), classes_);
      return;
    }
    constexpr std::size_t kMostProcesses = 4096;
    SqliteRows rows(file_, kKernels, fmt::format("SELECT DISTINCT globalPid FROM {}", kKernels));
    while (rows.next()) {
      const auto process = static_cast<std::uint64_t>(rows.integer(0)) >> 24U;
      processes_.try_emplace(process, file_.name(), classes_);
      if (processes_.size() > kMostProcesses) rows.fail(0, "at most 4096 processes");
    }
    if (processes_.empty()) fail_input({file_.name(), 0, 0}, "no kernel of a GPU is recorded", kHint);
  }

  // Returns the columns that kernels and copies have in common, in the order in which gpu_row() reads them.
  std::string gpu_columns(const char* table) const {
    return fmt::format("start, \"end\", deviceId, streamId, correlationId, {}",
                       file_.has(table, "globalPid") ? "globalPid" : "0 AS globalPid");
  }

  static GpuRow gpu_row(const SqliteRows& rows) {
    GpuRow out;
    const NsightInterval time = interval_of(rows, 0);
    out.kernel.start = time.start;
    out.kernel.end = time.end;
    const std::int64_t device = rows.integer(2);
    if (device < 0 || device > 1 << 16) rows.fail(2, "0 to 65536");
    out.kernel.device = static_cast<std::int32_t>(device);
    out.kernel.stream = rows.integer(3);
    out.correlation = rows.optional_integer(4);
    return out;
  }

  RecordingBuilder* process(std::int64_t global_id) { return process_of(processes_, global_id); }

  void read_kernels() {
    const char* name = file_.has(kKernels, "demangledName") ? "demangledName" : "shortName";
    SqliteRows rows(file_, kKernels,
                    fmt::format("SELECT {}, {}, (SELECT value FROM StringIds WHERE id = {}) FROM {}",
                                gpu_columns(kKernels), name, name, kKernels));
    while (rows.next()) {
      const GpuRow row = gpu_row(rows);
      if (rows.is_null(7)) rows.fail(6, fmt::format("the number of a text in StringIds, found {}", rows.integer(6)));
      if (RecordingBuilder* builder = process(rows.integer(5))) {
        builder->add_kernel(row.kernel, rows.text(7), false, row.correlation, nullptr);
      }
    }
  }

  void read_copies(const char* table) {
    if (!file_.has(table)) return;
    for (const char* column : {"start", "end", "deviceId", "streamId", "correlationId"}) {
      file_.require(table, column, kHint);
    }
    const bool kinds = file_.has(table, "copyKind");
    SqliteRows rows(file_, table,
                    fmt::format("SELECT {}, {} FROM {}", gpu_columns(table), kinds ? "copyKind" : "NULL", table));
    while (rows.next()) {
      const GpuRow row = gpu_row(rows);
      RecordingBuilder* builder = process(rows.integer(5));
      if (builder == nullptr) continue;
      const std::string name = table == kSets ? "Memset" : copy_name(rows.optional_integer(6));
      builder->add_kernel(row.kernel, name, true, row.correlation, nullptr);
    }
  }

  // Names the values of CUpti_ActivityMemcpyKind.
  static std::string copy_name(std::optional<std::int64_t> kind) {
    if (kind == 1) return "Memcpy HtoD";
    if (kind == 2) return "Memcpy DtoH";
    if (kind == 8) return "Memcpy DtoD";
    if (kind == 10) return "Memcpy PtoP";
    return "Memcpy";
  }

  void read_calls() {
    if (!file_.has(kCalls)) return;
    for (const char* column : {"start", "end", "globalTid", "correlationId"}) file_.require(kCalls, column, kHint);
    SqliteRows rows(
        file_, kCalls,
        fmt::format("SELECT start, \"end\", globalTid, correlationId FROM {} WHERE correlationId NOT NULL", kCalls));
    while (rows.next()) {
      const NsightInterval time = interval_of(rows, 0);
      const std::int64_t thread = rows.integer(2);
      if (RecordingBuilder* builder = process(thread)) {
        builder->add_launch(rows.integer(3), std::to_string(thread), time.start, time.end);
      }
    }
  }

  void note_unread() {
    constexpr std::array<const char*, 4> kRead = {kKernels, kCopies, kSets, kCalls};
    for (const std::string& table : file_.tables()) {
      if (table.rfind("CUPTI_ACTIVITY_KIND_", 0) != 0 || table == kGraphs) continue;
      if (std::find(kRead.begin(), kRead.end(), table) != kRead.end()) continue;
      const std::uint64_t events = file_.rows(table);
      for (auto& [process, builder] : processes_) {
        if (events > 0) builder.add_unread(table, events);
      }
    }
    for (auto& [process, builder] : processes_) {
      if (file_.has(kGraphs) && file_.rows(kGraphs) > 0) {
        builder.add_note(fmt::format(
            "{} CUDA graphs are recorded as wholes: their kernels are not there; record with --cuda-graph-trace=node",
            file_.rows(kGraphs)));
      }
      if (!file_.has(kCalls)) {
        builder.add_note(
            fmt::format("the database has no table {}: when the host launched kernels is not known", kCalls));
      }
      if (!file_.has("NVTX_EVENTS")) {
        builder.add_note("the database has no table NVTX_EVENTS: steps, operators and calls of NCCL are not known");
      }
      if (processes_.size() > 1) {
        builder.add_note(
            fmt::format("the file holds {} processes; this is process {}", processes_.size(), process & 0xFFFFFFU));
      }
    }
  }

  // Returns the name of the GPU; "": not recorded, or several GPUs.
  std::string gpu_name() const {
    for (const char* table : {"TARGET_INFO_GPU", "TARGET_INFO_CUDA_GPU"}) {
      if (!file_.has(table, "name")) continue;
      SqliteRows rows(file_, table, fmt::format("SELECT DISTINCT name FROM {}", table));
      if (!rows.next()) continue;
      const std::string name = rows.text(0);
      return rows.next() ? std::string{} : name;
    }
    return {};
  }

  std::string schema_version() const {
    if (!file_.has("META_DATA_EXPORT", "name") || !file_.has("META_DATA_EXPORT", "value")) return {};
    SqliteRows rows(file_, "META_DATA_EXPORT",
                    "SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_SCHEMA_VERSION'");
    return rows.next() ? rows.text(0) : std::string{};
  }

  Recording finished(RecordingBuilder& builder) const {
    const std::string version = schema_version();
    builder.add_note(version.empty() ? "which schema the export is of is not said: read by its tables and columns"
                                     : fmt::format("the export is of schema {}", excerpt(version)));
    if (!builder.has_steps()) {
      builder.make_one_step("the whole recording");
      builder.add_note("no NVTX range numbers steps (ProfilerStep#N, iteration N, step N): the whole counts as one");
    }
    Recording out = builder.finish();
    out.gpu = gpu_name();
    out.events = out.kernels.size();
    return out;
  }

  const SqliteFile& file_;
  const KernelClasses& classes_;
  NsightProcesses processes_;
};

}  // namespace

std::vector<Recording> read_nsight(const std::filesystem::path& path, const KernelClasses& classes) {
  const SqliteFile file(path);
  return NsightReader(file, classes).read();
}

std::vector<Recording> read_nsight_bytes(std::string_view bytes, const std::string& name,
                                         const KernelClasses& classes) {
  const SqliteFile file(bytes, name);
  return NsightReader(file, classes).read();
}

}  // namespace mirfak
