#pragma once

#include "base/error.hpp"
#include "serve/http_message.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak::serve {

HttpAnswer json_answer(int status, const nlohmann::ordered_json& body);

// Returns {"error": {"message", "hint", "file", "line", "column"}}; line and column count from 1, 0: not known.
HttpAnswer error_answer(int status, const std::string& message, const std::string& hint);
// Returns an error with its status: 400: input that cannot be understood; 422: a job that cannot run; 500: a defect.
HttpAnswer error_answer(const Error& error);

}  // namespace mirfak::serve
