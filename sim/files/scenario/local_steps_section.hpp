#pragma once

#include "base/field_table.hpp"
#include "strategy/local_steps.hpp"

namespace mirfak {

// The keys of `training.local_steps`: learners that step apart and are joined now and then.
const FieldTable<LocalSteps>& local_steps_fields();

}  // namespace mirfak
