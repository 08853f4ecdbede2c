#pragma once

namespace mirfak::test {

// A port of this machine at which nobody listens, nor at the next; a moment ago.
int free_port();

// Holds a port, as a listener of somebody else's, as long as this exists.
class HeldPort {
 public:
  explicit HeldPort(int port);  // 0: any that is free
  ~HeldPort();
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;

  bool held() const { return descriptor_ >= 0; }
  int port() const { return port_; }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
  int port_ = 0;
};

}  // namespace mirfak::test
