// Ranks that do not come, that should not have come, and that go away: nobody waits for ever, and all say why.

#include "base/error.hpp"
#include "free_port.hpp"
#include "ranks.hpp"

#include <doctest/doctest.h>

#include <array>
#include <csignal>
#include <future>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

using namespace mirfak;
using namespace mirfak::measure;
using namespace mirfak::test;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Makes a world; returns the message that this throws, "" if the world is made, and left again.
std::string fault_of(const JobLaunch& launch, ErrorKind kind = ErrorKind::internal) {
  try {
    const SocketWorld world(launch, {});
    world.meet("begin");
    return {};
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
}

JobLaunch impatient(JobLaunch launch, double seconds) {
  launch.start_timeout_s = seconds;
  return launch;
}

// A stranger to the job, who says `text`.
Socket stranger(int port, const std::string& text) {
  for (;;) {
    Connection out = connect_to("127.0.0.1", port, monotonic_seconds() + 60);
    if (!out.socket.open()) continue;  // rank 0 is not there yet
    CHECK(send_bytes(out.socket, std::as_bytes(std::span(text)), monotonic_seconds() + 60) == Sent::all);
    return std::move(out.socket);
  }
}

// Checks that a job of two ranks ends well, though others disturb its start.
template <typename Others>
void check_undisturbed(int port, const Others& others) {
  auto first = std::async(std::launch::async, [port] { return fault_of(launch_of(0, 2, port)); });
  others();
  CHECK(fault_of(launch_of(1, 2, port)).empty());
  CHECK(first.get().empty());
}

}  // namespace

TEST_CASE("a rank that dies is noticed at once, whatever the others do") {
  const auto ends = in_processes(4, [](SocketWorld& world) {
    world.meet("begin");
    if (world.rank() == 2) raise(SIGKILL);
    if (world.rank() == 3) world.meet("go on");  // others compute, and listen to nobody
    for (;;) pause();
    return 0;
  });
  CHECK(ends[2].status == -1);
  for (const std::size_t rank : {0U, 1U, 3U}) CHECK(ends[rank].status == 1);
  CHECK_MESSAGE(contains(ends[0].said, "rank 2 went away"), ends[0].said);
  CHECK(ends[1].said.empty());  // one tells it
}

TEST_CASE("without rank 0 all end") {
  const auto ends = in_processes(3, [](SocketWorld& world) {
    world.meet("begin");
    if (world.rank() == 0) raise(SIGKILL);
    for (;;) pause();
    return 0;
  });
  for (const std::size_t rank : {1U, 2U}) {
    CHECK(ends[rank].status == 1);
    CHECK_MESSAGE(contains(ends[rank].said, "rank 0 went away"), ends[rank].said);
  }
}

TEST_CASE("a rank that ends the job gives its status to all") {
  for (const int ending : {0, 2}) {
    const auto ends = in_processes(3, [&](SocketWorld& world) {
      world.meet("begin");
      if (world.rank() == ending) world.abort(7);
      for (;;) pause();
      return 0;
    });
    for (const RankEnd& end : ends) CHECK(end.status == 7);
    CHECK(ends[1].said.empty());
    if (ending != 0) CHECK_MESSAGE(contains(ends[0].said, "rank 2 ended the job with status 7"), ends[0].said);
  }
}

TEST_CASE("a rank may leave before the others") {
  const auto ends = in_processes(3, [](SocketWorld& world) {
    world.gather(std::vector<double>{1});
    if (world.rank() == 0) usleep(200'000);
    return 5 + world.rank();
  });
  for (int rank = 0; rank < 3; ++rank) CHECK(ends[static_cast<std::size_t>(rank)].status == 5 + rank);
}

TEST_CASE("every wait says who waits for whom, and gives up") {
  std::promise<void> over;
  const std::shared_future<void> given_up = over.get_future().share();
  const auto faults = in_threads(3, [&](SocketWorld& world) {
    world.set_timeout(world.rank() == 0 ? 0.2 : 60);
    if (world.rank() == 2) {
      given_up.wait();
      return;
    }
    try {
      world.meet("begin an iteration");
    } catch (const Error&) {
      if (world.rank() == 0) over.set_value();
      throw;
    }
  });
  CHECK_MESSAGE(contains(faults[0], "nothing went on for 0.2 s: rank 0 waits for rank 2 to begin an iteration"),
                faults[0]);
  CHECK_MESSAGE(contains(faults[0], "--timeout"), faults[0]);
  CHECK_MESSAGE(contains(faults[1], "rank 0 has ended already, and rank 1 waits to begin an iteration"), faults[1]);
}

TEST_CASE("ranks that do different things are told apart") {
  const auto faults = in_threads(2, [](SocketWorld& world) {
    if (world.rank() == 0) world.meet("begin");
    if (world.rank() == 1) world.gather(std::vector<double>{1});
  });
  CHECK_MESSAGE(contains(faults[0], "rank 0 waits for rank 1 to begin, which does something else"), faults[0]);
}

TEST_CASE("a rank that does not come") {
  const int port = free_port();
  const std::string first = fault_of(impatient(launch_of(0, 12, port), 0.2));
  CHECK_MESSAGE(contains(first, "rank 0 waited 0.2 s at port " + std::to_string(port) +
                                    " for ranks 1, 2, 3, 4, 5, 6, 7, 8 and 3 more"),
                first);
  const std::string second = fault_of(impatient(launch_of(1, 2, port), 0.2));
  CHECK_MESSAGE(contains(second, "rank 1 waited 0.2 s for rank 0 at localhost:" + std::to_string(port)), second);
  CHECK_MESSAGE(contains(second, "MASTER_ADDR"), second);
  JobLaunch nowhere = impatient(launch_of(1, 2, port), 0.2);
  nowhere.address = "no.such.host.invalid";
  CHECK_MESSAGE(contains(fault_of(nowhere), "rank 0 at no.such.host.invalid:"), fault_of(nowhere));
}

TEST_CASE("a rank that gives up while others are waited for") {
  const int port = free_port();
  auto first = std::async(std::launch::async, [port] { return fault_of(launch_of(0, 3, port)); });
  const std::string second = fault_of(impatient(launch_of(1, 3, port), 0.5));
  CHECK_MESSAGE(contains(second, "it was reached, and waits for others"), second);
  CHECK_MESSAGE(contains(first.get(), "rank 1 went away"), "rank 0 waits on");
}

TEST_CASE("those who came are told when rank 0 gives up") {
  const int port = free_port();
  auto second = std::async(std::launch::async, [port] { return fault_of(launch_of(1, 3, port)); });
  const std::string first = fault_of(impatient(launch_of(0, 3, port), 1));
  CHECK_MESSAGE(contains(first, "for rank 2, which did not come"), first);
  const std::string told = second.get();
  CHECK_MESSAGE(contains(told, "has given up: rank 0 waited 1 s"), told);
}

TEST_CASE("who does not belong to the job is sent away, and the job goes on") {
  const int port = free_port();
  check_undisturbed(port, [port] {
    const std::string size = fault_of(launch_of(1, 3, port), ErrorKind::input);
    CHECK_MESSAGE(contains(size, "it is one of 3 processes, and rank 0 one of 2"), size);
    JobLaunch other = launch_of(1, 2, port);
    other.job = "another";
    const std::string job = fault_of(other, ErrorKind::input);
    CHECK_MESSAGE(contains(job, "it belongs to another job"), job);
  });
}

TEST_CASE("no rank comes twice") {
  const int port = free_port();
  auto first = std::async(std::launch::async, [port] { return fault_of(launch_of(0, 3, port)); });
  // The later of two ranks 1 is sent away.
  const auto kind_and_fault = [port]() -> std::string {
    try {
      const SocketWorld world(launch_of(1, 3, port), {});
      world.meet("begin");
      return {};
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      return error.what();
    }
  };
  auto one = std::async(std::launch::async, kind_and_fault);
  auto twin = std::async(std::launch::async, kind_and_fault);
  std::future<std::string>* sent_away = nullptr;
  while (sent_away == nullptr) {
    for (auto* each : {&one, &twin}) {
      if (each->wait_for(std::chrono::milliseconds(10)) == std::future_status::ready) sent_away = each;
    }
  }
  const std::string fault = sent_away->get();
  CHECK_MESSAGE(contains(fault, "there is a rank 1 already"), fault);
  CHECK(fault_of(launch_of(2, 3, port)).empty());
  CHECK((sent_away == &one ? twin : one).get().empty());
  CHECK(first.get().empty());
}

TEST_CASE("strangers do not disturb") {
  const int port = free_port();
  std::vector<Socket> open;
  check_undisturbed(port, [&] {
    open.push_back(stranger(port, "GET / HTTP/1.1\r\nHost: here\r\n\r\n"));
    open.push_back(stranger(port, ""));                        // waits for us to speak
    open.push_back(stranger(port, "mir"));                     // never says the rest
    stranger(port, "");                                        // hangs up
    open.push_back(stranger(port, std::string(100000, 'x')));  // does not stop
  });
}

TEST_CASE("strangers are named where somebody is missing") {
  const int port = free_port();
  auto first = std::async(std::launch::async, [port] { return fault_of(impatient(launch_of(0, 2, port), 2)); });
  const Socket open = stranger(port, "GET / HTTP/1.1\r\nHost: here\r\n\r\n");
  const std::string fault = first.get();
  CHECK_MESSAGE(contains(fault, "for rank 1, which did not come"), fault);
  CHECK_MESSAGE(contains(fault, "is no mirfak-measure"), fault);
}

TEST_CASE("a port that somebody else holds") {
  const HeldPort held(0);
  const std::string first = fault_of(launch_of(0, 2, held.port()), ErrorKind::infeasible);
  CHECK_MESSAGE(contains(first, "rank 0 cannot listen at port " + std::to_string(held.port())), first);
  CHECK_MESSAGE(contains(first, "MIRFAK_PORT"), first);

  SUBCASE("it says something else to the others") {
    std::thread host([&] {
      const Socket guest(accept(held.descriptor(), nullptr, nullptr));
      const std::string text(100, 'x');
      CHECK(send_bytes(guest, std::as_bytes(std::span(text)), monotonic_seconds() + 60) == Sent::all);
      std::array<std::byte, 200> heard{};
      while (!receive_some(guest, heard).closed) usleep(1000);
    });
    const std::string second = fault_of(launch_of(1, 2, held.port()), ErrorKind::infeasible);
    CHECK_MESSAGE(contains(second, "what listens there is no mirfak-measure"), second);
    host.join();
  }
  SUBCASE("it says nothing") {
    const std::string second = fault_of(impatient(launch_of(1, 2, held.port()), 0.2));
    CHECK_MESSAGE(contains(second, "rank 1 waited 0.2 s for rank 0 at localhost"), second);
  }
}
