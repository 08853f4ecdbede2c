#pragma once

#include "base/document.hpp"
#include "program/job.hpp"

namespace mirfak {

// Error(infeasible) at the key that breaks a rule (strategy/rules.hpp) or makes the job impossible on its cluster.
void check_job(const Document& document, const Job& job);

}  // namespace mirfak
