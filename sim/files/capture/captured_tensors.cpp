#include "capture/captured_tensors.hpp"

#include <algorithm>
#include <charconv>

namespace mirfak {

double elements(const CapturedTensor& tensor) {
  double out = 1;
  for (const std::int64_t extent : tensor.shape) out *= static_cast<double>(extent);
  return out;
}

// The names of formats say their bits: "bfloat16", "int64", "float8_e4m3fn", "complex64". A bool is a byte.
double element_bytes(const CapturedTensor& tensor) {
  const std::string& name = tensor.format;
  const std::size_t begin = name.find_first_of("0123456789");
  int bits = 8;
  if (begin != std::string::npos) std::from_chars(name.data() + begin, name.data() + name.size(), bits);
  return std::clamp(bits / 8.0, 1.0, 16.0);
}

double bytes_of(const CapturedTensor& tensor) {
  double out = element_bytes(tensor);
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const bool expanded = !tensor.strides.empty() && tensor.strides[i] == 0;
    out *= expanded ? std::min(1.0, static_cast<double>(tensor.shape[i])) : static_cast<double>(tensor.shape[i]);
  }
  return out;
}

double sector_bytes(const CapturedTensor& tensor) {
  double nearest = 0;  // elements from one to the next
  for (std::size_t i = 0; i < tensor.strides.size(); ++i) {
    const auto stride = static_cast<double>(tensor.strides[i]);
    if (stride == 0 || tensor.shape[i] < 2) continue;
    nearest = nearest == 0 ? stride : std::min(nearest, stride);
  }
  return bytes_of(tensor) * std::clamp(nearest, 1.0, kSectorBytes / element_bytes(tensor));
}

std::span<const CapturedTensor> argument(const CapturedOperator& op, std::string_view name) {
  std::size_t first = 0;
  for (const auto& [known, tensors] : op.arguments) {
    if (known == name) return {op.in.data() + first, static_cast<std::size_t>(tensors)};
    first += static_cast<std::size_t>(tensors);
  }
  return {};
}

bool setting_is(const CapturedOperator& op, const char* name, std::string_view value) {
  const auto found = op.settings.find(name);
  return found != op.settings.end() && found->second == value;
}

namespace {

template <class Number>
std::optional<Number> setting(const CapturedOperator& op, const char* name) {
  const auto found = op.settings.find(name);
  if (found == op.settings.end()) return std::nullopt;
  Number out = 0;
  const char* const end = found->second.data() + found->second.size();
  const auto read = std::from_chars(found->second.data(), end, out);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return out;
}

}  // namespace

std::optional<double> number_setting(const CapturedOperator& op, const char* name) { return setting<double>(op, name); }

std::optional<std::int64_t> whole_setting(const CapturedOperator& op, const char* name) {
  return setting<std::int64_t>(op, name);
}

}  // namespace mirfak
