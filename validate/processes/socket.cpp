#include "processes/socket.hpp"

#include "base/error.hpp"
#include "processes/patient_wait.hpp"

#include <fmt/format.h>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <system_error>

namespace mirfak::measure {

namespace {

std::string words_of(int error) { return std::generic_category().message(error); }

void set_option(const Socket& socket, int level, int option, int value) {
  setsockopt(socket.get(), level, option, &value, sizeof value);
}

// A machine that vanishes without a word is noticed within half a minute, and small messages leave at once.
void prepare(const Socket& socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);  // the same for what was sent and not confirmed
}

sockaddr* general(sockaddr_storage& address) { return reinterpret_cast<sockaddr*>(&address); }

std::string name_of(sockaddr_storage& address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> service{};
  if (getnameinfo(general(address), length, host.data(), host.size(), service.data(), service.size(),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "an unknown address";
  }
  return fmt::format("{}:{}", host.data(), service.data());
}

// 0, or what went wrong.
int listen_at(const Socket& socket, sockaddr_storage address, socklen_t length) {
  if (!socket.open()) return errno;
  set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);  // after a job that has just ended
  if (address.ss_family == AF_INET6) set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (bind(socket.get(), general(address), length) != 0 || listen(socket.get(), SOMAXCONN) != 0) return errno;
  return 0;
}

Socket stream_socket(int family) { return Socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

// Ports that systems hand out lie in one range: who tries one of its own machine again and again may get it as its own
// address and reach itself.
bool reached_itself(const Socket& socket) {
  sockaddr_storage own{};
  sockaddr_storage other{};
  socklen_t own_length = sizeof own;
  socklen_t other_length = sizeof other;
  return getsockname(socket.get(), general(own), &own_length) == 0 &&
         getpeername(socket.get(), general(other), &other_length) == 0 && own_length == other_length &&
         std::memcmp(&own, &other, own_length) == 0;
}

bool poll_one(const Socket& socket, short events, double until) {
  pollfd look{socket.get(), events, 0};
  for (;;) {
    const int found = poll(&look, 1, poll_milliseconds(until));
    if (found > 0) return true;
    if (found == 0) return false;
    if (errno != EINTR) return true;  // what follows will say what is wrong
  }
}

// 0, or what went wrong.
int connect_at(const Socket& socket, const addrinfo& address, double until) {
  if (!socket.open()) return errno;
  if (connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return errno;
    if (!poll_one(socket, POLLOUT, until)) return ETIMEDOUT;
    int fault = 0;
    socklen_t length = sizeof fault;
    if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &fault, &length) != 0) return errno;
    if (fault != 0) return fault;
  }
  return reached_itself(socket) ? ECONNREFUSED : 0;
}

}  // namespace

Socket::~Socket() {
  if (open()) close(descriptor_);
}

int poll_milliseconds(double until) {
  constexpr double kLongest = 2e9;  // as an int counts them: 23 days
  return static_cast<int>(std::ceil(std::clamp((until - monotonic_seconds()) * 1e3, 0.0, kLongest)));
}

Socket listen_on(int port) {
  sockaddr_storage address{};
  sockaddr_in6 both{};
  both.sin6_family = AF_INET6;
  both.sin6_port = htons(static_cast<std::uint16_t>(port));
  both.sin6_addr = in6addr_any;
  std::memcpy(&address, &both, sizeof both);
  Socket out = stream_socket(AF_INET6);
  int fault = listen_at(out, address, sizeof both);
  if (fault != 0 && fault != EADDRINUSE && fault != EACCES) {  // a machine without IPv6
    sockaddr_in only{};
    only.sin_family = AF_INET;
    only.sin_port = both.sin6_port;
    address = {};
    std::memcpy(&address, &only, sizeof only);
    out = stream_socket(AF_INET);
    fault = listen_at(out, address, sizeof only);
  }
  if (fault == 0) return out;
  fail_infeasible({}, fmt::format("rank 0 cannot listen at port {}: {}", port, words_of(fault)),
                  "name a free port, the same for all processes: MIRFAK_PORT=...");
}

Caller accept_from(const Socket& listener) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  Caller out;
  out.socket = Socket(accept4(listener.get(), general(address), &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!out.socket.open()) {
    if (errno == EMFILE || errno == ENFILE) {
      fail_infeasible({}, "rank 0 cannot open as many connections as there are ranks", "raise the limit: ulimit -n");
    }
    return out;
  }
  prepare(out.socket);
  out.who = name_of(address, length);
  return out;
}

Connection connect_to(const std::string& address, int port, double until) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int fault = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (fault != 0) return {Socket(), gai_strerror(fault)};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, freeaddrinfo);
  Connection out;
  for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
    out.socket = stream_socket(one->ai_family);
    const int failed = connect_at(out.socket, *one, until);
    if (failed == 0) {
      prepare(out.socket);
      return out;
    }
    out.why_not = words_of(failed);
  }
  out.socket = Socket();
  return out;
}

Arrived receive_some(const Socket& from, std::span<std::byte> room) {
  Arrived out;
  while (out.bytes < room.size()) {
    const ssize_t count = recv(from.get(), room.data() + out.bytes, room.size() - out.bytes, 0);
    if (count > 0) {
      out.bytes += static_cast<std::size_t>(count);
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    out.closed = count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    break;
  }
  return out;
}

Sent send_bytes(const Socket& to, std::span<const std::byte> bytes, double until) {
  while (!bytes.empty()) {
    const ssize_t count = send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!poll_one(to, POLLOUT, until)) return Sent::late;
    } else if (errno != EINTR) {
      return Sent::gone;
    }
  }
  return Sent::all;
}

bool wait_to_read(const Socket& socket, double until) { return poll_one(socket, POLLIN, until); }

}  // namespace mirfak::measure
