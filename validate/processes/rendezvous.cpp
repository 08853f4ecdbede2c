// A process that connects says hello in 72 bytes. When all have, rank 0 answers each: 24 bytes, and words if it
// refuses. Numbers are the machine's: one with another order of bytes has another magic number.

#include "processes/rendezvous.hpp"

#include "base/error.hpp"
#include "processes/machine.hpp"
#include "processes/patient_wait.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <list>
#include <map>
#include <thread>

namespace mirfak::measure {

namespace {

constexpr std::uint64_t kMagic = 0x6d69'7266'616b'0d0aULL;  // "mirfak" and a line end
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kMaxText = 4096;
constexpr double kBetweenAttempts = 0.1;  // seconds
constexpr double kToAnswer = 10;          // seconds to send a few bytes
constexpr std::size_t kMaxNamed = 8;

struct Hello {
  std::uint64_t magic = kMagic;
  std::uint64_t job = 0;
  std::uint32_t version = kVersion;
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  std::uint32_t nothing = 0;
  MachineId machine{};
};
static_assert(sizeof(Hello) == 72);

enum class Verdict : std::uint32_t { begin, refused, over };  // behind the others a text follows
struct Answer {
  std::uint64_t magic = kMagic;
  Verdict verdict = Verdict::begin;
  std::uint32_t text_bytes = 0;
  std::uint32_t place = 0;
  std::uint32_t one_machine = 0;
};
static_assert(sizeof(Answer) == 24);

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

std::uint64_t fingerprint(const std::string& text) {  // FNV-1a
  std::uint64_t out = 0xcbf2'9ce4'8422'2325ULL;
  for (const char c : text) out = (out ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3ULL;
  return out;
}

Hello hello_of(const JobLaunch& launch) {
  Hello out;
  out.job = fingerprint(launch.job);
  out.rank = static_cast<std::uint32_t>(launch.rank);
  out.size = static_cast<std::uint32_t>(launch.size);
  out.machine = this_machine();
  return out;
}

// A rank takes a descriptor, and the default limit is 1024.
void allow_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Receives the other ranks, on rank 0.
class Reception {
 public:
  explicit Reception(const JobLaunch& launch)
      : launch_(launch), own_(hello_of(launch)), guests_(static_cast<std::size_t>(launch.size)) {
    allow_descriptors();
    listener_ = listen_on(launch.port);
  }

  Assembly run() {
    const double until = monotonic_seconds() + launch_.start_timeout_s;
    while (present_ + 1 < guests_.size()) {
      if (!look(until)) fail_internal(give_up());
    }
    return begin();
  }

 private:
  // A process that has not said yet, or not in full, who it is.
  struct Stranger {
    Socket socket;
    std::string who;
    Hello hello;
    std::size_t said = 0;
  };
  struct Guest {
    Socket socket;
    MachineId machine{};
  };

  // Waits until something happens and deals with it; false: it did not by then.
  bool look(double until) {
    std::vector<pollfd> looks = {{listener_.get(), POLLIN, 0}};
    for (const Stranger& stranger : strangers_) looks.push_back({stranger.socket.get(), POLLIN, 0});
    for (const Guest& guest : guests_) looks.push_back({guest.socket.get(), POLLIN, 0});  // -1: is not looked at
    if (poll(looks.data(), looks.size(), poll_milliseconds(until)) == 0) return false;
    std::size_t next = 1;
    for (auto stranger = strangers_.begin(); stranger != strangers_.end();) {
      const bool speaks = looks[next++].revents != 0;
      stranger = speaks && listen_to(*stranger) ? strangers_.erase(stranger) : std::next(stranger);
    }
    for (std::size_t rank = 0; rank < guests_.size(); ++rank) {
      if (looks[next++].revents != 0) fail_internal(tell_others(fmt::format("rank {} went away", rank)));
    }
    if (looks.front().revents != 0) {
      for (Caller caller = accept_from(listener_); caller.socket.open(); caller = accept_from(listener_)) {
        strangers_.push_back({std::move(caller.socket), std::move(caller.who), {}, 0});
      }
    }
    return true;
  }

  // Returns true if nothing more is to be heard from the stranger.
  bool listen_to(Stranger& stranger) {
    const auto room = std::as_writable_bytes(std::span(&stranger.hello, 1)).subspan(stranger.said);
    const Arrived arrived = receive_some(stranger.socket, room);
    stranger.said += arrived.bytes;
    if (stranger.said >= sizeof(std::uint64_t) && stranger.hello.magic != kMagic) {
      refused_.push_back(fmt::format("{}: is no mirfak-measure", stranger.who));
      return true;
    }
    if (stranger.said < sizeof(Hello)) return arrived.closed;
    const std::string why = fault_of(stranger.hello);
    if (why.empty()) {
      guests_[stranger.hello.rank] = {std::move(stranger.socket), stranger.hello.machine};
      ++present_;
    } else {
      refused_.push_back(fmt::format("{}: {}", stranger.who, why));
      answer(stranger.socket, no(Verdict::refused, why), why);
    }
    return true;
  }

  std::string fault_of(const Hello& hello) const {
    if (hello.version != kVersion) return "it is of another version of mirfak-measure";
    if (hello.job != own_.job) return "it belongs to another job";
    if (hello.size != own_.size) {
      return fmt::format("it is one of {} processes, and rank 0 one of {}", hello.size, own_.size);
    }
    if (hello.rank == 0 || hello.rank >= own_.size || guests_[hello.rank].socket.open()) {
      return fmt::format("there is a rank {} already", hello.rank);
    }
    return {};
  }

  static Answer no(Verdict verdict, const std::string& why) {
    Answer out;
    out.verdict = verdict;
    out.text_bytes = static_cast<std::uint32_t>(std::min<std::size_t>(why.size(), kMaxText));
    return out;
  }

  static bool answer(const Socket& to, const Answer& answer, const std::string& text) {
    const double until = monotonic_seconds() + kToAnswer;
    const auto words = std::as_bytes(std::span(text)).first(answer.text_bytes);
    return send_bytes(to, bytes_of(answer), until) == Sent::all && send_bytes(to, words, until) == Sent::all;
  }

  Assembly begin() {
    std::map<MachineId, std::uint32_t> places;
    ++places[own_.machine];
    std::vector<Answer> answers(guests_.size());
    for (std::size_t rank = 1; rank < guests_.size(); ++rank) answers[rank].place = places[guests_[rank].machine]++;
    Assembly out;
    out.one_machine = places.size() == 1;
    for (std::size_t rank = 1; rank < guests_.size(); ++rank) {
      answers[rank].one_machine = out.one_machine ? 1 : 0;
      if (!answer(guests_[rank].socket, answers[rank], {})) {
        fail_internal(tell_others(fmt::format("rank {} went away", rank)));
      }
      out.links.push_back(std::move(guests_[rank].socket));
    }
    return out;
  }

  // Tells all who wait; returns what it told them.
  std::string tell_others(std::string why) const {
    for (const Guest& guest : guests_) {
      if (guest.socket.open()) answer(guest.socket, no(Verdict::over, why), why);
    }
    return why;
  }

  std::string give_up() const {
    std::vector<std::string> missing;
    for (std::size_t rank = 1; rank < guests_.size(); ++rank) {
      if (!guests_[rank].socket.open() && missing.size() < kMaxNamed) missing.push_back(std::to_string(rank));
    }
    const std::size_t more = guests_.size() - 1 - present_ - missing.size();
    std::string out = fmt::format("rank 0 waited {:g} s at port {} for rank{} {}{}, which did not come",
                                  launch_.start_timeout_s, launch_.port, missing.size() == 1 ? "" : "s",
                                  fmt::join(missing, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
    tell_others(out);
    for (std::size_t i = 0; i < std::min(refused_.size(), kMaxNamed); ++i) out += "\n  refused " + refused_[i];
    return out + "\n  were they started? MIRFAK_START_TIMEOUT sets how many seconds to wait";
  }

  const JobLaunch& launch_;
  Hello own_;
  std::vector<Guest> guests_;  // by rank
  std::size_t present_ = 0;    // of them
  std::list<Stranger> strangers_;
  std::vector<std::string> refused_;
  Socket listener_;
};

// An attempt of any other rank to reach rank 0 and to hear from it.
class Visit {
 public:
  Visit(const JobLaunch& launch, double until)
      : launch_(launch), until_(until), where_(fmt::format("{}:{}", launch.address, launch.port)) {}

  // Returns false if it did not succeed now; why_not() says why.
  bool succeeds() {
    Connection connection = connect_to(launch_.address, launch_.port, until_);
    if (!connection.socket.open()) return no(connection.why_not);
    link_ = std::move(connection.socket);
    const Hello hello = hello_of(launch_);
    if (send_bytes(link_, bytes_of(hello), until_) != Sent::all) return no("it took no message");
    std::array<std::byte, sizeof(Answer)> bytes{};
    if (!hear(bytes)) return false;
    std::memcpy(&answer_, bytes.data(), sizeof answer_);
    if (answer_.magic != kMagic) {
      fail_infeasible({},
                      fmt::format("rank {} looks for rank 0 at {}, and what listens there is no mirfak-measure",
                                  launch_.rank, where_),
                      "name a free port, the same for all processes: MIRFAK_PORT=...");
    }
    return answer_.verdict == Verdict::begin || hear_refusal();
  }

  const std::string& why_not() const { return why_not_; }
  const std::string& where() const { return where_; }

  Assembly assembly() {
    Assembly out;
    out.place = static_cast<int>(answer_.place);
    out.one_machine = answer_.one_machine != 0;
    out.links.push_back(std::move(link_));
    return out;
  }

 private:
  bool no(const std::string& why) {
    why_not_ = why;
    return false;
  }

  bool hear(std::span<std::byte> room) {
    while (!room.empty()) {
      if (!wait_to_read(link_, until_)) return no("it was reached, and waits for others");
      const Arrived arrived = receive_some(link_, room);
      room = room.subspan(arrived.bytes);
      if (arrived.closed && !room.empty()) return no("what listens there closed the connection");
    }
    return true;
  }

  bool hear_refusal() {
    std::string text(std::min(answer_.text_bytes, kMaxText), '\0');
    if (!hear(std::as_writable_bytes(std::span(text)))) return false;
    if (answer_.verdict == Verdict::over) fail_internal(fmt::format("rank 0 at {} has given up: {}", where_, text));
    fail_input({}, fmt::format("rank 0 at {} sent rank {} away: {}", where_, launch_.rank, text),
               "start all processes of a job alike, each rank once, and every job with a port of its own");
  }

  const JobLaunch& launch_;
  double until_;
  std::string where_;
  Socket link_;
  Answer answer_;
  std::string why_not_;
};

Assembly visit(const JobLaunch& launch) {
  const double until = monotonic_seconds() + launch.start_timeout_s;
  for (;;) {
    Visit attempt(launch, until);
    if (attempt.succeeds()) return attempt.assembly();
    if (monotonic_seconds() + kBetweenAttempts > until) {
      fail_internal(
          fmt::format("rank {} waited {:g} s for rank 0 at {}: {}\n  is MASTER_ADDR rank 0's machine, and may "
                      "others reach this port of it? MIRFAK_PORT names another port, MIRFAK_START_TIMEOUT "
                      "how many seconds to wait",
                      launch.rank, launch.start_timeout_s, attempt.where(), attempt.why_not()));
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(kBetweenAttempts));
  }
}

}  // namespace

Assembly assemble(const JobLaunch& launch) {
  if (launch.size == 1) return {};
  return launch.rank == 0 ? Reception(launch).run() : visit(launch);
}

}  // namespace mirfak::measure
