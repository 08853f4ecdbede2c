#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak::serve {

std::string lower_case(std::string_view text);  // of ASCII

// A request as it came.
struct HttpRequest {
  std::string method;                                        // "GET"
  std::string target;                                        // "/api/simulate", with what stands behind a '?'
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;

  std::size_t count(std::string_view name) const;
  // Of a header that is there once; else nullopt.
  std::optional<std::string_view> header(std::string_view name) const;
};

// An answer without the headers that all have (http_session.cpp).
struct HttpAnswer {
  int status = 200;
  std::string content_type;
  std::string body;
  std::string allow = {};  // of 405: the methods that there are
};

}  // namespace mirfak::serve
