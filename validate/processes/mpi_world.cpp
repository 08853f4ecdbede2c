#include "processes/mpi_world.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

namespace mirfak::measure {

namespace {

constexpr int kClockTag = 7;

int elements(double bytes) {
  const double count = std::max(1.0, std::floor(bytes / sizeof(float)));
  if (count > std::numeric_limits<int>::max()) {
    fail_infeasible({}, fmt::format("a message of {:.3g} bytes is more than MPI counts", bytes), "use a smaller model");
  }
  return static_cast<int>(count);
}

}  // namespace

void check_mpi(int result, const char* what) {
  if (result == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(result, text.data(), &length);
  fail_internal(fmt::format("MPI could not {}: {}", what, std::string(text.data(), static_cast<std::size_t>(length))));
}

Communicator::~Communicator() {
  int over = 0;
  MPI_Finalized(&over);
  if (handle_ != MPI_COMM_NULL && handle_ != MPI_COMM_WORLD && over == 0) MPI_Comm_free(&handle_);
}

int Communicator::size() const {
  int size = 0;
  check_mpi(MPI_Comm_size(handle_, &size), "count the ranks of a group");
  return size;
}

int Communicator::rank() const {
  int rank = 0;
  check_mpi(MPI_Comm_rank(handle_, &rank), "find a place in a group");
  return rank;
}

bool PendingCommunication::done() {
  if (requests_ == std::array{MPI_REQUEST_NULL, MPI_REQUEST_NULL}) return true;  // where there may be no MPI
  int flag = 0;
  check_mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &flag, MPI_STATUSES_IGNORE),
            "communicate");
  return flag != 0;
}

PendingCommunication PendingCommunication::meeting(const Communicator& among) {
  PendingCommunication out;
  check_mpi(MPI_Ibarrier(among.handle(), out.requests_.data()), "start a meeting");
  return out;
}

PendingCommunication PendingCommunication::collective(CollectiveKind kind, const Communicator& among, double bytes,
                                                      const float* from, float* to) {
  const int ranks = among.size();
  const int all = elements(bytes);
  const int piece = elements(bytes / ranks);
  PendingCommunication out;
  MPI_Request* request = out.requests_.data();
  const auto start = [&] {
    switch (kind) {
      case CollectiveKind::all_reduce:
        return MPI_Iallreduce(from, to, all, MPI_FLOAT, MPI_SUM, among.handle(), request);
      case CollectiveKind::all_gather:
        return MPI_Iallgather(from, piece, MPI_FLOAT, to, piece, MPI_FLOAT, among.handle(), request);
      case CollectiveKind::reduce_scatter:
        return MPI_Ireduce_scatter_block(from, to, piece, MPI_FLOAT, MPI_SUM, among.handle(), request);
      case CollectiveKind::all_to_all:
        return MPI_Ialltoall(from, piece, MPI_FLOAT, to, piece, MPI_FLOAT, among.handle(), request);
      case CollectiveKind::broadcast:
        return MPI_Ibcast(to, all, MPI_FLOAT, 0, among.handle(), request);
      case CollectiveKind::shift:
        break;
    }
    const int own = among.rank();
    const int result = MPI_Irecv(to, all, MPI_FLOAT, (own + ranks - 1) % ranks, 0, among.handle(), &out.requests_[1]);
    if (result != MPI_SUCCESS) return result;
    return MPI_Issend(from, all, MPI_FLOAT, (own + 1) % ranks, 0, among.handle(), request);
  };
  check_mpi(start(), "start a collective");
  return out;
}

PendingCommunication PendingCommunication::send(MPI_Comm among, int to, int tag, double bytes, const float* from) {
  PendingCommunication out;
  check_mpi(MPI_Issend(from, elements(bytes), MPI_FLOAT, to, tag, among, out.requests_.data()), "send");
  return out;
}

PendingCommunication PendingCommunication::receive(MPI_Comm among, int from, int tag, double bytes, float* to) {
  PendingCommunication out;
  check_mpi(MPI_Irecv(to, elements(bytes), MPI_FLOAT, from, tag, among, out.requests_.data()), "receive");
  return out;
}

MpiWorld::MpiWorld(int& count, char**& words) {
  int provided = 0;
  check_mpi(MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided), "start");
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "report errors");
  int rank = 0;
  int size = 1;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "number the ranks");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size), "count the ranks");
  set_place(rank, size);
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &copy), "copy a communicator");
  stopping_ = Communicator(copy);
}

MpiWorld::~MpiWorld() {
  stopping_ = {};
  MPI_Finalize();
}

Communicator MpiWorld::among(std::span<const int> ranks, int tag) const {
  MPI_Group everybody = MPI_GROUP_NULL;
  MPI_Group members = MPI_GROUP_NULL;
  MPI_Comm handle = MPI_COMM_NULL;
  check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &everybody), "make a group");
  check_mpi(MPI_Group_incl(everybody, static_cast<int>(ranks.size()), ranks.data(), &members), "make a group");
  check_mpi(MPI_Comm_create_group(MPI_COMM_WORLD, members, tag, &handle), "make a communicator");
  MPI_Group_free(&members);
  MPI_Group_free(&everybody);
  return Communicator(handle);
}

void MpiWorld::wait_for(PendingCommunication pending, const char* what) const {
  PatientWait patience(timeout_s(), [&] { return fmt::format("rank {} waits to {}", rank(), what); });
  while (!pending.done()) patience.nap();
}

void MpiWorld::meet(const char* what) const {
  const Communicator everybody(MPI_COMM_WORLD);
  wait_for(PendingCommunication::meeting(everybody), what);
}

bool MpiWorld::all_stop(double within_s) const {
  PendingCommunication pending = PendingCommunication::meeting(stopping_);
  const double until = monotonic_seconds() + within_s;
  while (!pending.done()) {
    if (monotonic_seconds() > until) return false;
    std::this_thread::sleep_for(std::chrono::duration<double>(PatientWait::kLongestNap));
  }
  return true;
}

std::vector<std::vector<double>> MpiWorld::gather(std::span<const double> own) const {
  const int count = static_cast<int>(own.size());
  std::vector<int> counts(static_cast<std::size_t>(size()));
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Igather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD, &request), "gather times");
  wait_for(PendingCommunication(request), "gather times");
  std::vector<int> begins(counts.size(), 0);
  for (std::size_t i = 1; i < counts.size(); ++i) begins[i] = begins[i - 1] + counts[i - 1];
  std::vector<double> all(rank() == 0 ? static_cast<std::size_t>(begins.back() + counts.back()) : 0);
  check_mpi(MPI_Igatherv(own.data(), count, MPI_DOUBLE, all.data(), counts.data(), begins.data(), MPI_DOUBLE, 0,
                         MPI_COMM_WORLD, &request),
            "gather times");
  wait_for(PendingCommunication(request), "gather times");
  std::vector<std::vector<double>> out;
  for (std::size_t i = 0; rank() == 0 && i < counts.size(); ++i) {
    out.emplace_back(all.begin() + begins[i], all.begin() + begins[i] + counts[i]);
  }
  return out;
}

void MpiWorld::tell_all(std::span<std::byte> bytes, int from, const char* what) const {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, from, MPI_COMM_WORLD, &request), what);
  wait_for(PendingCommunication(request), what);
}

// Does not nap, as wait_for() does: naps would be taken for the way there and back.
void MpiWorld::look_for(MPI_Request request, int other) const {
  const double since = monotonic_seconds();
  for (int done = 0; done == 0;) {
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "set clocks");
    if (done == 0 && monotonic_seconds() - since > timeout_s()) {
      fail_waiting(timeout_s(), fmt::format("rank {} waits for rank {} to set clocks", rank(), other));
    }
  }
}

void MpiWorld::send_clock(double time, int to) const {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Isend(&time, 1, MPI_DOUBLE, to, kClockTag, MPI_COMM_WORLD, &request), "set clocks");
  look_for(request, to);
}

double MpiWorld::receive_clock(int from) const {
  double time = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Irecv(&time, 1, MPI_DOUBLE, from, kClockTag, MPI_COMM_WORLD, &request), "set clocks");
  look_for(request, from);
  return time;
}

World::Clock MpiWorld::clock() const {
  MPI_Comm near = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near), "find neighbours");
  const Communicator neighbours(near);
  if (neighbours.size() == size()) return {};
  ClockEstimate estimate;
  for (int other = 1; other < size(); ++other) {
    for (int round = 0; round < ClockEstimate::kRounds; ++round) {
      if (rank() == 0) {
        receive_clock(other);
        send_clock(monotonic_seconds(), other);
      } else if (rank() == other) {
        const double before = monotonic_seconds();
        send_clock(before, 0);
        const double of_rank_0 = receive_clock(0);
        estimate.add_round(before, of_rank_0, monotonic_seconds());
      }
    }
    meet("set clocks");  // so that waiting for one's turn is going on
  }
  const double error = rank() == 0 ? 0 : estimate.error_s();
  double worst = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallreduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request), "agree on clocks");
  wait_for(PendingCommunication(request), "agree on clocks");
  return {estimate.offset_s(), 2 * worst};  // between any two ranks
}

int MpiWorld::place_on_machine() const {
  MPI_Comm near = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near), "find neighbours");
  return Communicator(near).rank();
}

void MpiWorld::end_others(int status) const { MPI_Abort(MPI_COMM_WORLD, status); }

}  // namespace mirfak::measure
