#include "base/interrupt_watch.hpp"

#include <array>
#include <atomic>
#include <csignal>

namespace mirfak {

namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

std::atomic<int> first_signal{0};
std::atomic<bool> held{false};
// A handler of signals may take no lock.
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void notice(int signal) {
  int before = 0;
  if (first_signal.compare_exchange_strong(before, signal) || before != signal || held) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // takes effect when this handler returns
}

}  // namespace

InterruptWatch::InterruptWatch() {
  first_signal = 0;
  struct sigaction action = {};
  action.sa_handler = notice;
  action.sa_flags = SA_RESTART;  // calls that the signal falls into go on: libraries need not know of it
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

InterruptWatch::~InterruptWatch() {
  for (const int signal : kSignals) std::signal(signal, SIG_DFL);
}

int InterruptWatch::signal() { return first_signal; }

InterruptHold::InterruptHold() { held = true; }

InterruptHold::~InterruptHold() { held = false; }

}  // namespace mirfak
