#pragma once

#include "chakra/chakra_trace.hpp"
#include "program/program.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Returns the seconds of a trace's communication that has no recorded duration; nullopt: it cannot be priced. `ranks`:
// for a collective all ranks of its group; for a send the sender and the receiver.
using ChakraPrice = std::function<std::optional<double>(const ChakraNode& node, std::span<const std::int64_t> ranks)>;

// Traces of some ranks as one program. Each node is a task that begins when all its dependencies have ended, and takes
// its recorded duration.
//  - A collective begins when all ranks of its group are ready. Collectives of a group are matched in the order of the
//    files. A group is a group of the files, or consists of all ranks if nodes name no group.
//  - A receive ends when its data has arrived: not before the end of its send, which is the send with the same pair of
//    ranks and tag, in the order of the files. A send waits for no other rank, unless both ends state "rendezvous":
//    then both begin together.
//  - Communication that the host issues (on_host) is work of the host.
//  - Data dependencies are waited for. Control dependencies are not: they name the caller of a node, which is still at
//    work.
struct ChakraProgram {
  Program program;
  std::vector<std::vector<TaskId>> task_of;  // by trace and node
  // Sentences on differences from the run that was traced.
  std::vector<std::string> notes;
};

// Joins traces to a program. Error(input) if two files have the same rank, ranks of a group have unequal numbers of
// collectives or different collectives, a receive has no send although its sender's file is given, or nodes wait for
// each other in a circle.
ChakraProgram chakra_program(std::span<const ChakraTrace> traces, const ChakraPrice& price = {});

}  // namespace mirfak
