#pragma once

#include "processes/launch.hpp"
#include "processes/star.hpp"
#include "processes/world.hpp"

#include <memory>
#include <optional>

namespace mirfak::measure {

// Processes that find each other by a name and a port (JobLaunch) and talk through rank 0, by TCP; or one process,
// which talks to nobody. No MPI in it, and no CPU executor that communicates.
class SocketWorld : public World {
 public:
  // Returns when all are there; throws as assemble() does. `ended`: see Star.
  SocketWorld(const JobLaunch& launch, Star::Ended ended);
  ~SocketWorld() override;

  void meet(const char* what) const override;
  bool all_stop(double within_s) const override;
  std::vector<std::vector<double>> gather(std::span<const double> own) const override;
  void tell_all(std::span<std::byte> bytes, int from, const char* what) const override;
  Clock clock() const override;
  int place_on_machine() const override { return place_; }  // as the launcher says, else as they found each other

  // Measures as clock() does, but also on one machine.
  Clock clock_by_round_trips() const;

 private:
  void end_others(int status) const override;
  Star::Purpose purpose(const char* what) const { return {what, timeout_s()}; }

  std::unique_ptr<Star> star_;  // none: alone
  int place_ = 0;
  bool one_machine_ = true;
};

}  // namespace mirfak::measure
