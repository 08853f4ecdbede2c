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

// What NCCL says in the payload of an NVTX range of one of its calls.
struct NcclPayload {
  std::optional<std::uint64_t> communicator;
  std::optional<std::int64_t> ranks;  // of the communicator
  std::optional<std::int64_t>
      message_bytes;  // as NCCL counts them: what one rank gives to a gather or gets of a scatter
};

// Decodes payloads by the layouts that the database holds (NVTX_PAYLOAD_SCHEMA_ENTRIES), or from JSON.
class NcclPayloads {
 public:
  // Reads the layouts; a database without them, of an older version, decodes nothing.
  explicit NcclPayloads(const SqliteFile& file);

  // nullopt: not of a known form.
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

// Whether this is the name of a call of NCCL that moves data ("ncclAllReduce"), or of one that makes a communicator.
bool is_nccl_collective(std::string_view call);
bool is_nccl_initialization(std::string_view call);

// The call as a collective; `ranks`: of its communicator.
RecordedCollective nccl_collective(const std::string& call, const NcclPayload& payload,
                                   std::optional<std::int64_t> ranks);

}  // namespace mirfak
