#pragma once

#include "engine/timeline.hpp"
#include "program/program.hpp"

#include <functional>
#include <span>

namespace mirfak {

// What ran on shared links for a while at one speed: a task, or what the tasks of a group are together.
struct LinkStretch {
  std::span<const TaskId> tasks;    // the first is the one that began first
  std::span<const LinkUse> uses;    // at full speed
  double slower = 1;                // of these as much less: Program::slower_by()
  Picoseconds full_speed = 0;       // how long it takes in all if nothing holds it back
  double speed = 0;                 // in (0, 1]
  std::span<const LinkId> held_by;  // the links that hold it at this speed, several where they are equally short
  Picoseconds from = 0;
  Picoseconds to = 0;
};

// Runs what uses a program's shared links again, at the times at which the engine ran it, to know the speeds in
// between: they are a function of what runs at the same time. The stretches of an activity come in their order and
// follow each other without a gap. `timeline` may be of a program that differs in its links, as long as these hold
// nobody back otherwise (LoweringOptions::all_links).
void for_each_stretch(const Program& program, const Timeline& timeline,
                      const std::function<void(const LinkStretch&)>& take);

}  // namespace mirfak
