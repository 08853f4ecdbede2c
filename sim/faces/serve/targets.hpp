#pragma once

#include "serve/http_server.hpp"

#include <span>
#include <string_view>

namespace mirfak::serve {

// The targets of this server, and the work for their answers.
enum class TargetId { page, style, script, views_style, views_script, catalogue, files, simulate, notes, search };

struct Target {
  std::string_view path;
  TargetId id;
  bool takes_body = false;  // POST with JSON; else GET and HEAD
  HttpWork::Lane lane = HttpWork::Lane::at_once;
};

std::span<const Target> targets();
const Target* find_target(std::string_view path);  // nullptr: no target has this path

}  // namespace mirfak::serve
