#include "measure/start_world.hpp"

#include "processes/launch.hpp"
#include "processes/mpi_world.hpp"
#include "processes/socket_world.hpp"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace mirfak::measure {

namespace {

// Ends the process unless this has gone by then.
class StartWatch {
 public:
  StartWatch(double seconds, EndAtOnce end) : watching_([this, seconds, end] { watch(seconds, end); }) {}
  ~StartWatch() {
    {
      const std::lock_guard lock(mutex_);
      started_ = true;
    }
    changed_.notify_all();
    watching_.join();
  }
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;

 private:
  void watch(double seconds, EndAtOnce end) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return started_; })) return;
    end(fmt::format("MPI did not start within {:g} s\n  did mpirun start all processes, and with the MPI that this "
                    "program was built with? MIRFAK_START_TIMEOUT sets how many seconds to wait",
                    seconds),
        1);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;
  std::thread watching_;  // last: uses the others
};

}  // namespace

std::unique_ptr<World> start_world(int& count, char**& words, EndAtOnce end) {
  const JobLaunch launch = read_launch([](const char* name) { return std::getenv(name); });
  if (!launch.mpi) return std::make_unique<SocketWorld>(launch, end);
  const StartWatch watch(launch.start_timeout_s, end);
  return std::make_unique<MpiWorld>(count, words);
}

}  // namespace mirfak::measure
