#pragma once

#include "cost/range_widths.hpp"

#include <algorithm>

namespace mirfak {

// Bytes of a memory of `capacity` bytes that may be used if a share of it, the headroom, is kept free.
inline double usable_bytes(double capacity, double headroom) { return capacity * (1 - headroom); }

// The limit on memory that a strategy may use on its devices and hosts. On a device with `capacity` bytes, `platform`
// bytes of which software takes whatever the model, a strategy may use
//
//   usable(capacity) = platform + (capacity - platform - spare_bytes) / factor
//
// so that the job also fits if everything else is `factor` times as large as predicted and the platform `spare_bytes`
// larger; and no more than the headroom leaves. The usable bytes grow with the platform, but by less than the platform.
struct MemoryLimit {
  double headroom = 0;  // share of each memory that stays free
  double factor = 1;
  double spare_bytes = 0;
  bool is_of_probability =
      false;  // made by limit_of_probability(): free pieces of memory count (StageMemory::needed())

  double of_device(double capacity, double platform) const {
    const double room = usable_bytes(capacity, headroom);
    if (factor == 1 && spare_bytes == 0) return room;
    return std::min(room, platform + (capacity - platform - spare_bytes) / factor);
  }
  double of_host(double capacity) const { return usable_bytes(capacity, headroom); }
};

// Returns the limit under which a job fits with this probability, from 0 to below 1, if memory varies by these widths
// (see fit_probability()). Below 0.5, or with unknown widths, the limit is the whole memory. It keeps no headroom.
MemoryLimit limit_of_probability(const DeviceMemoryWidths& widths, double probability);

// Returns the probability that a device has the bytes that it is predicted to need, `needed`, of which `platform` are
// what software takes whatever the model. `widths` must be known. The error of a need is taken to have its median at
// the prediction and the quantiles of a normal distribution on either side, whose quantiles of 10 and 90 % are the
// widths; platform and the rest are taken to err together. It falls as `needed` grows, and
//
//   fit_probability(widths, needed, platform, capacity) >= p  if and only if  needed <= limit.of_device(capacity,
//   platform)
//
// with limit = limit_of_probability(widths, p) and p from 0.5, up to rounding.
double fit_probability(const DeviceMemoryWidths& widths, double needed, double platform, double capacity);

}  // namespace mirfak
