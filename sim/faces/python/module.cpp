// mirfak._mirfak: the functions that the Python package mirfak (mirfak/__init__.py) is made of.

#include "base/origin.hpp"
#include "python/errors.hpp"
#include "python/findings.hpp"
#include "python/functions.hpp"
#include "python/inputs.hpp"
#include "python/iteration.hpp"
#include "python/timeline.hpp"
#include "python/waiting.hpp"

#include <nanobind/nanobind.h>

NB_MODULE(_mirfak, module) {
  using namespace mirfak::python;
  module.doc() = "Parts of the package mirfak; use that package.";
  module.attr("version") = std::string(mirfak::program_version());
  translate_errors();
  module.def("_end_calls", end_calls);
  nanobind::module_::import_("atexit").attr("register")(module.attr("_end_calls"));
  add_input(module);
  add_findings(module);
  add_timeline(module);
  add_iteration(module);
  add_jobs(module);
  add_capture(module);
  add_import(module);
  add_search(module);
  add_plan(module);
  add_frontier(module);
  add_training(module);
  add_program(module);
  add_replay(module);
  add_calibration(module);
  add_comparison(module);
  add_sweep(module);
  add_validation(module);
}
