#include "python/json.hpp"

#include <nanobind/stl/string.h>
#include <nlohmann/json.hpp>

namespace nb = nanobind;

namespace mirfak::python {

namespace {

using Json = nlohmann::ordered_json;

nb::object text_of(const std::string& text) {
  // Names of files may not be valid UTF-8.
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

nb::object dict_of(const Json& json) {
  nb::dict out;
  for (auto entry = json.begin(); entry != json.end(); ++entry) out[text_of(entry.key())] = to_python(entry.value());
  return out;
}

nb::object list_of(const Json& json) {
  nb::list out;
  for (const Json& item : json) out.append(to_python(item));
  return out;
}

}  // namespace

nb::object to_python(const Json& json) {
  switch (json.type()) {
    case Json::value_t::object:
      return dict_of(json);
    case Json::value_t::array:
      return list_of(json);
    case Json::value_t::string:
      return text_of(json.get_ref<const std::string&>());
    case Json::value_t::boolean:
      return nb::bool_(json.get<bool>());
    case Json::value_t::number_integer:
      return nb::int_(json.get<std::int64_t>());
    case Json::value_t::number_unsigned:
      return nb::int_(json.get<std::uint64_t>());
    case Json::value_t::number_float:
      return nb::float_(json.get<double>());
    case Json::value_t::null:
    case Json::value_t::binary:
    case Json::value_t::discarded:
      break;
  }
  return nb::none();
}

}  // namespace mirfak::python
