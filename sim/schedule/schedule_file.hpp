#pragma once

#include "schedule/pass_timeline.hpp"
#include "schedule/schedule.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace mirfak {

// The schedule format of torch.distributed.pipelining: CSV without a header, a row for each pipeline rank, in it what
// the rank does in order. With s a part of the model (PyTorch: a stage index) and m a microbatch, both from 0, a cell
// is
//
//   sFm sBm sIm sWm             a pass: forward, backward, backward of inputs, backward of weights
//   (aFm;bBn)OVERLAP_F_B        a forward pass beside a backward pass of another microbatch
//   sSEND_Fm sRECV_Fm sSEND_Bm sRECV_Bm sUNSHARD sRESHARD sREDUCE_GRAD, or empty
//                               communication and waiting: read over, because they follow from where parts lie
//
// A part in several rows is held by all of them; each of its microbatches runs in one. Lines that start with '#' and
// empty ones at the end are left out.
//
// A file fits one number of stages and of microbatches. Error(input) with line and column of the cell at fault: one
// that is no action, a pass too many, too few or before what it needs, or one that waits for ever. `name`: what to call
// it, as the user gave it.
ScheduleId read_schedule_file(const std::filesystem::path& path, const std::string& name);
ScheduleId read_schedule_text(std::string_view text, const std::string& name);

// Where the file says a pass of its order: line and column, from 1. Reads the file again.
struct FilePlace {
  int line = 0;
  int column = 0;
};
FilePlace place_in_schedule_file(const std::filesystem::path& path, const PassIndex& pass);

// Passes of `schedule` in that format.
std::string schedule_csv(const Schedule& schedule, const PipelineShape& shape, const PassTimes& times = {});

// Whether a strategy's schedule is given by its path: it ends in ".csv" or holds a '/'.
bool is_schedule_path(std::string_view text);

}  // namespace mirfak
