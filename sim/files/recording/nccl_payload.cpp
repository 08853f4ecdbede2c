// NCCL gives each of its calls an NVTX range with the call's name, and from version 2.14 on a payload: the communicator
// and the bytes of the message (NVIDIA/nccl, src/include/nvtx_payload_schemas.h). Nsight Systems keeps payloads in the
// column binaryData and their layouts in NVTX_PAYLOAD_SCHEMA_ENTRIES. Four numbers of 64 bits precede the payload: its
// domain, its layout, its size, and its offset. A payload that does not agree with all of this is not read.
#include "recording/nccl_payload.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace mirfak {

namespace {

constexpr const char* kEntries = "NVTX_PAYLOAD_SCHEMA_ENTRIES";
constexpr std::string_view kCommunicator = "NCCL communicator ID";
constexpr std::string_view kRanks = "No. of ranks";
constexpr std::string_view kMessage = "Message size [bytes]";
constexpr std::size_t kHeaderBytes = 32;
constexpr std::int64_t kMaxMessageBytes = std::int64_t{1} << 50;
constexpr std::int64_t kMaxRanks = std::int64_t{1} << 24;

// The values of NVTX_PAYLOAD_ENTRY_TYPE_... in nvToolsExtPayload.h that NCCL uses.
enum NvtxType : std::int64_t { nvtx_int = 5, nvtx_uint = 6, nvtx_int32 = 15, nvtx_uint64 = 18, nvtx_size = 22 };

constexpr std::array<std::string_view, 12> kCollectives = {
    "ncclAllReduce", "ncclAllGather", "ncclReduceScatter", "ncclBroadcast", "ncclBcast",   "ncclReduce",
    "ncclSend",      "ncclRecv",      "ncclAlltoAll",      "ncclAllToAll",  "ncclScatter", "ncclGather"};
constexpr std::array<std::string_view, 4> kInitializations = {"ncclCommInitRank", "ncclCommInitRankConfig",
                                                              "ncclCommInitRankScalable", "ncclCommSplit"};

template <typename T>
T number_at(std::string_view bytes, std::size_t offset) {
  T out;
  std::memcpy(&out, bytes.data() + offset, sizeof(T));
  return out;
}

std::optional<std::uint64_t> value_of(std::int64_t type, std::int64_t offset, std::string_view payload) {
  const bool wide = type == nvtx_uint64 || type == nvtx_size;
  const bool narrow = type == nvtx_int || type == nvtx_uint || type == nvtx_int32;
  if (!wide && !narrow) return std::nullopt;
  const std::size_t size = wide ? 8 : 4;
  if (offset < 0 || payload.size() < size || static_cast<std::size_t>(offset) > payload.size() - size) {
    return std::nullopt;
  }
  const auto at = static_cast<std::size_t>(offset);
  return wide ? number_at<std::uint64_t>(payload, at) : number_at<std::uint32_t>(payload, at);
}

void set(NcclPayload& payload, std::string_view name, std::uint64_t value) {
  const auto within = [&](std::int64_t most) -> std::optional<std::int64_t> {
    if (value > static_cast<std::uint64_t>(most)) return std::nullopt;
    return static_cast<std::int64_t>(value);
  };
  if (name == kCommunicator) payload.communicator = value;
  if (name == kRanks) payload.ranks = within(kMaxRanks);
  if (name == kMessage) payload.message_bytes = within(kMaxMessageBytes);
}

}  // namespace

NcclPayloads::NcclPayloads(const SqliteFile& file) {
  if (!file.has(kEntries)) return;
  for (const char* column : {"domainId", "schemaId", "type", "name", "offset"}) {
    if (!file.has(kEntries, column)) return;
  }
  SqliteRows rows(
      file, kEntries,
      fmt::format("SELECT domainId, schemaId, name, type, \"offset\" FROM {} WHERE name IN ('{}', '{}', '{}')",
                  kEntries, kCommunicator, kRanks, kMessage));
  while (rows.next()) {
    if (rows.is_null(4)) continue;  // after a text of unknown length
    entries_.insert({{rows.integer(0), rows.integer(1)}, {rows.text(2), rows.integer(3), rows.integer(4)}});
  }
}

std::optional<NcclPayload> NcclPayloads::decode(std::int64_t domain, std::string_view binary) const {
  if (binary.size() < kHeaderBytes) return std::nullopt;
  const auto head = [&](std::size_t i) { return number_at<std::uint64_t>(binary, 8 * i); };
  if (head(0) != static_cast<std::uint64_t>(domain) || head(3) != kHeaderBytes) return std::nullopt;
  if (head(2) != binary.size() - kHeaderBytes) return std::nullopt;
  const auto [begin, end] = entries_.equal_range({domain, static_cast<std::int64_t>(head(1))});
  if (begin == end) return std::nullopt;
  NcclPayload out;
  for (auto entry = begin; entry != end; ++entry) {
    const auto value = value_of(entry->second.type, entry->second.offset, binary.substr(kHeaderBytes));
    if (!value) return std::nullopt;
    set(out, entry->second.name, *value);
  }
  return out;
}

std::optional<NcclPayload> NcclPayloads::decode_json(const std::string& text) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(text.c_str(), text.size());
  if (document.HasParseError() || !document.IsObject()) return std::nullopt;
  NcclPayload out;
  bool known = false;
  for (const std::string_view name : {kCommunicator, kRanks, kMessage}) {
    const rapidjson::Value key(rapidjson::StringRef(name.data(), static_cast<rapidjson::SizeType>(name.size())));
    if (!document.HasMember(key) || !document[key].IsUint64()) continue;
    set(out, name, document[key].GetUint64());
    known = true;
  }
  return known ? std::optional(out) : std::nullopt;
}

bool is_nccl_collective(std::string_view call) {
  return std::find(kCollectives.begin(), kCollectives.end(), call) != kCollectives.end();
}

bool is_nccl_initialization(std::string_view call) {
  return std::find(kInitializations.begin(), kInitializations.end(), call) != kInitializations.end();
}

RecordedCollective nccl_collective(const std::string& call, const NcclPayload& payload,
                                   std::optional<std::int64_t> ranks) {
  RecordedCollective out;
  out.collective = call;
  if (payload.communicator) out.group = fmt::format("{:016x}", *payload.communicator);
  out.group_size = ranks;
  if (!payload.message_bytes) return out;
  const std::int64_t bytes = *payload.message_bytes;
  std::optional<std::int64_t> whole;
  if (ranks && bytes <= kMaxMessageBytes / std::max<std::int64_t>(*ranks, 1)) whole = bytes * *ranks;
  out.in_bytes = call == "ncclReduceScatter" ? whole : bytes;
  out.out_bytes = call == "ncclAllGather" ? whole : bytes;
  return out;
}

}  // namespace mirfak
