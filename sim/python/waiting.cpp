#include "python/waiting.hpp"

#include "base/cancellation.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace nb = nanobind;

namespace mirfak::python {

namespace {

constexpr std::chrono::milliseconds kBetweenLooks(50);

// Work on its way on another thread. Joined when it is destroyed.
class Worker {
 public:
  explicit Worker(const std::function<void(Reporter&)>& work) : thread_([this, &work] { run(work); }) {}
  ~Worker() { thread_.join(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Reporter& reporter() { return reporter_; }

  // Whether it has ended, after a while at most. Without the GIL.
  bool ended_soon() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kBetweenLooks, [this] { return ended_; });
  }
  std::exception_ptr failure() const { return failure_; }  // once it has ended

 private:
  void run(const std::function<void(Reporter&)>& work) {
    try {
      const CancellationScope scope(&reporter_.flag());
      work(reporter_);
    } catch (...) {
      failure_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  Reporter reporter_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses all the others
};

// Tells Python how far the work is.
class Listener {
 public:
  Listener(const nb::object& progress, const Reporter& reporter) : progress_(progress), reporter_(reporter) {}

  void tell() {
    const std::uint64_t done = reporter_.done();
    const std::uint64_t total = reporter_.total();
    if (progress_.is_none() || total == 0 || (done == told_ && total == of_)) return;
    told_ = done;
    of_ = total;
    progress_(done, total);
  }

 private:
  const nb::object& progress_;
  const Reporter& reporter_;
  std::uint64_t told_ = 0;
  std::uint64_t of_ = 0;
};

}  // namespace

void run_beside_interpreter(const nb::object& progress, const std::function<void(Reporter&)>& work) {
  Worker worker(work);
  Listener listener(progress, worker.reporter());
  std::optional<nb::python_error> raised;
  for (;;) {
    bool ended = false;
    {
      const nb::gil_scoped_release released;
      ended = worker.ended_soon();
    }
    try {
      if (!raised && !ended && PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!raised) listener.tell();
    } catch (const nb::python_error& error) {
      raised.emplace(error);
      worker.reporter().give_up();
    }
    if (ended) break;
  }
  if (raised) throw nb::python_error(*raised);
  if (worker.failure()) std::rethrow_exception(worker.failure());
}

void run_here(const std::function<void()>& work) {
  std::atomic<bool> given_up{false};
  std::optional<nb::python_error> raised;
  auto looked_at = std::chrono::steady_clock::now();
  const std::function<void()> look = [&] {
    const auto now = std::chrono::steady_clock::now();
    if (given_up || now - looked_at < kBetweenLooks) return;
    looked_at = now;
    const nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() == 0) return;
    raised.emplace();
    given_up = true;
  };
  try {
    const nb::gil_scoped_release released;
    const CancellationScope scope(&given_up, &look);
    work();
  } catch (const Cancelled&) {
    if (!raised) throw;
  }
  if (raised) throw nb::python_error(*raised);
}

}  // namespace mirfak::python
