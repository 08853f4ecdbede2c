#pragma once

#include "engine/timeline.hpp"
#include "program/program.hpp"

#include <string>

namespace mirfak {

struct TimelineTextOptions {
  int width = 100;      // columns of the whole drawing, margins included; at least 40
  bool colour = false;  // ANSI colours behind the letters
};

// The pipeline drawn for a terminal: one row per stage (one of its ranks), with mixed replicas
// one per stage and class of replicas, time from left to right with an axis and a
// legend. An iteration whose passes are too short to be seen at this width is shown in excerpts: its beginning, its
// middle and its end. Of more than 24 stages every second (third, ...) is drawn. A column shows what most of its time
// went to. Lines end with '\n'.
std::string timeline_text(const Program& program, const Timeline& timeline, const TimelineTextOptions& options = {});

}  // namespace mirfak
