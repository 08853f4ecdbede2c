#pragma once

#include "executor/cuda_memory_kernels.hpp"
#include "processes/world.hpp"
#include "sharding/sharding.hpp"

#include <functional>
#include <span>
#include <string>

struct ncclComm;

namespace mirfak::measure {

// A communicator of NCCL. Operations are put into streams and do not wait; whoever waits for a stream asks check()
// meanwhile. Destroyed by aborting it where work was left undone, so that nothing hangs.
class NcclCommunicator {
 public:
  NcclCommunicator() = default;
  NcclCommunicator(NcclCommunicator&& other) noexcept;
  NcclCommunicator& operator=(NcclCommunicator&& other) noexcept;
  ~NcclCommunicator();

  // Makes one of `ranks`, in that order. Called by all processes, in the same order; those that are no members get
  // an empty one. Error(internal) where NCCL fails, or others do not come within the world's timeout.
  static NcclCommunicator among(const World& world, std::span<const int> ranks);

  bool member() const { return handle_ != nullptr; }
  int size() const { return size_; }

  // `bytes`: of the larger buffer on one rank, as ReshardStep has it; at least one element a rank moves.
  void collective(CollectiveKind kind, double bytes, ElementType type, const void* from, void* to, void* stream) const;
  void meet(void* word, void* stream) const;  // returns when all members have; `word`: 4 bytes of device memory
  void send(int to, double bytes, ElementType type, const void* from, void* stream) const;
  void receive(int from, double bytes, ElementType type, void* to, void* stream) const;

  // Throws Error(internal) with NCCL's words where an operation has failed since.
  void check() const;
  // Makes the destructor abort the communicator, not end it: after a failure.
  void give_up() { failed_ = true; }

 private:
  ncclComm* handle_ = nullptr;
  int rank_ = 0;
  int size_ = 0;
  double timeout_s_ = 60;
  bool failed_ = false;
};

}  // namespace mirfak::measure
