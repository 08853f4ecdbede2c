#pragma once

#include "recording/recording_builder.hpp"
#include "recording/sqlite_file.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace mirfak {

// One recording for each process; a database that does not tell processes apart has only process 0.
using NsightProcesses = std::map<std::uint64_t, RecordingBuilder>;

// Returns the builder of the process of a serialized thread or process id; nullptr if the process ran no kernel.
RecordingBuilder* process_of(NsightProcesses& processes, std::int64_t global_id);

// A time or an interval of the table, checked: 0 <= start <= end < 2^62 nanoseconds.
struct NsightInterval {
  Nanoseconds start = 0;
  Nanoseconds end = 0;
};
NsightInterval interval_of(const SqliteRows& rows, int start_column);  // the end is in the next column

// Reads the NVTX ranges: ranges that number steps, calls of NCCL, and operators of PyTorch (emit_nvtx). Adds notes on
// the ranges that were taken for steps, and on payloads that could not be read.
void read_nvtx(const SqliteFile& file, NsightProcesses& processes);

}  // namespace mirfak
