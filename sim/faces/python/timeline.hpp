#pragma once

#include "simulation/iteration.hpp"
#include "simulation/long_iteration.hpp"
#include "trace/trace_file.hpp"

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

namespace mirfak::python {

// The times of an iteration's tasks, in the memory that arrays of NumPy show.
class Execution {
 public:
  explicit Execution(std::shared_ptr<const Simulation> simulation) : simulation_(std::move(simulation)) {}

  // Error(infeasible) if an iteration of very many microbatches has no program and timeline.
  const Program& program() const { return whole().program; }
  const Timeline& timeline() const { return whole().timeline; }

 private:
  const Simulation& whole() const {
    require_whole(*simulation_, "a timeline");
    return *simulation_;
  }

  std::shared_ptr<const Simulation> simulation_;
};

void add_timeline(nanobind::module_& module);

}  // namespace mirfak::python
