#include "executor/interruption.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <initializer_list>

namespace mirfak::measure {

namespace {

std::atomic<int> came = 0;
std::atomic<bool> held = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a handler of signals may take no lock");

void note(int signal) {
  int none = 0;
  if (came.compare_exchange_strong(none, signal) || none != signal || held) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // takes effect when this handler returns
}

}  // namespace

void note_interruptions() {
  struct sigaction action {};
  action.sa_handler = note;
  // Calls that the signal falls into go on: libraries need not know of it.
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaction(signal, &action, nullptr);
}

InterruptionHold::InterruptionHold() { held = true; }

InterruptionHold::~InterruptionHold() { held = false; }

int interruption() { return came.load(); }

void check_interruption() {
  if (const int signal = interruption(); signal != 0) {
    fail_internal(fmt::format("ended by SIG{}, nothing was written", sigabbrev_np(signal)));
  }
}

}  // namespace mirfak::measure
