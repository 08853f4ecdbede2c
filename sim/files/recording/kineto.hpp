#pragma once

#include "recording/kernel_classes.hpp"
#include "recording/recording.hpp"

#include <filesystem>
#include <string_view>
#include <vector>

namespace mirfak {

// Reads a trace of PyTorch's profiler (Kineto): JSON, plain or compressed by gzip, in any of its styles of categories
// and times. Error(input) as of read_trace_events(), for more than 50 million events that count, and for a file without
// any recorded kernel.
Recording read_kineto(const std::filesystem::path& path, const KernelClasses& classes);
Recording read_kineto_text(std::string_view text, const std::string& name, const KernelClasses& classes);

}  // namespace mirfak
