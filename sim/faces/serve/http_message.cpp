#include "serve/http_message.hpp"

#include <algorithm>

namespace mirfak::serve {

std::size_t HttpRequest::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::count_if(headers.begin(), headers.end(), [&](const auto& header) { return header.first == name; }));
}

std::optional<std::string_view> HttpRequest::header(std::string_view name) const {
  if (count(name) != 1) return std::nullopt;
  return std::find_if(headers.begin(), headers.end(), [&](const auto& each) { return each.first == name; })->second;
}

}  // namespace mirfak::serve
