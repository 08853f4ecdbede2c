#pragma once

#include "simulation/iteration.hpp"

#include <string>

namespace mirfak {

struct TimelineTextOptions {
  int width = 100;      // columns of the whole drawing, margins included; at least 40
  bool colour = false;  // letters on ANSI colours
};

// Draws the pipeline for a terminal: one row per stage (one of its ranks) or, with mixed replicas, one row per stage
// and class of replicas. Time goes from left to right, with an axis and a legend. An iteration whose passes are too
// short to be seen at this width is shown in excerpts: its beginning, its middle and its end. If there are more than 24
// stages, every second (third, ...) stage is drawn. A column shows the letter that fills most of its time. Lines end
// with '\n'.
std::string timeline_text(const Program& program, const Timeline& timeline, const TimelineTextOptions& options = {});

}  // namespace mirfak
