#include "python/errors.hpp"

#include "base/cancellation.hpp"

#include <nanobind/stl/string.h>

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

// True for the error of base/read_files.cpp, and of readers that say the same, where there is no file of this name.
bool is_of_missing_file(const Error& error) {
  return error.kind() == ErrorKind::input && error.message().starts_with("there is no such file");
}

// An option of the program that error messages name, and the corresponding argument in Python.
struct OptionWord {
  std::string_view option;
  std::string_view argument;
};
constexpr OptionWord kOptionWords[] = {
    {"use --planner search", "call mirfak.search()"},
    {"leave --intra-only out", "choose other levels"},
    {"leave --inter-only out", "choose other levels"},
    {"--attention", "attention"},
    {"--data", "data"},
    {"--dependencies", "dependencies"},
    {"--framework", "framework"},
    {"--gpu", "gpu"},
    {"--groups", "groups"},
    {"--ideal-data", "ideal_data"},
    {"--ideal-op", "ideal_op"},
    {"--ideal-rank", "ideal_rank"},
    {"--ideal-stage", "ideal_stage"},
    {"--link", "link"},
    {"--machine", "machine"},
    {"--map", "mapping"},
    {"--name", "name"},
    {"--nodes", "nodes"},
    {"--only", "only"},
    {"--out", "out"},
    {"--precision", "precision"},
    {"--samples", "samples"},
    {"--scenario", "scenario"},
    {"--score", "score"},
    {"--speed", "speed"},
    {"--step", "step"},
};

bool continues_option(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '='; }

std::string in_python(std::string text) {
  constexpr std::string_view override_option = "--set ";
  if (text.starts_with(override_option)) text.replace(0, override_option.size(), "override ");
  for (const OptionWord& word : kOptionWords) {
    for (std::size_t at = text.find(word.option); at != std::string::npos; at = text.find(word.option, at + 1)) {
      const std::size_t end = at + word.option.size();
      if (end == text.size() || !continues_option(text[end])) text.replace(at, word.option.size(), word.argument);
    }
  }
  return text;
}

nb::object known(int place) { return place > 0 ? nb::object(nb::int_(place)) : nb::object(nb::none()); }

void raise(const Error& error, std::string (*in_words)(std::string)) {
  const Location& where = error.where();
  const nb::object file = where.known() ? nb::object(nb::str(in_words(where.file).c_str())) : nb::object(nb::none());
  const char* const name = is_of_missing_file(error) ? "MissingFileError" : class_of(error.kind());
  const nb::object type = nb::module_::import_("mirfak.errors").attr(name);
  const nb::object raised = type(in_words(error.what()), file, known(where.line), known(where.column),
                                 in_words(error.message()), in_words(error.hint()));
  PyErr_SetObject(type.ptr(), raised.ptr());
}

}  // namespace

void translate_errors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void* /*unused*/) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      raise(error, in_python);
    } catch (const Cancelled&) {
      PyErr_SetString(PyExc_RuntimeError, "the work was given up");
    }
  });
}

void raise_as_it_is(const Error& error) {
  raise(error, [](std::string text) { return text; });
  throw nb::python_error();
}

}  // namespace mirfak::python
