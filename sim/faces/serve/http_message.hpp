#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak::serve {

// A request with the received values.
struct HttpRequest {
  std::string method;                                        // "GET"
  std::string target;                                        // "/api/simulate", with the query after a '?'
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;

  std::size_t count(std::string_view name) const;
  // Returns the value of a header that occurs exactly once; else nullopt.
  std::optional<std::string_view> header(std::string_view name) const;
};

// An answer without the headers that all answers have (http_session.cpp).
struct HttpAnswer {
  int status = 200;
  std::string content_type;
  std::string body;
  std::string allow = {};  // for 405: the allowed methods
};

}  // namespace mirfak::serve
