#pragma once

namespace mirfak {

// How well a fitted formula describes the measured table behind it. Errors are absolute, as shares of the measured
// times, of the part fitted and of the held-out third: of products of at least 1024 rows, of collectives of
// at least 1 MiB. measurements == 0: constants that were taken over or have no table.
struct FitQuality {
  int measurements = 0;
  double median_error = 0;
  double p90_error = 0;
  double held_out_median_error = 0;
  double held_out_p90_error = 0;

  friend bool operator==(const FitQuality&, const FitQuality&) = default;
};

}  // namespace mirfak
