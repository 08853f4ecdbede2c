#pragma once

#include "chakra/chakra_trace.hpp"
#include "simulation/iteration.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

// Additional texts in every file's header: name and value.
using ChakraHeaderTexts = std::vector<std::pair<std::string, std::string>>;

// Writes the iteration as Chakra execution traces, one file per rank: PREFIX.<rank>.et, and PREFIX.comm_groups.json
// with the ranks of every process group by its name, in the form that simulators read. `ranks`: the ranks to write,
// ascending; empty: all ranks of the cluster. Every kernel, collective, transfer and piece of the host's work is a
// node, with its simulated duration; if a rank stands for another in the program, the other rank is written from it,
// with partners of its own.
//  - Dependencies of a rank are data dependencies in its file, the order of its streams included. Joint work of several
//    ranks begins when all are ready: collectives by their group (pg_name), transfers by comm_src, comm_dst and
//    comm_tag.
//  - comm_size is the input of one rank: for an all-gather its part, for all other collectives the whole buffer.
// Times are those of the simulation, also if links are shared: a replay (chakra_program.hpp) gives the same iteration
// to the picosecond. Existing files are replaced one by one as each is complete. Returns the number of ranks that were
// written. Error(infeasible) for ranks that share a GPU, and stages of their own shape. Error(input) for ranks that the
// cluster does not have.
std::size_t write_chakra(const std::filesystem::path& prefix, const Simulation& simulation,
                         const std::vector<int>& ranks, const ChakraHeaderTexts& texts);

// Writes traces that are there already, of ranks and groups of their own: the same files. `groups`: the ranks of every
// group that nodes name.
void write_chakra(const std::filesystem::path& prefix, std::span<const ChakraTrace> traces,
                  const std::map<std::string, std::vector<std::int64_t>>& groups, const ChakraHeaderTexts& texts);

}  // namespace mirfak
