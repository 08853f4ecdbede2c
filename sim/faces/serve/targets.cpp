#include "serve/targets.hpp"

#include <algorithm>
#include <array>

namespace mirfak::serve {

namespace {

using Lane = HttpWork::Lane;

constexpr std::array kTargets = {
    Target{"/", TargetId::page},
    Target{"/form.css", TargetId::style},
    Target{"/form.js", TargetId::script},
    Target{"/views.css", TargetId::views_style},
    Target{"/views.js", TargetId::views_script},
    Target{"/api/catalogue", TargetId::catalogue},
    Target{"/api/import", TargetId::files, true, Lane::quick},
    Target{"/api/simulate", TargetId::simulate, true, Lane::quick},
    Target{"/api/notes", TargetId::notes, true, Lane::quick},
    Target{"/api/search", TargetId::search, true, Lane::slow},
};

}  // namespace

std::span<const Target> targets() { return kTargets; }

const Target* find_target(std::string_view path) {
  const auto found =
      std::find_if(kTargets.begin(), kTargets.end(), [&](const Target& each) { return each.path == path; });
  return found == kTargets.end() ? nullptr : &*found;
}

}  // namespace mirfak::serve
