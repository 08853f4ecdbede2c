#include "executor/mpi_world.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <thread>

namespace mirfak::measure {

namespace {

constexpr int kLooks = 20;              // at once, before the first nap
constexpr double kFirstNap = 5e-6;      // seconds
constexpr double kLongestNap = 100e-6;  // seconds
constexpr int kClockRounds = 200;
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

double PatientWait::next_nap() {
  const double now = monotonic_seconds();
  if (looks_++ == 0) since_ = now;
  if (now - since_ > timeout_s_) {
    fail_internal(
        fmt::format("nothing went on for {:g} s: {}\n  has another rank failed? --timeout sets how long to wait",
                    timeout_s_, what_()));
  }
  if (looks_ < kLooks) return 0;
  return std::min(kLongestNap, kFirstNap * std::exp2((looks_ - kLooks) / 16));
}

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

MpiWorld::MpiWorld(int& count, char**& words) {
  int provided = 0;
  check_mpi(MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided), "start");
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "report errors");
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "number the ranks");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "count the ranks");
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
  PatientWait patience(timeout_s_, [&] { return fmt::format("rank {} waits to {}", rank_, what); });
  while (!pending.done()) {
    const double nap = patience.next_nap();
    if (nap > 0) std::this_thread::sleep_for(std::chrono::duration<double>(nap));
  }
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
    std::this_thread::sleep_for(std::chrono::duration<double>(kLongestNap));
  }
  return true;
}

std::vector<std::vector<double>> MpiWorld::gather(std::span<const double> own) const {
  const int count = static_cast<int>(own.size());
  std::vector<int> counts(static_cast<std::size_t>(size_));
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Igather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD, &request), "gather times");
  wait_for(PendingCommunication(request), "gather times");
  std::vector<int> begins(counts.size(), 0);
  for (std::size_t i = 1; i < counts.size(); ++i) begins[i] = begins[i - 1] + counts[i - 1];
  std::vector<double> all(rank_ == 0 ? static_cast<std::size_t>(begins.back() + counts.back()) : 0);
  check_mpi(MPI_Igatherv(own.data(), count, MPI_DOUBLE, all.data(), counts.data(), begins.data(), MPI_DOUBLE, 0,
                         MPI_COMM_WORLD, &request),
            "gather times");
  wait_for(PendingCommunication(request), "gather times");
  std::vector<std::vector<double>> out;
  for (std::size_t i = 0; rank_ == 0 && i < counts.size(); ++i) {
    out.emplace_back(all.begin() + begins[i], all.begin() + begins[i] + counts[i]);
  }
  return out;
}

MpiWorld::Clock MpiWorld::clock() const {
  MPI_Comm near = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near), "find neighbours");
  const Communicator neighbours(near);
  if (neighbours.size() == size_) return {};
  Clock out;
  out.error_s = std::numeric_limits<double>::infinity();
  for (int other = 1; other < size_; ++other) {
    for (int round = 0; round < kClockRounds; ++round) {
      double theirs = monotonic_seconds();
      if (rank_ == 0) {
        check_mpi(MPI_Recv(&theirs, 1, MPI_DOUBLE, other, kClockTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "set clocks");
        theirs = monotonic_seconds();
        check_mpi(MPI_Send(&theirs, 1, MPI_DOUBLE, other, kClockTag, MPI_COMM_WORLD), "set clocks");
      } else if (rank_ == other) {
        const double before = theirs;
        check_mpi(MPI_Send(&theirs, 1, MPI_DOUBLE, 0, kClockTag, MPI_COMM_WORLD), "set clocks");
        check_mpi(MPI_Recv(&theirs, 1, MPI_DOUBLE, 0, kClockTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "set clocks");
        const double after = monotonic_seconds();
        if ((after - before) / 2 >= out.error_s) continue;
        out.error_s = (after - before) / 2;
        out.offset_s = theirs - (after + before) / 2;
      }
    }
  }
  if (rank_ == 0) out.error_s = 0;
  double worst = 0;
  check_mpi(MPI_Allreduce(&out.error_s, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD), "agree on clocks");
  out.error_s = 2 * worst;  // between any two ranks
  return out;
}

int MpiWorld::place_on_machine() const {
  MPI_Comm near = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near), "find neighbours");
  return Communicator(near).rank();
}

std::vector<int> MpiWorld::machines() const {
  MPI_Comm near = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near), "find neighbours");
  const Communicator neighbours(near);
  int first = rank_;
  check_mpi(MPI_Allreduce(&rank_, &first, 1, MPI_INT, MPI_MIN, near), "find neighbours");
  std::vector<int> out(static_cast<std::size_t>(size_));
  check_mpi(MPI_Allgather(&first, 1, MPI_INT, out.data(), 1, MPI_INT, MPI_COMM_WORLD), "tell machines apart");
  return out;
}

void MpiWorld::abort(int status) {
  MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

}  // namespace mirfak::measure
