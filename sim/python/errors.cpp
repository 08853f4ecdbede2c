#include "python/errors.hpp"

#include "base/cancellation.hpp"
#include "base/error.hpp"

#include <nanobind/stl/string.h>

#include <string>
#include <string_view>

namespace nb = nanobind;

namespace mirfak::python {

namespace {

const char* class_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::input:
      return "InputError";
    case ErrorKind::infeasible:
      return "InfeasibleError";
    case ErrorKind::internal:
      break;
  }
  return "InternalError";
}

// Overrides have no option in Python: "--set strategy.tensor=4" is "override strategy.tensor=4".
std::string in_python(std::string text) {
  constexpr std::string_view option = "--set ";
  if (text.starts_with(option)) text.replace(0, option.size(), "override ");
  return text;
}

nb::object known(int place) { return place > 0 ? nb::object(nb::int_(place)) : nb::object(nb::none()); }

void raise(const Error& error) {
  const Location& where = error.where();
  const nb::object file = where.known() ? nb::object(nb::str(in_python(where.file).c_str())) : nb::object(nb::none());
  const nb::object type = nb::module_::import_("mirfak.errors").attr(class_of(error.kind()));
  const nb::object raised =
      type(in_python(error.what()), file, known(where.line), known(where.column), error.message(), error.hint());
  PyErr_SetObject(type.ptr(), raised.ptr());
}

}  // namespace

void translate_errors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void* /*unused*/) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      raise(error);
    } catch (const Cancelled&) {
      PyErr_SetString(PyExc_RuntimeError, "the work was given up");
    }
  });
}

}  // namespace mirfak::python
