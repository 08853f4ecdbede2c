#include "schedule/in_flight.hpp"

#include "schedule/short_order.hpp"

#include <algorithm>

namespace mirfak {

namespace {

bool covers(const InFlightMoment& a, const InFlightMoment& b) {
  return a.kind == b.kind && a.chunk == b.chunk &&
         std::equal(a.microbatches.begin(), a.microbatches.end(), b.microbatches.begin(), std::greater_equal<>());
}

void add(std::vector<InFlightMoment>& moments, const InFlightMoment& moment) {
  if (std::any_of(moments.begin(), moments.end(), [&](const InFlightMoment& known) { return covers(known, moment); })) {
    return;
  }
  std::erase_if(moments, [&](const InFlightMoment& known) { return covers(moment, known); });
  moments.push_back(moment);
}

}  // namespace

std::vector<InFlightMoment> fullest_moments(ScheduleKind schedule, const PipelineShape& shape, int stage) {
  std::vector<InFlightMoment> out;
  InFlightMoment now;
  now.microbatches.assign(static_cast<std::size_t>(shape.chunks), 0);
  for (const Pass& pass : short_order(schedule, shape, stage)) {
    std::int32_t& held = now.microbatches[static_cast<std::size_t>(pass.chunk)];
    if (pass.kind == Pass::Kind::forward) ++held;
    now.kind = pass.kind;
    now.chunk = pass.chunk;
    add(out, now);
    if (pass.kind == Pass::Kind::backward) --held;
  }
  return out;
}

}  // namespace mirfak
