// Databases of Nsight Systems, made by SQL to the schema of two versions: what is read of them, and what is refused.
#include "recording/nsight.hpp"

#include "base/error.hpp"
#include "recording/recording_files.hpp"
#include "recording/recording_summary.hpp"
#include "support/source_root.hpp"
#include "support/sqlite_text.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace nsight_test {

using namespace mirfak;

namespace {

const KernelClasses& classes() {
  static const KernelClasses read = KernelClasses::from_file(source_root() + "/hw_profiles/kernel_classes.yaml");
  return read;
}

// Serialized ids: process 7, its threads 1 and 2.
constexpr long kProcess = 7L << 24;
constexpr long kThread = kProcess + 1;

// The schema of 2020 and 2021: no JSON, no payloads, no table of metadata, GPUs in TARGET_INFO_CUDA_GPU.
const std::string kOlder = R"(
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_CUDA_GPU (id INT NOT NULL, name TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT NOT NULL, end INT NOT NULL, eventClass INT NOT NULL, globalTid INT,
  correlationId INT, nameId INT NOT NULL, returnValue INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL,
  contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT, globalPid INT, demangledName INT NOT NULL,
  shortName INT NOT NULL, gridX INT, blockX INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL,
  streamId INT NOT NULL, correlationId INT, globalPid INT, bytes INT NOT NULL, copyKind INT NOT NULL);
CREATE TABLE NVTX_EVENTS (start INT NOT NULL, end INT, eventType INT NOT NULL, rangeId INT, category INT, color INT,
  text TEXT, globalTid INT, endGlobalTid INT, textId INT, domainId INT, uint64Value INT);
)";

// The schema of 2024: names of kernels as mangled, too, JSON and payloads in ranges, layouts of payloads, the version.
const std::string kNewer = R"(
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.15.1');
CREATE TABLE TARGET_INFO_GPU (vmId INT, id INT, name TEXT, smCount INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT NOT NULL, end INT NOT NULL, eventClass INT NOT NULL, globalTid INT,
  correlationId INT, nameId INT NOT NULL, returnValue INT NOT NULL, callchainId INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL,
  contextId INT NOT NULL, greenContextId INT, streamId INT NOT NULL, correlationId INT, globalPid INT,
  demangledName INT NOT NULL, shortName INT NOT NULL, mangledName INT, launchType INT, graphNodeId INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INT NOT NULL, end INT NOT NULL);
CREATE TABLE NVTX_EVENTS (start INT NOT NULL, end INT, eventType INT NOT NULL, rangeId INT, category INT, color INT,
  text TEXT, globalTid INT, endGlobalTid INT, textId INT, domainId INT, uint64Value INT, jsonTextId INT, jsonText TEXT,
  binaryData TEXT);
CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INT, schemaId INT, idx INT, flags INT, type INT, name TEXT,
  description TEXT, arrayOrUnionDetail INT, offset INT);
)";

std::string text(int id, const std::string& value) {
  return fmt::format("INSERT INTO StringIds VALUES ({}, '{}');", id, value);
}

std::string launch(int correlation, long start, long thread = kThread) {
  return fmt::format(
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId, returnValue) "
      "VALUES ({}, {}, 0, {}, {}, 1, 0);",
      start, start + 4, thread, correlation);
}

std::string kernel(int name, int correlation, long start, long end, int stream = 9, long process = kProcess) {
  return fmt::format(
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid, "
      "demangledName, shortName) VALUES ({}, {}, 0, 1, {}, {}, {}, {}, {});",
      start, end, stream, correlation, process, name, name);
}

std::string range(const std::string& value, long start, long end, long thread = kThread) {
  return fmt::format("INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, text) VALUES ({}, {}, 59, {}, '{}');",
                     start, end, thread, value);
}

std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += fmt::format("{:02X}", value >> (8 * i) & 0xFFU);
  return out;
}

// A range of a call of NCCL in domain 3 with a payload of this layout.
std::string payload_range(const std::string& call, long start, long end, int schema, const std::string& payload) {
  const std::string head = little_endian(3, 8) + little_endian(static_cast<std::uint64_t>(schema), 8) +
                           little_endian(payload.size() / 2, 8) + little_endian(32, 8);
  return fmt::format(
      "INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, text, domainId, binaryData) "
      "VALUES ({}, {}, 59, {}, '{}', 3, X'{}');",
      start, end, kThread, call, head + payload);
}

std::vector<Recording> read(const std::string& statements) {
  return read_nsight_bytes(database_of(statements), "r.sqlite", classes());
}

std::string refusal(const std::string& bytes) {
  try {
    read_nsight_bytes(bytes, "r.sqlite", classes());
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.where().text() + ": " + error.message();
  }
  return "not refused";
}

bool noted(const Recording& recording, const std::string& words) {
  return std::any_of(recording.notes.begin(), recording.notes.end(),
                     [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("an export of the older schema: kernels, copies, launches, steps and operators") {
  const auto all =
      read(kOlder + text(1, "cudaLaunchKernel") + text(2, "ampere_sgemm_128x64_tn") + text(3, "iteration 4") +
           "INSERT INTO TARGET_INFO_CUDA_GPU VALUES (0, 'GPU of the test');" + range("iteration 3", 0, 100) +
           "INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, textId) VALUES (100, 200, 59, 117440513, 3);" +
           range("aten::mm, seq = 5, sizes = [[8, 4], [4, 2]]", 10, 40) + range("my own", 0, 300) + launch(7, 20) +
           launch(8, 150) + kernel(2, 7, 300, 310) + kernel(2, 8, 320, 345, 11) +
           "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (400, 420, 0, 12, 9, 117440512, 4096, 1);");
  REQUIRE(all.size() == 1);
  const Recording& recording = all.front();
  CHECK(recording.gpu == "GPU of the test");
  REQUIRE(recording.kernels.size() == 3);
  const RecordedKernel& first = recording.kernels[0];
  CHECK(recording.class_of(first).name == "gemm");
  CHECK(first.duration() == 10);
  CHECK(first.launch == 20);
  CHECK(first.launch_end == 24);
  CHECK(first.step == 0);
  REQUIRE(first.operator_ == 0);
  CHECK(recording.operators.front() == RecordedOperator{"aten::mm", "[[8,4],[4,2]]", ""});
  CHECK(recording.kernels[1].step == 1);  // launched in it, ran behind it
  CHECK(recording.kernels[1].stream == 11);
  CHECK(recording.kernels[1].operator_ == -1);
  CHECK(recording.names[recording.kernels[2].name] == "Memcpy HtoD");
  CHECK(recording.class_of(recording.kernels[2]).copies);
  REQUIRE(recording.steps.size() == 2);
  CHECK(recording.steps[1].name == "iteration 4");
  CHECK(recording.unread.at("other NVTX ranges") == 1);
  CHECK(noted(recording, "steps are 2 NVTX ranges, from 'iteration 3' on"));
  CHECK(noted(recording, "which schema the export is of is not said"));
}

TEST_CASE("an export of the newer schema: NCCL's calls with bytes and groups") {
  const std::string communicator = little_endian(0xABC, 8);
  const std::string layouts = R"(
    INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (3, 50, 0, 0, 18, 'NCCL communicator ID', NULL, NULL, 0);
    INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (3, 50, 1, 0, 5, 'No. of ranks', NULL, NULL, 8);
    INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (3, 51, 0, 0, 18, 'NCCL communicator ID', NULL, NULL, 0);
    INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (3, 51, 1, 0, 22, 'Message size [bytes]', NULL, NULL, 8);)";
  const std::string nccl = text(2, "ncclDevKernel_AllGather_RING_LL");
  const auto all =
      read(kNewer + layouts + nccl + text(1, "cudaLaunchKernelExC") +
           "INSERT INTO TARGET_INFO_GPU VALUES (0, 0, 'GPU of the test', 1);"
           "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1, 2);" +
           payload_range("ncclCommInitRank", 0, 5, 50, communicator + little_endian(8, 4)) +
           payload_range("ncclAllGather", 10, 30, 51, communicator + little_endian(4096, 8)) +
           payload_range("ncclReduceScatter", 40, 60, 51, communicator + little_endian(512, 8)) +
           payload_range("ncclAllReduce", 70, 80, 99, communicator) +  // of a layout that is not there
           "INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, text, jsonText) VALUES (90, 99, 59, 117440513, "
           "'ncclAllReduce', '{\"NCCL communicator ID\": 2748, \"Message size [bytes]\": 64}');" +
           launch(1, 20) + launch(2, 50) + launch(3, 75) + launch(4, 95) + launch(5, 200) + kernel(2, 1, 300, 310) +
           kernel(2, 2, 320, 330) + kernel(2, 3, 340, 350) + kernel(2, 4, 360, 370) + kernel(2, 5, 380, 390));
  REQUIRE(all.size() == 1);
  const Recording& recording = all.front();
  REQUIRE(recording.kernels.size() == 5);
  const auto collective = [&](std::size_t i) {
    return recording.collectives[static_cast<std::size_t>(recording.kernels[i].collective)];
  };
  CHECK(collective(0).collective == "ncclAllGather");
  CHECK(collective(0).group == "0000000000000abc");
  CHECK(collective(0).group_size == 8);
  CHECK(collective(0).in_bytes == 4096);
  CHECK(collective(0).out_bytes == 8 * 4096);
  CHECK(collective(1).in_bytes == 8 * 512);
  CHECK(collective(1).out_bytes == 512);
  CHECK(collective(2).collective == "ncclAllReduce");
  CHECK(collective(2).in_bytes == std::nullopt);
  CHECK(noted(recording, "the payloads of 1 calls of NCCL are not of a known form"));
  CHECK(collective(3).in_bytes == 64);
  CHECK(collective(3).out_bytes == 64);
  CHECK(recording.kernels[4].collective == -1);  // launched outside of all calls
  CHECK(recording.unread.at("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION") == 1);
  CHECK(noted(recording, "the export is of schema 3.15.1"));
  CHECK(noted(recording, "no NVTX range numbers steps"));
  REQUIRE(recording.steps.size() == 1);
  const RecordingSummary summary = summarize(recording);
  CHECK(summary.communications_described == 4);
  CHECK(summary.steps.front().kernels == 5);
}

TEST_CASE("of several kinds of numbered ranges one counts, of one thread") {
  const auto all =
      read(kOlder + text(2, "k") + kernel(2, 1, 300, 310) + range("step 1", 1, 2) + range("ProfilerStep#1", 0, 10) +
           range("ProfilerStep#1", 0, 10, kThread + 1) + range("ProfilerStep#2", 10, 20));
  REQUIRE(all.front().steps.size() == 2);
  CHECK(all.front().steps[1].name == "ProfilerStep#2");
  CHECK(noted(all.front(), "2 numbered ranges inside them, or of other threads, are not read"));
}

TEST_CASE("a file of several processes is a recording each, whose launches do not mix") {
  const long other = 8L << 24;
  const auto all = read(kOlder + text(1, "cudaLaunchKernel") + text(2, "k") + kernel(2, 5, 100, 110) +
                        kernel(2, 5, 200, 210, 9, other) + launch(5, 50) + launch(5, 60, other + 1));
  REQUIRE(all.size() == 2);
  CHECK(all[0].kernels.front().launch == 50);
  CHECK(all[1].kernels.front().launch == 60);
  CHECK(noted(all[1], "the file holds 2 processes; this is process 8"));
}

TEST_CASE("a file is known by how it begins, not by its name") {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "mirfak nsight 50%.dat";
  std::ofstream(path, std::ios::binary) << database_of(kOlder + text(2, "k") + kernel(2, 1, 300, 310));
  CHECK(is_recording_file(path));
  CHECK(read_recording(path, classes()).kernels.size() == 1);
  std::ofstream(path, std::ios::binary) << "SQLite format 3";
  CHECK_FALSE(is_recording_file(path));
  std::filesystem::remove(path);
}

TEST_CASE("what is missing or malformed is refused with its table") {
  CHECK(refusal(std::string("SQLite format 3\0", 16) + std::string(600, 'x')).find("r.sqlite: ") == 0);
  CHECK(refusal(database_of("CREATE TABLE a (b INT);")) ==
        "r.sqlite: the database has no table CUPTI_ACTIVITY_KIND_KERNEL");
  CHECK(refusal(database_of("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT);")) ==
        "r.sqlite: the table CUPTI_ACTIVITY_KIND_KERNEL has no column streamId");
  CHECK(refusal(database_of("CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start;")) ==
        "r.sqlite: the database has no table CUPTI_ACTIVITY_KIND_KERNEL");
  CHECK(refusal(database_of(kOlder)) == "r.sqlite: no kernel of a GPU is recorded");
  const std::string good = kOlder + text(2, "k");
  CHECK(refusal(database_of(good + kernel(3, 1, 300, 310))) ==
        "r.sqlite: table CUPTI_ACTIVITY_KIND_KERNEL, row 1, column demangledName: expected the number of a text in "
        "StringIds, found 3");
  CHECK(refusal(database_of(good + kernel(2, 1, 300, 310) + kernel(2, 1, 300, 290))) ==
        "r.sqlite: table CUPTI_ACTIVITY_KIND_KERNEL, row 2, column end: expected nanoseconds from the start to 2^62");
  CHECK(refusal(database_of(good + kernel(2, 1, 300, 310) + "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'soon';")) ==
        "r.sqlite: table CUPTI_ACTIVITY_KIND_KERNEL, row 1, column start: expected a whole number");
  CHECK(refusal(database_of(good + kernel(2, 1, 300, 310) +
                            "DROP TABLE NVTX_EVENTS; CREATE TABLE NVTX_EVENTS (start INT, end INT);")) ==
        "r.sqlite: the table NVTX_EVENTS has no column globalTid");
  const std::string cut = database_of(good + kernel(2, 1, 300, 310));
  for (std::size_t size = 0; size < cut.size(); size += 512) {
    CAPTURE(size);
    CHECK(refusal(cut.substr(0, size)).find("r.sqlite") == 0);
  }
}

TEST_CASE("without launches and ranges a recording is used as far as it goes") {
  const auto all = read(kOlder + "DROP TABLE NVTX_EVENTS; DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME;" + text(2, "k") +
                        kernel(2, 1, 300, 310));
  CHECK(all.front().steps.size() == 1);
  CHECK(noted(all.front(), "has no table CUPTI_ACTIVITY_KIND_RUNTIME"));
  CHECK(noted(all.front(), "has no table NVTX_EVENTS"));
}

}  // namespace nsight_test
