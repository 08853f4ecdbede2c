#include "free_port.hpp"

#include <cstdint>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace mirfak::test {

HeldPort::HeldPort(int port) : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  auto* general = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  if (bind(descriptor_, general, length) == 0 && listen(descriptor_, 8) == 0 &&
      getsockname(descriptor_, general, &length) == 0) {
    port_ = ntohs(address.sin_port);
    return;
  }
  close(descriptor_);
  descriptor_ = -1;
}

HeldPort::~HeldPort() {
  if (held()) close(descriptor_);
}

int free_port() {
  for (;;) {
    const HeldPort first(0);
    if (first.held() && first.port() < 65535 && HeldPort(first.port() + 1).held()) return first.port();
  }
}

}  // namespace mirfak::test
