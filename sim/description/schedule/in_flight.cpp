#include "schedule/in_flight.hpp"

#include "schedule/short_order.hpp"

#include <algorithm>
#include <functional>

namespace mirfak {

namespace {

bool covers(const InFlightMoment& a, const InFlightMoment& b) {
  const auto at_least = [](const std::vector<std::int32_t>& x, const std::vector<std::int32_t>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), std::greater_equal<>());
  };
  return a.kind == b.kind && a.chunk == b.chunk && a.beside == b.beside && a.beside_kind == b.beside_kind &&
         at_least(a.microbatches, b.microbatches) && at_least(a.weights_due, b.weights_due);
}

void add(std::vector<InFlightMoment>& moments, const InFlightMoment& moment) {
  if (std::any_of(moments.begin(), moments.end(), [&](const InFlightMoment& known) { return covers(known, moment); })) {
    return;
  }
  std::erase_if(moments, [&](const InFlightMoment& known) { return covers(moment, known); });
  moments.push_back(moment);
}

std::vector<InFlightMoment> moments_of(const std::vector<Pass>& order, std::size_t chunks, bool splits) {
  std::vector<InFlightMoment> out;
  InFlightMoment now;
  now.microbatches.assign(chunks, 0);
  if (splits) now.weights_due.assign(chunks, 0);
  const auto end = [&](const Pass& pass) {
    const auto chunk = static_cast<std::size_t>(pass.chunk);
    if (makes_input_gradient(pass.kind)) --now.microbatches[chunk];
    if (pass.kind == Pass::Kind::backward_input) ++now.weights_due[chunk];
    if (pass.kind == Pass::Kind::backward_weight) --now.weights_due[chunk];
  };
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Pass& pass = order[i];
    if (is_forward(pass.kind)) ++now.microbatches[static_cast<std::size_t>(pass.chunk)];
    now.kind = pass.kind;
    now.chunk = pass.chunk;
    now.beside = pass.with_next ? order[i + 1].chunk : -1;
    now.beside_kind = pass.with_next ? order[i + 1].kind : Pass::Kind::backward;
    add(out, now);
    if (pass.with_next) end(order[++i]);
    end(pass);
  }
  return out;
}

}  // namespace

std::vector<std::vector<InFlightMoment>> fullest_moments(const Schedule& schedule, const PipelineShape& shape,
                                                         const PassTimes& times) {
  std::vector<std::vector<InFlightMoment>> out;
  for (const std::vector<Pass>& order : short_orders(schedule, shape, times)) {
    out.push_back(moments_of(order, static_cast<std::size_t>(shape.chunks), schedule.splits));
  }
  return out;
}

}  // namespace mirfak
