#pragma once

#include "simulation/iteration.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

// What is said in every file's header besides: name and value.
using ChakraHeaderTexts = std::vector<std::pair<std::string, std::string>>;

// Writes the iteration as Chakra execution traces, one file per rank: PREFIX.<rank>.et, and PREFIX.comm_groups.json
// with the ranks of every process group by its name, as simulators take it. `ranks`: which, ascending; empty: all of
// the cluster. Every kernel, collective, transfer and piece of the host's work is a node, with its simulated duration;
// a rank that another stands for in the program is written as that one, with its own partners.
//  - What a rank waits for are data dependencies in its file, the order of its streams included. What ranks do together
//    begins when all are there: collectives by their group (pg_name), transfers by comm_src, comm_dst and comm_tag.
//  - comm_size is what one rank gives in: of an all-gather its part, of all others the whole buffer.
// Times are those of the simulation, also where links are shared: replayed (chakra_program.hpp) the iteration is the
// same to the picosecond. Existing files are replaced one by one as each is complete. Returns how many ranks were
// written. Error(infeasible) for ranks that share a GPU, and stages of their own shape. Error(input) for ranks that the
// cluster does not have.
std::size_t write_chakra(const std::filesystem::path& prefix, const Simulation& simulation,
                         const std::vector<int>& ranks, const ChakraHeaderTexts& texts);

}  // namespace mirfak
