#include "processes/star.hpp"

#include "base/error.hpp"
#include "processes/interruption.hpp"
#include "processes/patient_wait.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

namespace mirfak::measure {

namespace {

constexpr double kBetweenChecks = 0.1;  // seconds between looks for an interruption
constexpr double kToTell = 1;           // seconds that the end of a job may take to tell a rank
constexpr double kLongestWait = 1e8;    // seconds, as clocks count without overflow
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 36U;
constexpr std::size_t kMaxNamed = 8;

template <typename T>
T value_of(const Message& message) {
  T out{};
  if (message.bytes.size() != sizeof out) fail_internal("a message of another length than its kind has");
  std::memcpy(&out, message.bytes.data(), sizeof out);
  return out;
}

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

std::chrono::duration<double> bounded(double seconds) {
  return std::chrono::duration<double>(std::clamp(seconds, 0.0, kLongestWait));
}

}  // namespace

Star::Star(int rank, std::vector<Socket> links, Ended ended)
    : rank_(rank), ended_(std::move(ended)), wake_(eventfd(0, EFD_CLOEXEC)) {
  if (!wake_.open()) fail_internal("the system has no event descriptor left");
  for (Socket& socket : links) {
    Link& link = links_.emplace_back();
    link.rank = rank == 0 ? static_cast<int>(links_.size()) : 0;
    link.socket = std::move(socket);
  }
  reader_ = std::thread([this] { read_all(); });
}

Star::~Star() {
  over_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);  // cannot fail: it counts to 1
  reader_.join();
}

Sent Star::write(Link& link, MessageKind kind, std::span<const std::byte> bytes, double until) {
  const std::unique_lock lock(link.sending, bounded(until - monotonic_seconds()));
  if (!lock.owns_lock()) return Sent::late;
  const Header header{kind, 0, bytes.size()};
  std::vector<std::byte> all(sizeof header + bytes.size());
  std::memcpy(all.data(), &header, sizeof header);
  std::copy(bytes.begin(), bytes.end(), all.begin() + sizeof header);
  return send_bytes(link.socket, all, until);
}

void Star::send(int to, MessageKind kind, std::span<const std::byte> bytes, const Purpose& purpose) {
  Link& link = link_to(to);
  switch (write(link, kind, bytes, monotonic_seconds() + purpose.timeout_s)) {
    case Sent::all:
      return;
    case Sent::late:
      fail_waiting(purpose.timeout_s,
                   fmt::format("rank {} waits for rank {} to listen, to {}", rank_, to, purpose.what));
    case Sent::gone:
      break;
  }
  fail_gone(link, purpose);
}

void Star::send_to_all(MessageKind kind, std::span<const std::byte> bytes, const Purpose& purpose) {
  for (const Link& link : links_) send(link.rank, kind, bytes, purpose);
}

// The reading thread finds the same fault and knows its reason, which is the one to be told.
void Star::fail_gone(const Link& link, const Purpose& purpose) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, bounded(kToTell), [&] { return !failure_.empty() || link.left; });
  if (!failure_.empty()) fail_internal(failure_);
  fail_internal(fmt::format("rank {} {}, and rank {} waits to {}", link.rank,
                            link.left ? "has ended already" : "went away", rank_, purpose.what));
}

// Waits until each link has a message.
void Star::wait(std::unique_lock<std::mutex>& lock, std::span<Link* const> links, const Purpose& purpose) {
  const auto silent = [](const Link* link) { return link->inbox.empty(); };
  const auto gone = [&](const Link* link) { return silent(link) && (link->left || link->closed); };
  const auto over = [&] {
    return !failure_.empty() || std::any_of(links.begin(), links.end(), gone) ||
           std::none_of(links.begin(), links.end(), silent);
  };
  const double until = monotonic_seconds() + purpose.timeout_s;
  bool in_time = over();
  for (double left = purpose.timeout_s; !in_time && left > 0; left = until - monotonic_seconds()) {
    in_time = changed_.wait_for(lock, bounded(std::min(left, kBetweenChecks)), over);
    check_interruption();
  }
  if (!failure_.empty()) fail_internal(failure_);
  if (const auto lost = std::find_if(links.begin(), links.end(), gone); lost != links.end()) {
    const Link& link = **lost;
    lock.unlock();
    fail_gone(link, purpose);
  }
  if (in_time) return;
  std::vector<int> missing;
  for (const Link* link : links) {
    if (silent(link)) missing.push_back(link->rank);
  }
  const std::size_t named = std::min(missing.size(), kMaxNamed);
  fail_waiting(
      purpose.timeout_s,
      fmt::format("rank {} waits for rank{} {}{} to {}", rank_, missing.size() == 1 ? "" : "s",
                  fmt::join(std::span(missing).first(named), ", "),
                  named == missing.size() ? "" : fmt::format(" and {} more", missing.size() - named), purpose.what));
}

Message Star::take_first(Link& link, MessageKind kind, const Purpose& purpose) const {
  Message out = std::move(link.inbox.front());
  link.inbox.pop_front();
  if (out.kind == kind) return out;
  fail_internal(
      fmt::format("rank {} waits for rank {} to {}, which does something else", rank_, link.rank, purpose.what));
}

Message Star::receive(int from, MessageKind kind, const Purpose& purpose) {
  Link& link = link_to(from);
  const std::array only = {&link};
  std::unique_lock lock(mutex_);
  wait(lock, only, purpose);
  return take_first(link, kind, purpose);
}

std::vector<Message> Star::receive_from_all(MessageKind kind, const Purpose& purpose) {
  std::vector<Link*> all;
  for (Link& link : links_) all.push_back(&link);
  std::unique_lock lock(mutex_);
  wait(lock, all, purpose);
  std::vector<Message> out;
  for (Link* link : all) out.push_back(take_first(*link, kind, purpose));
  return out;
}

Star::Round Star::ask_clock(const Purpose& purpose) {
  Round out;
  out.before = monotonic_seconds();
  send(0, MessageKind::clock, {}, purpose);
  const Message answer = receive(0, MessageKind::clock, purpose);
  out.after = answer.arrived_s;
  out.of_rank_0 = value_of<double>(answer);
  return out;
}

bool Star::all_stop(double within_s) {
  const double until = monotonic_seconds() + within_s;
  if (rank_ == 0) {
    note_stop();
  } else if (write(links_.front(), MessageKind::stop, {}, until) != Sent::all) {
    return false;
  }
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, bounded(within_s), [&] { return stopped_ || !failure_.empty(); });
  return stopped_;
}

void Star::end(int status) {
  over_ = true;
  tell_others(MessageKind::end, bytes_of(status));
}

void Star::leave(double within_s) {
  if (rank_ != 0) over_ = true;
  tell_others(MessageKind::leave, {});
  if (rank_ != 0) return;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, bounded(within_s), [&] {
    return !failure_.empty() ||
           std::all_of(links_.begin(), links_.end(), [](const Link& link) { return link.left || link.closed; });
  });
}

void Star::tell_others(MessageKind kind, std::span<const std::byte> bytes) {
  const double until = monotonic_seconds() + kToTell;
  for (Link& link : links_) write(link, kind, bytes, until);
}

void Star::note_stop() {
  {
    const std::lock_guard lock(mutex_);
    if (++stops_ <= links_.size()) return;
    stopped_ = true;
  }
  changed_.notify_all();
  tell_others(MessageKind::stop, {});
}

// --- the reading thread

void Star::read_all() {
  for (;;) {
    std::vector<pollfd> looks = {{wake_.get(), POLLIN, 0}};
    for (const Link& link : links_) looks.push_back({link.closed ? -1 : link.socket.get(), POLLIN, 0});
    if (poll(looks.data(), looks.size(), -1) < 0) continue;
    if (looks.front().revents != 0) return;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (looks[i + 1].revents != 0) read(links_[i]);
    }
  }
}

void Star::read(Link& link) {
  try {
    while (!link.closed && advance(link)) {
    }
  } catch (const Error& error) {
    finish(fmt::format("rank {}: {}", link.rank, error.what()), 1);
  }
}

// Returns true if a message is complete: there may be another.
bool Star::advance(Link& link) {
  if (link.arrived < sizeof(Header)) {
    const auto room = std::as_writable_bytes(std::span(&link.header, 1)).subspan(link.arrived);
    const Arrived arrived = receive_some(link.socket, room);
    link.arrived += arrived.bytes;
    if (arrived.closed) lose(link);
    if (link.arrived < sizeof(Header)) return false;
    if (link.header.bytes > kMaxBytes) fail_internal("a message of a length that none has");
    link.bytes.resize(link.header.bytes);
  }
  const std::size_t whole = sizeof(Header) + link.bytes.size();
  if (link.arrived < whole) {
    const Arrived arrived = receive_some(link.socket, std::span(link.bytes).subspan(link.arrived - sizeof(Header)));
    link.arrived += arrived.bytes;
    if (arrived.closed) lose(link);
    if (link.arrived < whole) return false;
  }
  link.arrived = 0;
  take(link, {link.header.kind, std::exchange(link.bytes, {}), monotonic_seconds()});
  return true;
}

void Star::take(Link& link, Message message) {
  if (message.kind == MessageKind::clock && rank_ == 0) {
    write(link, MessageKind::clock, bytes_of(monotonic_seconds()), monotonic_seconds() + kToTell);
  } else if (message.kind == MessageKind::stop && rank_ == 0) {
    note_stop();
  } else if (message.kind == MessageKind::end) {
    const int status = value_of<int>(message);
    if (rank_ == 0) tell_others(MessageKind::end, bytes_of(status));
    finish(rank_ == 0 ? fmt::format("rank {} ended the job with status {}", link.rank, status) : "", status);
  } else {
    {
      const std::lock_guard lock(mutex_);
      if (message.kind == MessageKind::leave) {
        link.left = true;
      } else if (message.kind == MessageKind::stop) {
        stopped_ = true;
      } else {
        link.inbox.push_back(std::move(message));
      }
    }
    changed_.notify_all();
  }
}

// Nothing will come from this link any more.
void Star::lose(Link& link) {
  bool left = false;
  {
    const std::lock_guard lock(mutex_);
    link.closed = true;
    left = link.left;
  }
  changed_.notify_all();
  if (left || over_) return;
  if (rank_ == 0) tell_others(MessageKind::end, bytes_of(1));
  finish(fmt::format("rank {} went away: it has said nothing here, its own output may say why", link.rank), 1);
}

void Star::finish(const std::string& why, int status) {
  if (over_.exchange(true)) return;
  {
    const std::lock_guard lock(mutex_);
    failure_ = why.empty() ? "another rank has ended the job" : why;
  }
  changed_.notify_all();
  if (ended_) ended_(why, status);
}

}  // namespace mirfak::measure
