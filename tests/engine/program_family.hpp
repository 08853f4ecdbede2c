#pragma once

#include "program/program.hpp"

#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace mirfak {

// A program with so many streams and one class of tasks, which uses no link.
Program bare_program(std::uint32_t streams);

// Adds a class whose tasks use links at full speed as listed.
ClassId add_flow_class(Program& program, const std::vector<std::pair<LinkId, double>>& demands);

// Returns the uses of links by tasks of such a class.
std::span<const LinkUse> uses_of(const Program& program, ClassId flow);

// The program with links for each of its tasks alone.
Program without_traffic(Program program);

// Returns the uses of links, each link once.
std::vector<LinkUse> uses_of(const std::vector<std::pair<LinkId, double>>& demands);

// Max-min fair speeds of tasks that all start on an empty network. demands[task] lists {link, bytes/s at speed 1}, none
// of them above `largest` where it is given: equal bits need equal units.
std::vector<double> speeds_from_scratch(const std::vector<std::vector<std::pair<LinkId, double>>>& demands,
                                        const std::vector<double>& capacities, double largest = 0);

struct RandomShape {
  std::uint32_t max_tasks = 60;
  std::uint32_t max_streams = 8;
  std::uint32_t max_dependencies = 3;  // of one task
  Picoseconds max_lasting = 20;        // small: many ties and many zeros
  std::uint32_t links = 0;
};

// A valid program drawn from the generator: the same draw on every machine.
Program random_program(std::mt19937_64& random, const RandomShape& shape);

// A number in [0, below).
std::uint64_t draw(std::mt19937_64& random, std::uint64_t below);

// A whole number in [1, most], as a bandwidth.
double draw_bandwidth(std::mt19937_64& random, std::uint32_t most);

// Calls visit with every program of up to `max_tasks` tasks on up to two streams, with durations 0, 1 and 3 and every
// set of dependencies.
void visit_tiny_programs(std::uint32_t max_tasks, const std::function<void(const Program&)>& visit);

// Calls visit with every program of three tasks on streams of their own, over a full and a half used link: each task
// uses neither, one or both, lasts 0, 1000 or 3000, and every set of dependencies occurs.
void visit_tiny_sharing_programs(const std::function<void(const Program&)>& visit);

}  // namespace mirfak
