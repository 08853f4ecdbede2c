#include "cli/interrupt_watch.hpp"

#include <array>
#include <atomic>
#include <csignal>

namespace mirfak {

namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM};

std::atomic<bool> noticed{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler writes it

void notice(int /*signal*/) { noticed = true; }

}  // namespace

InterruptWatch::InterruptWatch() {
  noticed = false;
  struct sigaction action = {};
  action.sa_handler = notice;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

InterruptWatch::~InterruptWatch() {
  for (const int signal : kSignals) std::signal(signal, SIG_DFL);
}

bool InterruptWatch::interrupted() { return noticed; }

}  // namespace mirfak
