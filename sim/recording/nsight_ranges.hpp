#pragma once

#include "recording/recording_builder.hpp"
#include "recording/sqlite_file.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace mirfak {

// One recording per process; a database that does not tell processes apart has one, 0.
using NsightProcesses = std::map<std::uint64_t, RecordingBuilder>;

// The builder of the process of a serialized thread or process id; nullptr where it ran no kernel.
RecordingBuilder* process_of(NsightProcesses& processes, std::int64_t global_id);

// A time or an interval of the table, checked: 0 <= start <= end < 2^62 nanoseconds.
struct NsightInterval {
  Nanoseconds start = 0;
  Nanoseconds end = 0;
};
NsightInterval interval_of(const SqliteRows& rows, int start_column);  // the end stands behind it

// Reads the NVTX ranges: those that number steps, calls of NCCL, and operators of PyTorch (emit_nvtx). Notes what was
// taken for steps, and what payloads could not be read.
void read_nvtx(const SqliteFile& file, NsightProcesses& processes);

}  // namespace mirfak
