#pragma once

#include "processes/world.hpp"
#include "sharding/sharding.hpp"

#include <mpi.h>

#include <array>
#include <span>
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

// The processes that an MPI launcher started. It has what only MPI has besides: communicators of some ranks, in which
// the CPU executor communicates.
class MpiWorld : public World {
 public:
  // Starts MPI, which may wait for other processes for as long as it likes.
  MpiWorld(int& count, char**& words);
  ~MpiWorld() override;

  void meet(const char* what) const override;
  bool all_stop(double within_s) const override;
  std::vector<std::vector<double>> gather(std::span<const double> own) const override;
  void tell_all(std::span<std::byte> bytes, int from, const char* what) const override;
  Clock clock() const override;
  int place_on_machine() const override;

  // Called by the members only, in the same order by all of them.
  Communicator among(std::span<const int> ranks, int tag) const;
  void wait_for(PendingCommunication pending, const char* what) const;

 private:
  void end_others(int status) const override;
  void look_for(MPI_Request request, int other) const;
  void send_clock(double time, int to) const;
  double receive_clock(int from) const;

  Communicator stopping_;  // for all_stop() alone, so that nothing else can be taken for it
};

}  // namespace mirfak::measure
