// A signal handler may neither take a mutex nor touch memory that another thread changes. The list of unfinished files
// is therefore guarded by a flag that is only ever held with signals blocked: the thread that holds the flag goes on
// running, and a handler, on whatever thread, waits for at most a few instructions.

#include "base/unfinished_file.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <utility>
#include <vector>

#include <unistd.h>

namespace mirfak {

namespace {

constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2};

std::atomic_flag list_in_use = ATOMIC_FLAG_INIT;

// Never destroyed: a signal may come while the process ends.
std::vector<const UnfinishedFile*>& unfinished() {
  static auto* const files = new std::vector<const UnfinishedFile*>;
  return *files;
}

void take_list() {
  while (list_in_use.test_and_set(std::memory_order_acquire)) {
  }
}

// The signal mask of the thread whose SignalPause lives; only one lives at a time, because it holds the flag.
sigset_t mask_before;

}  // namespace

SignalPause::SignalPause() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  take_list();
  mask_before = before;
}

SignalPause::~SignalPause() {
  const sigset_t before = mask_before;
  list_in_use.clear(std::memory_order_release);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

UnfinishedFile::UnfinishedFile(std::filesystem::path path, std::filesystem::path target)
    : path_(std::move(path)), target_(std::move(target)) {
  const SignalPause pause;
  unfinished().push_back(this);
}

UnfinishedFile::~UnfinishedFile() {
  const SignalPause pause;
  std::erase(unfinished(), this);
}

std::filesystem::path target_of_unfinished(const std::filesystem::path& path) {
  const SignalPause pause;
  const auto found = std::find_if(unfinished().begin(), unfinished().end(),
                                  [&](const UnfinishedFile* file) { return file->path() == path; });
  return found == unfinished().end() ? path : (*found)->target();
}

void end_by_signal(int signal) {
  take_list();  // never released: no thread begins another file
  for (const UnfinishedFile* file : unfinished()) ::unlink(file->path().c_str());
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // takes effect when the handler returns
}

void remove_unfinished_files_at_signals() {
  unfinished();
  struct sigaction action = {};
  action.sa_handler = end_by_signal;
  sigfillset(&action.sa_mask);
  for (const int signal : kEndingSignals) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_DFL) sigaction(signal, &action, nullptr);
  }
}

}  // namespace mirfak
