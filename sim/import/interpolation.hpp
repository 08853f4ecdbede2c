#pragma once

#include "base/document.hpp"

#include <map>
#include <string>

namespace mirfak {

// Fills what OmegaConf writes into scalars of a YAML document: ${a.b} of the root, ${.b} and ${..b} of the mapping
// around and the one around that, ${multiply:4,${.b}}, ${divide_ceil:a,b}, ${divide_floor:a,b}, ${sum:a,b} and
// ${oc.env:NAME,default} or ${NAME:default} with what `environment` says. References to what is not there stay as they
// stand; missing_names() of yaml_settings.hpp finds them. Error(input) at its place for a reference that leads to
// itself, a resolver that is not known, one without numbers, and for text that grows beyond 1 MiB in all.
void fill_interpolations(Value& root, const std::map<std::string, std::string>& environment);

}  // namespace mirfak
