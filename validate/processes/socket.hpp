#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace mirfak::measure {

// A descriptor that is closed when this goes. All sockets here are of TCP and never block: who waits does so by poll().
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept { std::swap(descriptor_, other.descriptor_); }
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  bool open() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

// Listens on all addresses of this machine, of IPv4 and IPv6. Error(infeasible) where the port is taken.
Socket listen_on(int port);

struct Caller {
  Socket socket;    // not open: nobody waits
  std::string who;  // "10.0.0.3:41234"
};
Caller accept_from(const Socket& listener);

// One attempt to connect, with all addresses of a name in turn. `why_not` says why `socket` is not open.
struct Connection {
  Socket socket;
  std::string why_not;
};
Connection connect_to(const std::string& address, int port, double until);  // `until`: of monotonic_seconds()

// The bytes that have arrived so far, at most as many as there is room for.
struct Arrived {
  std::size_t bytes = 0;
  bool closed = false;  // ... and nothing will any more
};
Arrived receive_some(const Socket& from, std::span<std::byte> room);

enum class Sent : std::uint8_t { all, gone, late };
Sent send_bytes(const Socket& to, std::span<const std::byte> bytes, double until);

// Waits until a socket has something to read, or nothing will come any more; false: not by then.
bool wait_to_read(const Socket& socket, double until);
int poll_milliseconds(double until);  // for poll(): from now, rounded up, at least 0

}  // namespace mirfak::measure
