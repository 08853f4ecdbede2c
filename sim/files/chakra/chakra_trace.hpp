#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Kinds of nodes of a Chakra trace, by the numbers of its schema (github.com/mlcommons/chakra, arXiv 2305.14516).
enum class ChakraNodeKind : std::uint8_t {
  invalid = 0,
  metadata = 1,
  memory_load = 2,
  memory_store = 3,
  compute = 4,
  send = 5,
  receive = 6,
  collective = 7,
};
std::string_view name_of(ChakraNodeKind kind);

// Kinds of collectives, by the numbers of the schema.
enum class ChakraCollective : std::uint8_t {
  all_reduce = 0,
  reduce = 1,
  all_gather = 2,
  gather = 3,
  scatter = 4,
  broadcast = 5,
  all_to_all = 6,
  reduce_scatter = 7,
  reduce_scatter_block = 8,
  barrier = 9,
};
inline constexpr int kChakraCollectives = 10;
std::string_view name_of(ChakraCollective kind);

// One piece of a rank's work: it begins when all its dependencies have ended.
struct ChakraNode {
  std::uint64_t id = 0;
  std::string name;
  ChakraNodeKind kind{};
  std::vector<std::uint64_t> control_dependencies;  // ids of the same rank
  std::vector<std::uint64_t> data_dependencies;
  std::uint64_t start_us = 0;
  std::optional<std::uint64_t> duration_us;  // absent: not recorded
  // The exact duration, which traces of this program state (attribute "duration_ps").
  std::optional<std::uint64_t> duration_ps;
  bool on_host = false;     // is_cpu_op
  double operations = 0;    // num_ops
  double tensor_bytes = 0;  // tensor_size
  std::optional<ChakraCollective> collective;
  double bytes = 0;                  // comm_size: the input of one rank
  std::string group;                 // pg_name; empty: the group of all ranks
  std::optional<std::int64_t> peer;  // comm_dst of a send, comm_src of a receive
  std::int64_t tag = 0;              // comm_tag
  bool rendezvous = false;           // a send or receive that waits for its other end ("rendezvous")
  std::string stream;                // stream on which it ran ("stream"); empty: not stated
  std::int32_t microbatch = -1;      // ("microbatch"); -1: none, or not stated
};

// A group of ranks, as nodes name it.
struct ChakraGroup {
  std::string name;
  std::int64_t size = 0;
};

// The trace of one rank.
struct ChakraTrace {
  std::string file;
  std::int64_t rank = 0;
  std::string version;              // version of the schema that the file states; empty: none
  std::vector<ChakraGroup> groups;  // groups whose size the file states
  std::vector<ChakraNode> nodes;    // in the order of the file, ids unique
};

}  // namespace mirfak
