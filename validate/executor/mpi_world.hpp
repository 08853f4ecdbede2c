#pragma once

#include "sharding/sharding.hpp"

#include <mpi.h>

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace mirfak::measure {

// Throws Error(internal) with MPI's own words unless `result` is success.
void check_mpi(int result, const char* what);

// A communicator of some ranks, freed when this goes.
class Communicator {
 public:
  Communicator() = default;
  explicit Communicator(MPI_Comm handle) : handle_(handle) {}
  Communicator(Communicator&& other) noexcept { std::swap(handle_, other.handle_); }
  Communicator& operator=(Communicator&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Communicator();

  MPI_Comm handle() const { return handle_; }
  int size() const;
  int rank() const;

 private:
  MPI_Comm handle_ = MPI_COMM_NULL;
};

// Communication that was started and goes on whenever it is asked whether it is done. Its buffers must stay.
class PendingCommunication {
 public:
  PendingCommunication() = default;
  explicit PendingCommunication(MPI_Request request) : requests_{request, MPI_REQUEST_NULL} {}
  bool done();  // never blocks

  static PendingCommunication meeting(const Communicator& among);
  // `bytes`: of the larger buffer on one rank (see ReshardStep); both buffers have room for it.
  static PendingCommunication collective(CollectiveKind kind, const Communicator& among, double bytes,
                                         const float* from, float* to);
  // Ends once the receiver has begun to receive, as a transfer between devices does.
  static PendingCommunication send(MPI_Comm among, int to, int tag, double bytes, const float* from);
  static PendingCommunication receive(MPI_Comm among, int from, int tag, double bytes, float* to);

 private:
  std::array<MPI_Request, 2> requests_ = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

// How to wait where several processes share a core: a few looks at once, then naps that get longer, up to 100 us.
// Throws Error(internal) when nothing has gone on for `timeout_s`.
class PatientWait {
 public:
  PatientWait(double timeout_s, std::function<std::string()> what) : timeout_s_(timeout_s), what_(std::move(what)) {}

  void progress() { looks_ = 0; }  // something went on
  // Nothing did. Returns how long to nap, in seconds; 0: look again at once.
  double next_nap();

 private:
  double timeout_s_;
  std::function<std::string()> what_;  // "rank 2: all_reduce with ranks 0, 1": what is waited for
  int looks_ = 0;
  double since_ = 0;
};

double monotonic_seconds();  // of this machine

// The processes of one job. One at a time; for the thread that made it.
class MpiWorld {
 public:
  MpiWorld(int& count, char**& words);
  ~MpiWorld();
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  MPI_Comm all() const { return MPI_COMM_WORLD; }
  double timeout_s() const { return timeout_s_; }
  void set_timeout(double seconds) { timeout_s_ = seconds; }

  // Called by the members only, in the same order by all of them.
  Communicator among(std::span<const int> ranks, int tag) const;
  void wait_for(PendingCommunication pending, const char* what) const;
  void meet(const char* what) const;  // all ranks
  // Whether all ranks call this within so many seconds: ranks that stop for a reason that all of them find.
  bool all_stop(double within_s) const;
  // Arrays of all ranks, on rank 0; elsewhere empty.
  std::vector<std::vector<double>> gather(std::span<const double> own) const;

  // What to add to monotonic_seconds() to have the time of rank 0, and the most that is off by. Ranks of one machine
  // have one clock. Others exchange 200 messages with rank 0: of the quickest there and back, rank 0's clock is taken
  // to stand in the middle (Cristian, Probabilistic clock synchronization, 1989), which is off by half of it at most.
  struct Clock {
    double offset_s = 0;
    double error_s = 0;
  };
  Clock clock() const;

  // How many of the processes of this machine come before this one.
  int place_on_machine() const;
  // By rank, the first rank of its machine. All processes call together.
  std::vector<int> machines() const;

  // Ends all processes with this status. Does not return.
  [[noreturn]] static void abort(int status);

 private:
  Communicator stopping_;  // for all_stop() alone, so that nothing else can be taken for it
  int rank_ = 0;
  int size_ = 1;
  double timeout_s_ = 60;
};

}  // namespace mirfak::measure
