#pragma once

#include "base/document.hpp"

#include <map>
#include <string>

namespace mirfak {

// Fills in OmegaConf's references in the scalars of a YAML document: ${a.b} of the root, ${.b} and ${..b} of the
// surrounding mapping and of the mapping around that mapping, ${multiply:4,${.b}}, ${divide_ceil:a,b},
// ${divide_floor:a,b}, ${sum:a,b}, and ${oc.env:NAME,default} or ${NAME:default} with values of `environment`.
// References to missing values stay unchanged; missing_names() of yaml_settings.hpp finds them. Error(input) at its
// place for a reference that leads to itself, an unknown resolver, a resolver without numbers, and text that grows
// beyond 1 MiB in all.
void fill_interpolations(Value& root, const std::map<std::string, std::string>& environment);

}  // namespace mirfak
