#include "executor/nccl_communicator.hpp"

#include "base/error.hpp"

#include <fmt/format.h>
#include <nccl.h>

#include <algorithm>
#include <cmath>

namespace mirfak::measure {

namespace {

void check_nccl(ncclResult_t result, const char* what, ncclComm_t communicator = nullptr) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  fail_internal(
      fmt::format("NCCL could not {}: {}\n  {}", what, ncclGetErrorString(result), ncclGetLastError(communicator)));
}

ncclDataType_t data_type(ElementType type) {
  if (type == ElementType::fp16) return ncclFloat16;
  return type == ElementType::bf16 ? ncclBfloat16 : ncclFloat32;
}

std::size_t elements(double bytes, ElementType type) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(bytes / static_cast<double>(element_bytes(type))));
}

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }

// Calls that start work may return before they have: nothing else may be asked of the communicator until then.
void settle(ncclComm_t communicator, double timeout_s, const std::string& what) {
  PatientWait patience(timeout_s, [&] { return what; });
  ncclResult_t state = ncclInProgress;
  for (;;) {
    check_nccl(ncclCommGetAsyncError(communicator, &state), "say how it does", communicator);
    if (state != ncclInProgress) break;
    patience.nap();
  }
  check_nccl(state, what.c_str(), communicator);
}

// The first failure of `operations`, which gives the result of each to its argument, or of the end of their group. The
// group is ended in any case: an open one would keep communicators from being aborted.
template <typename Operations>
ncclResult_t in_group(const Operations& operations) {
  ncclResult_t first = ncclGroupStart();
  if (first != ncclSuccess) return first;
  operations([&](ncclResult_t result) {
    if (first == ncclSuccess && result != ncclInProgress) first = result;
  });
  const ncclResult_t ended = ncclGroupEnd();
  return first == ncclSuccess ? ended : first;
}

ncclResult_t exchange(const void* from, void* to, std::size_t piece, ElementType type, int ranks,
                      ncclComm_t communicator, cudaStream_t stream) {
  const ncclDataType_t data = data_type(type);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
  static_cast<void>(ranks);
  return ncclAlltoAll(from, to, piece, data, communicator, stream);
#else
  return in_group([&](const auto& each) {
    for (int peer = 0; peer < ranks; ++peer) {
      const std::size_t at = static_cast<std::size_t>(peer) * piece * element_bytes(type);
      each(ncclSend(static_cast<const char*>(from) + at, piece, data, peer, communicator, stream));
      each(ncclRecv(static_cast<char*>(to) + at, piece, data, peer, communicator, stream));
    }
  });
#endif
}

}  // namespace

NcclCommunicator::NcclCommunicator(NcclCommunicator&& other) noexcept { *this = std::move(other); }

NcclCommunicator& NcclCommunicator::operator=(NcclCommunicator&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(rank_, other.rank_);
  std::swap(size_, other.size_);
  std::swap(timeout_s_, other.timeout_s_);
  std::swap(failed_, other.failed_);
  return *this;
}

NcclCommunicator::~NcclCommunicator() {
  if (handle_ == nullptr) return;
  if (failed_) {
    ncclCommAbort(handle_);
  } else {
    ncclCommDestroy(handle_);
  }
}

NcclCommunicator NcclCommunicator::among(const World& world, std::span<const int> ranks) {
  ncclUniqueId id{};
  if (world.rank() == ranks.front()) check_nccl(ncclGetUniqueId(&id), "name a communicator");
  world.tell_all(std::as_writable_bytes(std::span(&id, 1)), ranks.front(), "hear the name of a communicator");
  NcclCommunicator out;
  const auto own = std::find(ranks.begin(), ranks.end(), world.rank());
  if (own == ranks.end()) return out;
  out.rank_ = static_cast<int>(own - ranks.begin());
  out.size_ = static_cast<int>(ranks.size());
  out.timeout_s_ = world.timeout_s();
  // Does not block, so that one that never comes is noticed.
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  out.failed_ = true;  // aborted where anything below throws
  check_nccl(ncclCommInitRankConfig(&out.handle_, out.size_, id, out.rank_, &config), "make a communicator");
  settle(out.handle_, world.timeout_s(), fmt::format("rank {} makes a communicator of {}", world.rank(), out.size_));
  out.failed_ = false;
  return out;
}

void NcclCommunicator::collective(CollectiveKind kind, double bytes, ElementType type, const void* from, void* to,
                                  void* stream) const {
  const std::size_t all = elements(bytes, type);
  const std::size_t piece = elements(bytes / size_, type);
  const ncclDataType_t data = data_type(type);
  const auto start = [&] {
    switch (kind) {
      case CollectiveKind::all_reduce:
        return ncclAllReduce(from, to, all, data, ncclSum, handle_, stream_of(stream));
      case CollectiveKind::all_gather:
        return ncclAllGather(from, to, piece, data, handle_, stream_of(stream));
      case CollectiveKind::reduce_scatter:
        return ncclReduceScatter(from, to, piece, data, ncclSum, handle_, stream_of(stream));
      case CollectiveKind::all_to_all:
        return exchange(from, to, piece, type, size_, handle_, stream_of(stream));
      case CollectiveKind::broadcast:
        return ncclBroadcast(to, to, all, data, 0, handle_, stream_of(stream));
      case CollectiveKind::shift:
        break;
    }
    return in_group([&](const auto& each) {
      each(ncclSend(from, all, data, (rank_ + 1) % size_, handle_, stream_of(stream)));
      each(ncclRecv(to, all, data, (rank_ + size_ - 1) % size_, handle_, stream_of(stream)));
    });
  };
  check_nccl(start(), "start a collective", handle_);
  settle(handle_, timeout_s_, "start a collective");
}

void NcclCommunicator::meet(void* word, void* stream) const {
  check_nccl(ncclAllReduce(word, word, 1, ncclFloat32, ncclMax, handle_, stream_of(stream)), "meet", handle_);
  settle(handle_, timeout_s_, "start a meeting");
}

void NcclCommunicator::send(int to, double bytes, ElementType type, const void* from, void* stream) const {
  check_nccl(ncclSend(from, elements(bytes, type), data_type(type), to, handle_, stream_of(stream)), "send", handle_);
  settle(handle_, timeout_s_, "start a send");
}

void NcclCommunicator::receive(int from, double bytes, ElementType type, void* to, void* stream) const {
  check_nccl(ncclRecv(to, elements(bytes, type), data_type(type), from, handle_, stream_of(stream)), "receive",
             handle_);
  settle(handle_, timeout_s_, "start to receive");
}

void NcclCommunicator::check() const {
  ncclResult_t state = ncclSuccess;
  check_nccl(ncclCommGetAsyncError(handle_, &state), "say how it does", handle_);
  check_nccl(state, "communicate", handle_);
}

}  // namespace mirfak::measure
