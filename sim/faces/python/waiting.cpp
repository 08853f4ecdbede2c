#include "python/waiting.hpp"

#include "base/cancellation.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace nb = nanobind;

namespace mirfak::python {

namespace {

constexpr std::chrono::milliseconds kBetweenLooks(50);
constexpr std::chrono::seconds kLongestWaitAtExit(5);

// All calls that have released the GIL. If a thread asks for the GIL after the interpreter has ended, Python ends the
// thread in a way that C++ answers with an abort. The end of the interpreter therefore waits until all calls have come
// back (daemon threads would go on for as long as their work takes), and calls that have not come back by then never
// ask again.
class OpenCalls {
 public:
  void add(std::atomic<bool>& given_up) {
    const std::lock_guard lock(mutex_);
    flags_.push_back(&given_up);
  }
  void remove(std::atomic<bool>& given_up) {
    const std::lock_guard lock(mutex_);
    std::erase(flags_, &given_up);
    changed_.notify_all();
  }
  bool ending() const { return ending_; }

  // Gives up all calls and waits for them. Called without the GIL.
  void end() {
    std::unique_lock lock(mutex_);
    ending_ = true;
    for (std::atomic<bool>* flag : flags_) *flag = true;
    if (!changed_.wait_for(lock, kLongestWaitAtExit, [this] { return flags_.empty(); })) ended_ = true;
  }

  // Called before a thread asks for the GIL: returns only if there is an interpreter.
  void wait_if_ended() const {
    while (ended_) std::this_thread::sleep_for(std::chrono::hours(1));
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::atomic<bool>*> flags_;
  std::atomic<bool> ending_{false};
  std::atomic<bool> ended_{false};
};

// Returns the calls, which are never destroyed: threads use them while the process ends.
OpenCalls& open_calls() {
  static auto* const calls = new OpenCalls;
  return *calls;
}

// Raises SystemExit, Python's own way to end a thread silently.
[[noreturn]] void raise_exit() {
  PyErr_SetString(PyExc_SystemExit, "the interpreter ends");
  throw nb::python_error();
}

// Marks a call as open during its lifetime. Made and destroyed with the GIL.
class OpenCall {
 public:
  explicit OpenCall(std::atomic<bool>& given_up) : given_up_(given_up) {
    if (open_calls().ending()) raise_exit();
    open_calls().add(given_up);
  }
  ~OpenCall() { open_calls().remove(given_up_); }
  OpenCall(const OpenCall&) = delete;
  OpenCall& operator=(const OpenCall&) = delete;

 private:
  std::atomic<bool>& given_up_;
};

// Releases the GIL during its lifetime, so that Python's other threads run.
class Released {
 public:
  Released() : state_(PyEval_SaveThread()) {}
  ~Released() {
    open_calls().wait_if_ended();
    PyEval_RestoreThread(state_);
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* state_;
};

// Work in progress on another thread. The destructor joins the thread.
class Worker {
 public:
  explicit Worker(const std::function<void(Reporter&)>& work) : thread_([this, &work] { run(work); }) {}
  ~Worker() { thread_.join(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Reporter& reporter() { return reporter_; }

  // Waits for a short while at most, and returns true if the work has ended. Called without the GIL.
  bool ended_soon() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kBetweenLooks, [this] { return ended_; });
  }
  std::exception_ptr failure() const { return failure_; }  // valid after the work has ended

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
  std::thread thread_;  // last member: it uses all others
};

// Reports the progress of the work to Python.
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

void end_calls() {
  const nb::gil_scoped_release released;
  open_calls().end();
}

void run_beside_interpreter(const nb::object& progress, const std::function<void(Reporter&)>& work) {
  if (open_calls().ending()) raise_exit();
  Worker worker(work);
  const OpenCall open(worker.reporter().flag());
  Listener listener(progress, worker.reporter());
  std::optional<nb::python_error> raised;
  for (;;) {
    bool ended = false;
    {
      const Released released;
      ended = worker.ended_soon();
      while (!ended && open_calls().ending()) ended = worker.ended_soon();
    }
    if (open_calls().ending()) raise_exit();
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
    if (given_up || open_calls().ending() || now - looked_at < kBetweenLooks) return;
    looked_at = now;
    const nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() == 0) return;
    raised.emplace();
    given_up = true;
  };
  const OpenCall open(given_up);
  try {
    const Released released;
    const CancellationScope scope(&given_up, &look);
    work();
  } catch (const Cancelled&) {
    if (!raised && open_calls().ending()) raise_exit();
    if (!raised) throw;
  }
  if (raised) throw nb::python_error(*raised);
}

}  // namespace mirfak::python
