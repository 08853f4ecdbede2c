#pragma once

#include "schedule/pass_timeline.hpp"
#include "schedule/schedule.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace mirfak {

// Reads the schedule format of torch.distributed.pipelining: CSV without a header, with one row for each pipeline rank
// that lists the actions of the rank in order. With s a part of the model (PyTorch: a stage index) and m a microbatch,
// both from 0, a cell is
//
//   sFm sBm sIm sWm             a pass: forward, backward, backward of inputs, backward of weights
//   (aFm;bBn)OVERLAP_F_B        a forward pass overlapped with a backward pass of another microbatch
//   sSEND_Fm sRECV_Fm sSEND_Bm sRECV_Bm sUNSHARD sRESHARD sREDUCE_GRAD, or empty
//                               communication and waiting: skipped, because they follow from the placement of parts
//
// A part in several rows is held by all of these ranks; each of its microbatches runs in one of them. Lines that start
// with '#' and empty lines at the end are skipped.
//
// A file fits one number of stages and of microbatches. Error(input) with line and column of the faulty cell: a cell
// that is no action, a pass too many, too few or before its prerequisites, or a pass that waits forever. `name` is the
// name of the schedule, as the user gave it.
ScheduleId read_schedule_file(const std::filesystem::path& path, const std::string& name);
ScheduleId read_schedule_text(std::string_view text, const std::string& name);

// Place of a pass in its file: line and column, from 1. place_in_schedule_file() reads the file again.
struct FilePlace {
  int line = 0;
  int column = 0;
};
FilePlace place_in_schedule_file(const std::filesystem::path& path, const PassIndex& pass);

// Returns the passes of `schedule` in the format of read_schedule_file().
std::string schedule_csv(const Schedule& schedule, const PipelineShape& shape, const PassTimes& times = {});

// True if a strategy gives its schedule by path: the text ends in ".csv" or contains a '/'.
bool is_schedule_path(std::string_view text);

}  // namespace mirfak
