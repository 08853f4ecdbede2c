#pragma once

#include "capture/capture.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace mirfak {

// Bytes of memory that are read or written at once, however few of them are wanted.
inline constexpr double kSectorBytes = 32;

double elements(const CapturedTensor& tensor);
double element_bytes(const CapturedTensor& tensor);
// Bytes of its elements, each expanded dimension once.
double bytes_of(const CapturedTensor& tensor);
// Bytes of the sectors of its elements: more than bytes_of() where every n-th element of a line is its.
double sector_bytes(const CapturedTensor& tensor);

// The tensors of an argument, by name; empty: the operator has no such argument.
std::span<const CapturedTensor> argument(const CapturedOperator& op, std::string_view name);
bool setting_is(const CapturedOperator& op, const char* name, std::string_view value);
std::optional<double> number_setting(const CapturedOperator& op, const char* name);
std::optional<std::int64_t> whole_setting(const CapturedOperator& op, const char* name);

}  // namespace mirfak
