#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mirfak {

// Returns JSON as every command prints it: after the command's own keys stand "program_version" and, if the command
// reads models or hardware, "data_hash" (base/origin.hpp). Bytes of names that are not UTF-8 are replaced.
std::string printed_json(nlohmann::ordered_json json);

}  // namespace mirfak
