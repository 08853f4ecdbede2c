#pragma once

#include "alpa/integer_program.hpp"

// The only function of the late library `cbc` (base/late_library.hpp). Solves a program with at least one variable;
// returns false if the solver gives up.
extern "C" bool mirfak_solve_integer_program(const mirfak::alpa::IntegerProgram::Rows& program, double time_limit_s,
                                             double cutoff, mirfak::alpa::IntegerProgram::Solution& out);
