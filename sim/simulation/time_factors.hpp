#pragma once

#include "cluster/time_factors.hpp"
#include "program/job.hpp"

namespace mirfak {

// The job on nodes where everything takes so many times as long as priced, whatever correction they have.
Job with_time_factors(Job job, const TimeFactors& factors);

// How an iteration of `job` follows each of the factors: d ln(iteration) / d ln(factor), by small differences from
// `iteration_time_s`, what the job takes as it is. Errors as of simulate().
FactorVector time_sensitivities(const Job& job, double iteration_time_s);

}  // namespace mirfak
