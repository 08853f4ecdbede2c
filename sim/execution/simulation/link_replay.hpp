#pragma once

#include "engine/timeline.hpp"
#include "program/program.hpp"

#include <functional>
#include <span>

namespace mirfak {

// A time during which an activity ran on shared links at one speed. The activity is one task, or the tasks of a group.
struct LinkStretch {
  std::span<const TaskId> tasks;    // the first is the task that began first
  std::span<const LinkUse> uses;    // bandwidths at full speed
  double slower = 1;                // factor that divides these bandwidths: Program::slower_by()
  Picoseconds full_speed = 0;       // whole duration if nothing holds it back
  double speed = 0;                 // in (0, 1]
  std::span<const LinkId> held_by;  // the links that limit this speed, several if they are equally short
  Picoseconds from = 0;
  Picoseconds to = 0;
};

// Runs the activities on a program's shared links again, at the times at which the engine ran them, to find the speeds
// in between: the speeds are a function of the activities that run at the same time. The stretches of an activity come
// in their order and follow each other without a gap. `timeline` may belong to a program with other links, as long as
// the additional links hold nothing back (LoweringOptions::all_links).
void for_each_stretch(const Program& program, const Timeline& timeline,
                      const std::function<void(const LinkStretch&)>& take);

}  // namespace mirfak
