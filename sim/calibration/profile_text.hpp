#pragma once

#include "calibration/table_kind.hpp"

#include <string>
#include <string_view>

namespace mirfak {

// A profile's text with the fitted sections in it; all else stays as it was, comments included. A mapping that is there
// is replaced, but for what the section keeps, others are added; so are single figures (a section without a path) and
// the entries of `sources`, of which those go that no figure names any more.
// `profile` is YAML in the layout of hw_profiles/: block mappings, keys of the top level without indentation, two
// blanks per level. From an empty text comes a fragment with nothing but the sections and their sources. Figures of a
// section are [value, source_key], followed by the size of the table and the errors of its last score.
std::string with_sections(std::string_view profile, const std::vector<FittedSection>& sections);

}  // namespace mirfak
