#pragma once

#include "chakra/chakra_trace.hpp"
#include "program/program.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// What communication of a trace takes that has no recorded duration, in seconds; nullopt: it cannot be priced. `ranks`:
// of a collective all of its group; of a send the sender and the receiver.
using ChakraPrice = std::function<std::optional<double>(const ChakraNode& node, std::span<const std::int64_t> ranks)>;

// Traces of some ranks as one program. Each node is a task that begins when all that it waits for has ended, and takes
// its recorded duration.
//  - A collective begins when all ranks of its group are there. Collectives of a group are matched in the order of the
//    files. A group is that of the files, or of all ranks where nodes name none.
//  - A receive ends when its data has arrived: no sooner than its send, of the same pair of ranks and tag, in the order
//    of the files. A send waits for nobody, unless both ends say "rendezvous": these begin together.
//  - Communication that the host issues (on_host) is work of the host.
//  - Data dependencies are waited for. Control dependencies say who called whom, a caller that is still at work.
struct ChakraProgram {
  Program program;
  std::vector<std::vector<TaskId>> task_of;  // by trace and node
  // What is not as in the run that was traced, in sentences.
  std::vector<std::string> notes;
};

// Error(input) where two files are of one rank, ranks of a group have unequally many collectives or collectives that
// differ, a receive has no send though its rank is there, or nodes wait for each other in a circle.
ChakraProgram chakra_program(std::span<const ChakraTrace> traces, const ChakraPrice& price = {});

}  // namespace mirfak
