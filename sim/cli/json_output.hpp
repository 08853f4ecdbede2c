#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mirfak {

// JSON as every command prints it: behind the command's own keys "program_version" and, where it reads models or
// hardware, "data_hash" (base/origin.hpp). Bytes of names that are not UTF-8 are replaced.
std::string printed_json(nlohmann::ordered_json json);

}  // namespace mirfak
