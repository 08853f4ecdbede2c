#pragma once

#include <string>
#include <vector>

namespace mirfak {

// What scenario files call the values of a strategy's enumerations, in the order of the enumerations.
const std::vector<std::string>& recompute_names();
const std::vector<std::string>& recompute_method_names();
const std::vector<std::string>& context_communication_names();
const std::vector<std::string>& expert_dispatcher_names();
const std::vector<std::string>& schedule_kind_names();
const std::vector<std::string>& module_names();  // Megatron Core's --recompute-modules

}  // namespace mirfak
