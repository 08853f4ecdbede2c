#include "cli/json_output.hpp"

#include "base/origin.hpp"

#include <nlohmann/json.hpp>

namespace mirfak {

std::string printed_json(nlohmann::ordered_json json) {
  const Origin made_with = origin();
  json["program_version"] = made_with.program_version;
  if (!made_with.data_hash.empty()) json["data_hash"] = made_with.data_hash;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace mirfak
