#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mirfak {

// Categories of a device's time.
enum class Activity : std::uint8_t {
  gemm,
  attention,
  memory_bound,  // elementwise, normalization, softmax, embedding: bound by memory bandwidth
  optimizer,
  tensor_communication,
  context_communication,
  expert_communication,
  data_communication,
  pipeline_communication,
  host,    // waiting for the host to issue work
  bubble,  // waiting for other stages
};
inline constexpr std::size_t kActivities = 11;
using ActivitySeconds = std::array<double, kActivities>;
using ActivityFactors = std::array<double, kActivities>;  // factors by which the time of each activity is longer

// Returns the seconds of all activities from `first` to `last`.
double seconds_between(const ActivitySeconds& seconds, Activity first, Activity last);

std::string_view name_of(Activity activity);  // "GEMM", "tensor communication", ...
std::string_view key_of(Activity activity);   // "gemm", "tensor_communication", ...: for JSON and HDF5
// Returns the index in kTimeFactorKeys of the factor that lengthens the activity; nullopt: no factor of its own.
std::optional<std::size_t> time_factor_of(Activity activity);

}  // namespace mirfak
