#pragma once

#include "serve/http_server.hpp"

#include <span>
#include <string_view>

namespace mirfak::serve {

// What this server has, and what it takes to answer it.
enum class TargetId { page, style, script, views_style, views_script, catalogue, simulate, notes, search };

struct Target {
  std::string_view path;
  TargetId id;
  bool takes_body = false;  // POST with JSON; else GET and HEAD
  HttpWork::Lane lane = HttpWork::Lane::at_once;
};

std::span<const Target> targets();
const Target* find_target(std::string_view path);  // nullptr: there is none

}  // namespace mirfak::serve
