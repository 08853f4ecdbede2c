#include "serve/error_answer.hpp"

#include <nlohmann/json.hpp>

namespace mirfak::serve {

namespace {

using Json = nlohmann::ordered_json;

int status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::input:
      return 400;
    case ErrorKind::infeasible:
      return 422;
    case ErrorKind::internal:
      break;
  }
  return 500;
}

HttpAnswer error_body(int status, const std::string& message, const std::string& hint, const Location& where) {
  Json error = {
      {"message", message}, {"hint", hint}, {"file", where.file}, {"line", where.line}, {"column", where.column}};
  return json_answer(status, {{"error", std::move(error)}});
}

}  // namespace

// Makes an answer from JSON. Messages may contain texts of a request: invalid UTF-8 in them is replaced.
HttpAnswer json_answer(int status, const nlohmann::ordered_json& body) {
  return {status, "application/json", body.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

HttpAnswer error_answer(int status, const std::string& message, const std::string& hint) {
  return error_body(status, message, hint, {});
}

HttpAnswer error_answer(const Error& error) {
  return error_body(status_of(error.kind()), error.message(), error.hint(), error.where());
}

}  // namespace mirfak::serve
