#pragma once

#include "processes/world.hpp"

#include <span>
#include <string>

namespace mirfak::measure {

// Each command is run by all processes of the job together, and returns what rank 0 prints. Errors that every process
// finds alike (options, files) are thrown by all of them before any waits for another.
std::string run_scenario(std::span<const std::string> arguments, World& world);
std::string measure_kernels(std::span<const std::string> arguments, World& world);
std::string measure_collectives(std::span<const std::string> arguments, World& world);
std::string measure_energy(std::span<const std::string> arguments, World& world);
std::string compare_readings(std::span<const std::string> arguments, World& world);

// Throws Error(input) unless it names a backend that this program was built with.
void check_backend(const std::string& name);
// Throws Error(input) where ranks are to communicate on CPUs, which takes MPI, and `world` is another: several
// processes that no MPI launcher started. `command`: "run SCENARIO", for the hint.
void check_communication(const World& world, const std::string& backend, const std::string& command);
// Throws Error(input) unless it is above 0.
void check_timeout(double seconds);

}  // namespace mirfak::measure
