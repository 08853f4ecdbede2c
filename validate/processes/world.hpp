#pragma once

#include "processes/patient_wait.hpp"

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace mirfak::measure {

// The offset of a clock to that of rank 0, from round trips: in the quickest there and back, rank 0's clock is taken to
// stand in the middle (Cristian, Probabilistic clock synchronization, 1989), which is off by half of it at most.
class ClockEstimate {
 public:
  static constexpr int kRounds = 200;

  // A message left at `before` and its answer, which tells rank 0's time, was back at `after`, both by the own clock.
  void add_round(double before, double of_rank_0, double after);

  double offset_s() const { return offset_s_; }  // to add to the own clock to have rank 0's
  double error_s() const { return error_s_; }    // the most that is off by; infinity before the first round

 private:
  double offset_s_ = 0;
  double error_s_ = std::numeric_limits<double>::infinity();
};

// The processes of one job: those that a launcher started together and numbered. A world carries their words before,
// between and after the iterations; kernels and collectives are executors' business. One at a time, for the thread
// that made it. All ranks make the same calls in the same order, but for abort(). Every wait gives up after timeout_s()
// with Error(internal) that says who waits for what.
//
// Two kinds: MpiWorld under an MPI launcher, SocketWorld under torchrun, Slurm or alone.
class World {
 public:
  World() = default;
  virtual ~World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  double timeout_s() const { return timeout_s_; }
  void set_timeout(double seconds) { timeout_s_ = seconds; }

  // Returns once all ranks have called it. `what` completes "rank 1 waits to ...", here and below.
  virtual void meet(const char* what) const = 0;
  // Returns true if all ranks call this within so many seconds: ranks that stop for a reason that all of them find.
  virtual bool all_stop(double within_s) const = 0;
  // Arrays of all ranks, by rank, on rank 0; elsewhere empty.
  virtual std::vector<std::vector<double>> gather(std::span<const double> own) const = 0;
  // Copies the bytes of rank `from` to all others, who expect as many.
  virtual void tell_all(std::span<std::byte> bytes, int from, const char* what) const = 0;

  // The offset that turns monotonic_seconds() into the time of rank 0, and the most by which times of two ranks are off
  // then. Ranks of one machine have one clock; others exchange messages with rank 0 (ClockEstimate).
  struct Clock {
    double offset_s = 0;
    double error_s = 0;
  };
  virtual Clock clock() const = 0;

  // Returns how many of the processes of this machine come before this one.
  virtual int place_on_machine() const = 0;

  // The first rank that gave the same bytes, by rank; all ranks give as many.
  std::vector<int> first_alike(std::span<const std::byte> own, const char* what) const;
  std::vector<int> machines() const;  // ... that runs on the same machine

  // Ends all processes with this status. Does not return.
  [[noreturn]] void abort(int status) const;

 protected:
  // Ends all others, as well as that goes; may end this one.
  virtual void end_others(int status) const = 0;

  void set_place(int rank, int size) {
    rank_ = rank;
    size_ = size;
  }

 private:
  int rank_ = 0;
  int size_ = 1;
  double timeout_s_ = 60;
};

}  // namespace mirfak::measure
