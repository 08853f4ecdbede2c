#pragma once

#include "cluster/time_factors.hpp"
#include "program/job.hpp"

namespace mirfak {

// Returns the job on nodes where everything takes longer than priced by these factors, which replace any correction of
// the nodes.
Job with_time_factors(Job job, const TimeFactors& factors);

// Returns the sensitivity of an iteration of `job` to each of the factors: d ln(iteration) / d ln(factor), by small
// differences from `iteration_time_s`, the time of the job as it is. Errors as of simulate().
FactorVector time_sensitivities(const Job& job, double iteration_time_s);

}  // namespace mirfak
