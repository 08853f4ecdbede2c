#include "python/findings.hpp"

#include "python/json.hpp"

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace mirfak::python {

void add_findings(nb::module_& module) {
  nb::class_<Findings>(module, "Findings", "Result of a function.")
      .def(
          "to_dict", [](const Findings& self) { return to_python(self.json); },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"), "The keys of the command's --format json.")
      .def(
          "summary", [](const Findings& self) { return self.text; }, "Text that the command prints.");
}

}  // namespace mirfak::python
