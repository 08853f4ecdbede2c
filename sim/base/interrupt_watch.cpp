#include "base/interrupt_watch.hpp"

#include "base/unfinished_file.hpp"

#include <array>
#include <atomic>
#include <csignal>

namespace mirfak {

namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

std::atomic<int> first_signal{0};
std::atomic<bool> held{false};
// A signal handler may not take a lock.
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void notice(int signal) {
  int before = 0;
  if (first_signal.compare_exchange_strong(before, signal) || before != signal || held) return;
  end_by_signal(signal);
}

std::array<struct sigaction, kSignals.size()> actions_before;

}  // namespace

InterruptWatch::InterruptWatch() {
  first_signal = 0;
  struct sigaction action = {};
  action.sa_handler = notice;
  action.sa_flags = SA_RESTART;  // interrupted system calls are restarted: libraries need not handle the interruption
  sigfillset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &action, &actions_before[i]);
    const bool of_nohup = kSignals[i] == SIGHUP && actions_before[i].sa_handler == SIG_IGN;
    if (of_nohup) std::signal(SIGHUP, SIG_IGN);
  }
}

InterruptWatch::~InterruptWatch() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &actions_before[i], nullptr);
}

int InterruptWatch::signal() { return first_signal; }

InterruptHold::InterruptHold() { held = true; }

InterruptHold::~InterruptHold() { held = false; }

}  // namespace mirfak
