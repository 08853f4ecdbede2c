#pragma once

#include "processes/world.hpp"
#include "program/program.hpp"

#include <string>

namespace mirfak::measure {

// Every process makes the program by itself, from files of its machine. Error(input) on all ranks unless they are one
// program: what two ranks do together would else be different things, with nothing to tell them apart by. Durations may
// differ. `scenario`: for the message. All ranks call together.
void check_same_program(const World& world, const Program& program, const std::string& scenario);

}  // namespace mirfak::measure
