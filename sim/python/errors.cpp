#include "python/errors.hpp"

#include "base/cancellation.hpp"
#include "base/error.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cctype>
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

// Options of the program that rooms name where they say what is wrong: in Python they are arguments, "--ideal-rank"
// is "ideal_rank".
constexpr std::string_view kOptions[] = {"--dependencies", "--groups",      "--ideal-data", "--ideal-op",
                                         "--ideal-rank",   "--ideal-stage", "--speed",      "--step"};

bool continues(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-'; }

std::string in_python(std::string text) {
  constexpr std::string_view override_option = "--set ";
  if (text.starts_with(override_option)) text.replace(0, override_option.size(), "override ");
  for (const std::string_view option : kOptions) {
    for (std::size_t at = text.find(option); at != std::string::npos; at = text.find(option, at + 1)) {
      const std::size_t end = at + option.size();
      if (end < text.size() && continues(text[end])) continue;
      std::string argument(option.substr(2));
      std::replace(argument.begin(), argument.end(), '-', '_');
      text.replace(at, option.size(), argument);
    }
  }
  return text;
}

nb::object known(int place) { return place > 0 ? nb::object(nb::int_(place)) : nb::object(nb::none()); }

void raise(const Error& error) {
  const Location& where = error.where();
  const nb::object file = where.known() ? nb::object(nb::str(in_python(where.file).c_str())) : nb::object(nb::none());
  const nb::object type = nb::module_::import_("mirfak.errors").attr(class_of(error.kind()));
  const nb::object raised = type(in_python(error.what()), file, known(where.line), known(where.column),
                                 in_python(error.message()), in_python(error.hint()));
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
