#pragma once

#include <nanobind/nanobind.h>

namespace mirfak::python {

// Functions that add the parts of one function of the package mirfak each.
void add_calibration(nanobind::module_& module);
void add_capture(nanobind::module_& module);
void add_comparison(nanobind::module_& module);
void add_frontier(nanobind::module_& module);
void add_import(nanobind::module_& module);
void add_jobs(nanobind::module_& module);
void add_plan(nanobind::module_& module);
void add_program(nanobind::module_& module);
void add_replay(nanobind::module_& module);
void add_search(nanobind::module_& module);
void add_sweep(nanobind::module_& module);
void add_training(nanobind::module_& module);
void add_validation(nanobind::module_& module);

}  // namespace mirfak::python
