#pragma once

namespace mirfak {

// Accuracy of a fitted formula on its measured table. Errors are absolute, as shares of the measured times, on the
// fitted part and on the held-out third, for products of at least 1024 rows and collectives of at least 1 MiB.
// measurements == 0: the constants were taken over or have no table.
struct FitQuality {
  int measurements = 0;
  double median_error = 0;
  double p90_error = 0;
  double held_out_median_error = 0;
  double held_out_p90_error = 0;

  friend bool operator==(const FitQuality&, const FitQuality&) = default;
};

}  // namespace mirfak
