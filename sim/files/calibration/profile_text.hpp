#pragma once

#include "calibration/table_kind.hpp"

#include <string>
#include <string_view>

namespace mirfak {

// Returns a profile's text with the fitted sections in it; all other text stays as it was, comments included. An
// existing mapping is replaced, except for the keys that the section keeps; a missing mapping is added. Single figures
// (a section without a path) and the entries of `sources` are replaced or added in the same way; sources that no figure
// names any more are removed.
// `profile` is YAML in the layout of hw_profiles/: block mappings, keys of the top level without indentation, two
// blanks per level. From an empty text comes a fragment with only the sections and their sources. Figures of a
// section are [value, source_key], followed by the size of the table and the errors of its last score.
std::string with_sections(std::string_view profile, const std::vector<FittedSection>& sections);

}  // namespace mirfak
