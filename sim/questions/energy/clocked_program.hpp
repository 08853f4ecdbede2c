#pragma once

#include "energy/cost_curve.hpp"
#include "program/program.hpp"

#include <string>
#include <vector>

namespace mirfak {

// A program whose passes can run at several clocks: the input of the frontier, from any source of figures.
struct ClockedProgram {
  Program program;                       // every pass at the highest clock
  std::vector<PassChoices> choices;      // by kind of pass
  std::vector<std::int32_t> choices_of;  // by task class: an index into `choices`; -1: one duration at any clock
  // By kind of pass: all clocks that can be set, highest first, useful or not.
  std::vector<std::vector<ClockChoice>> settings;
  // By task: the duration assumed while clocks are planned. For a clocked task this is its duration at the highest
  // clock; for another task its duration or, if links are shared, its duration in the engine. The engine may find other
  // durations later.
  std::vector<Picoseconds> lasts;
  double blocked_w = 0;               // power of all ranks together while they wait
  std::vector<std::string> left_out;  // effects that the plan of clocks leaves out: a sentence each

  bool is_clocked(TaskId task) const { return kind_of(task) >= 0; }
  double multiplicity(TaskId task) const {
    return program.ranks[program.streams[program.stream[task]].rank].multiplicity;
  }
  std::int32_t kind_of(TaskId task) const { return choices_of[program.task_class[task]]; }
  const PassChoices& choices_for(TaskId task) const { return choices[static_cast<std::size_t>(kind_of(task))]; }
};

// Returns notes on the choices that were left out, for readers: a sentence each.
std::vector<std::string> notes_on_choices(const ClockedProgram& clocked);

// The choice at which each task of a clocked program runs; entries of tasks that are not clocked are not read.
using ClockAssignment = std::vector<ClockChoice>;

}  // namespace mirfak
