#include "engine/time_spans.hpp"

#include <algorithm>
#include <utility>

namespace mirfak {

TimeSpans joined(TimeSpans spans) {
  std::sort(spans.begin(), spans.end(), [](const TimeSpan& a, const TimeSpan& b) { return a.start < b.start; });
  TimeSpans out;
  for (const TimeSpan& span : spans) {
    if (!out.empty() && span.start <= out.back().end) {
      out.back().end = std::max(out.back().end, span.end);
    } else if (span.end > span.start) {
      out.push_back(span);
    }
  }
  return out;
}

Picoseconds total_length(std::span<const TimeSpan> spans) {
  Picoseconds out = 0;
  for (const TimeSpan& span : spans) out += span.length();
  return out;
}

Picoseconds cut(TimeSpans& from, const TimeSpans& by) {
  TimeSpans left;
  Picoseconds removed = 0;
  auto next = by.begin();
  for (TimeSpan piece : from) {
    while (next != by.end() && next->end <= piece.start) ++next;
    for (auto cutter = next; cutter != by.end() && cutter->start < piece.end; ++cutter) {
      if (cutter->start > piece.start) left.push_back({piece.start, cutter->start});
      const Picoseconds end = std::min(piece.end, cutter->end);
      removed += end - std::max(piece.start, cutter->start);
      piece.start = end;
    }
    if (piece.start < piece.end) left.push_back(piece);
  }
  from = std::move(left);
  return removed;
}

}  // namespace mirfak
