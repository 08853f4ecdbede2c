#pragma once

#include "simulation/iteration.hpp"
#include "trace/trace_file.hpp"

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

namespace mirfak::python {

// When the tasks of an iteration ran: what arrays of NumPy look into.
class Execution {
 public:
  explicit Execution(std::shared_ptr<const Simulation> simulation) : simulation_(std::move(simulation)) {}

  const Program& program() const { return simulation_->program; }
  const Timeline& timeline() const { return simulation_->timeline; }

 private:
  std::shared_ptr<const Simulation> simulation_;
};

void add_timeline(nanobind::module_& module);

}  // namespace mirfak::python
