#pragma once

#include "recording/recording.hpp"
#include "recording/sqlite_file.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mirfak {

// The data in the payload of an NVTX range of one of NCCL's calls.
struct NcclPayload {
  std::optional<std::uint64_t> communicator;
  std::optional<std::int64_t> ranks;  // number of ranks of the communicator
  std::optional<std::int64_t>
      message_bytes;  // counted as NCCL counts: the bytes that one rank gives to a gather or gets of a scatter
};

// Decodes payloads by the layouts that the database holds (NVTX_PAYLOAD_SCHEMA_ENTRIES), or from JSON.
class NcclPayloads {
 public:
  // Reads the layouts; with a database of an older version, which has no layouts, nothing is decoded.
  explicit NcclPayloads(const SqliteFile& file);

  // Decodes a payload; nullopt: its form is not known.
  std::optional<NcclPayload> decode(std::int64_t domain, std::string_view binary) const;
  static std::optional<NcclPayload> decode_json(const std::string& text);

 private:
  struct Entry {
    std::string name;
    std::int64_t type = 0;
    std::int64_t offset = 0;
  };
  std::multimap<std::pair<std::int64_t, std::int64_t>, Entry> entries_;  // by domain and schema
};

// True if `call` is the name of an NCCL call that moves data ("ncclAllReduce"), or of a call that makes a communicator.
bool is_nccl_collective(std::string_view call);
bool is_nccl_initialization(std::string_view call);

// Returns the call as a collective; `ranks`: number of ranks of its communicator.
RecordedCollective nccl_collective(const std::string& call, const NcclPayload& payload,
                                   std::optional<std::int64_t> ranks);

}  // namespace mirfak
