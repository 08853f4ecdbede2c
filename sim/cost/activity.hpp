#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mirfak {

// What the time of a device is spent on.
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
using ActivityFactors = std::array<double, kActivities>;  // how many times as long each part takes

std::string_view name_of(Activity activity);  // "GEMM", "tensor communication", ...
std::string_view key_of(Activity activity);   // "gemm", "tensor_communication", ...: for JSON and HDF5
// Which of kTimeFactorKeys lengthens it; nullopt: none by itself.
std::optional<std::size_t> time_factor_of(Activity activity);

}  // namespace mirfak
