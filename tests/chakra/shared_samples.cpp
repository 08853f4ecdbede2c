#include "base/csv.hpp"
#include "chakra/chakra_file.hpp"
#include "chakra/chakra_program.hpp"
#include "engine/execute.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

const std::filesystem::path kSamples = std::filesystem::path(source_root()) / ".." / "shared" / "chakra-samples";

struct Counts {
  std::size_t compute = 0, collectives = 0, sends = 0, receives = 0, data = 0, control = 0;
  std::uint64_t compute_us = 0;
  double collective_bytes = 0, message_bytes = 0;
};

Counts counts(const ChakraTrace& trace) {
  Counts out;
  for (const ChakraNode& node : trace.nodes) {
    out.data += node.data_dependencies.size();
    out.control += node.control_dependencies.size();
    if (node.kind == ChakraNodeKind::compute) {
      ++out.compute;
      out.compute_us += node.duration_us.value_or(0);
    }
    if (node.kind == ChakraNodeKind::collective) {
      ++out.collectives;
      out.collective_bytes += node.bytes;
    }
    if (node.kind == ChakraNodeKind::send) ++out.sends;
    if (node.kind == ChakraNodeKind::receive) ++out.receives;
    if (node.kind == ChakraNodeKind::send) out.message_bytes += node.bytes;
    if (node.kind == ChakraNodeKind::receive) out.message_bytes += node.bytes;
  }
  return out;
}

std::vector<ChakraTrace> ranks(const std::string& prefix, int count) {
  std::vector<ChakraTrace> out;
  for (int rank = 0; rank < count; ++rank) {
    out.push_back(read_chakra_trace(kSamples / fmt::format("{}.{}.et", prefix, rank)));
  }
  return out;
}

// Relaxes every node until nothing changes: slow, and nothing like an engine.
std::uint64_t longest_chain_us(const ChakraTrace& trace) {
  std::map<std::uint64_t, std::uint64_t> end;
  std::uint64_t longest = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const ChakraNode& node : trace.nodes) {
      std::uint64_t start = 0;
      for (const std::uint64_t id : node.data_dependencies) {
        const auto before = end.find(id);
        if (before != end.end()) start = std::max(start, before->second);
      }
      const std::uint64_t own = start + node.duration_us.value_or(0);
      std::uint64_t& known = end[node.id];
      changed = changed || own > known;
      known = std::max(known, own);
      longest = std::max(longest, known);
    }
  }
  return longest;
}

}  // namespace

TEST_CASE("all sample traces are read: counts, dependencies, durations and bytes are those of the table") {
  if (!std::filesystem::exists(kSamples)) return;
  const CsvTable table = CsvTable::from_file(kSamples / "samples.csv");
  std::size_t read = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto cell = [&](const char* column) { return table.text(row, table.require(column)); };
    const std::filesystem::path file = kSamples / cell("file");
    if (!std::filesystem::exists(file)) continue;  // the table lists files that may not be given on
    const ChakraTrace trace = read_chakra_trace(file);
    const Counts found = counts(trace);
    CAPTURE(file.string());
    CHECK(trace.version == cell("version"));
    CHECK(std::to_string(trace.nodes.size()) == cell("nodes"));
    CHECK(std::to_string(found.compute) == cell("comp"));
    CHECK(std::to_string(found.collectives) == cell("coll"));
    CHECK(std::to_string(found.sends) == cell("send"));
    CHECK(std::to_string(found.receives) == cell("recv"));
    CHECK(std::to_string(found.data) == cell("data_deps"));
    CHECK(std::to_string(found.control) == cell("ctrl_deps"));
    CHECK(std::to_string(found.compute_us) == cell("comp_duration_sum_us"));
    CHECK(fmt::format("{:.0f}", found.collective_bytes) == cell("coll_bytes_sum"));
    CHECK(fmt::format("{:.0f}", found.message_bytes) == cell("p2p_bytes_sum"));
    ++read;
  }
  CHECK(read == 121);
}

TEST_CASE("sample traces are executed") {
  if (!std::filesystem::exists(kSamples)) return;
  SUBCASE("a ring of sends and receives, by a price of its own for each message") {
    const std::vector<ChakraTrace> traces =
        ranks("astra-sim/examples/system/custom_collectives/custom_ring_allreduce_8npus_1MB/custom_allreduce", 8);
    const ChakraPrice price = [](const ChakraNode& node, std::span<const std::int64_t>) {
      return std::optional<double>(node.kind == ChakraNodeKind::send ? 3e-6 : 0.0);
    };
    const ChakraProgram joined = chakra_program(traces, price);
    // 14 hops one after the other, and 7 reductions of 7 us.
    CHECK(execute(joined.program).makespan == to_picoseconds(14 * 3e-6 + 7 * 7e-6));
  }
  SUBCASE("a recorded training step takes as long as its longest chain") {
    for (const std::string name : {"chakra-tests/chakra.0.et.gz", "chakra-tests/chakra.0.json.gz"}) {
      const std::vector<ChakraTrace> traces = {read_chakra_trace(kSamples / name)};
      const ChakraProgram joined = chakra_program(traces);
      const Timeline timeline = execute(joined.program);
      CHECK(timeline.makespan == static_cast<Picoseconds>(longest_chain_us(traces[0])) * 1'000'000);
    }
  }
}
