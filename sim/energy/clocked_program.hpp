#pragma once

#include "energy/cost_curve.hpp"
#include "program/program.hpp"

#include <string>
#include <vector>

namespace mirfak {

// A program whose passes can run at several clocks: what the frontier is computed for, wherever its figures are from.
struct ClockedProgram {
  Program program;                       // every pass at the highest clock
  std::vector<PassChoices> choices;      // by kind of pass
  std::vector<std::int32_t> choices_of;  // by task class: an index into `choices`; -1: runs as it is whatever the clock
  // By kind of pass: all clocks that can be set, highest first, useful or not.
  std::vector<std::vector<ClockChoice>> settings;
  // By task, how long it is taken to last while clocks are planned: a clocked one at the highest clock; another its
  // duration or, where links are shared, what the engine made of it. Only the engine knows what it will make of it
  // then.
  std::vector<Picoseconds> lasts;
  double blocked_w = 0;               // of all ranks together, while they wait
  std::vector<std::string> left_out;  // what clocks are planned without: a sentence each

  bool is_clocked(TaskId task) const { return kind_of(task) >= 0; }
  double multiplicity(TaskId task) const {
    return program.ranks[program.streams[program.stream[task]].rank].multiplicity;
  }
  std::int32_t kind_of(TaskId task) const { return choices_of[program.task_class[task]]; }
  const PassChoices& choices_for(TaskId task) const { return choices[static_cast<std::size_t>(kind_of(task))]; }
};

// What was left out of choices, for people: a sentence each.
std::vector<std::string> notes_on_choices(const ClockedProgram& clocked);

// The choice that each task of a clocked program runs at; those of tasks that are not clocked are not read.
using ClockAssignment = std::vector<ClockChoice>;

}  // namespace mirfak
