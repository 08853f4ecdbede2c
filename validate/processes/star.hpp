#pragma once

#include "processes/socket.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace mirfak::measure {

// The conversation that a message is part of. Those from `clock` on are the star's own.
enum class MessageKind : std::uint32_t { meet, gather, tell, turn, clock, stop, leave, end };

struct Message {
  MessageKind kind{};
  std::vector<std::byte> bytes;
  double arrived_s = 0;  // of monotonic_seconds()
};

// Rank 0's connections to all others, or another rank's to rank 0, and a thread that reads from them. The thread
// notices at once when a rank goes away or ends the job, whatever the rest of the program does meanwhile, and answers
// what asks for rank 0's time. For one caller at a time.
class Star {
 public:
  // Called by that thread when the job is over before its time: whoever does not return ends the process so. `why` is
  // empty where another rank says it. If it returns, or there is none, all that waits here throws Error(internal).
  using Ended = std::function<void(const std::string& why, int status)>;

  // `links`: as Assembly has them.
  Star(int rank, std::vector<Socket> links, Ended ended);
  ~Star();
  Star(const Star&) = delete;
  Star& operator=(const Star&) = delete;

  // The end of the sentence "rank 1 waits to ...", and how long that wait may last.
  struct Purpose {
    const char* what;
    double timeout_s;
  };

  // All throw Error(internal) after the purpose's time, and where the other rank has left or gone away. `to`, `from`:
  // 0, or on rank 0 any other.
  void send(int to, MessageKind kind, std::span<const std::byte> bytes, const Purpose& purpose);
  void send_to_all(MessageKind kind, std::span<const std::byte> bytes, const Purpose& purpose);  // others; of rank 0
  // The next message of a rank, which must be of that kind: all ranks make the same calls.
  Message receive(int from, MessageKind kind, const Purpose& purpose);
  // Returns a message of every other rank, in their order; on rank 0.
  std::vector<Message> receive_from_all(MessageKind kind, const Purpose& purpose);

  // A reading of rank 0's clock on another rank: when that rank asked, the answer, and when it came.
  struct Round {
    double before = 0;
    double of_rank_0 = 0;
    double after = 0;
  };
  Round ask_clock(const Purpose& purpose);

  bool all_stop(double within_s);  // as World has it
  // Tells the others, as well as that goes, that the job ends.
  void end(int status);
  // Leaves in peace: rank 0 waits until all others have left too, for so long, so that it hears of their faults; the
  // others do not wait. The last call.
  void leave(double within_s);

 private:
  struct Header {
    MessageKind kind{};
    std::uint32_t nothing = 0;
    std::uint64_t bytes = 0;
  };
  struct Link {
    Socket socket;
    int rank = 0;  // of the other end
    std::timed_mutex sending;
    // Members that only the reading thread uses:
    Header header;
    std::size_t arrived = 0;  // of header and bytes
    std::vector<std::byte> bytes;
    // Members guarded by mutex_:
    std::deque<Message> inbox;
    bool left = false;
    bool closed = false;
  };

  Link& link_to(int rank) { return links_[rank == 0 ? 0 : static_cast<std::size_t>(rank) - 1]; }
  Sent write(Link& link, MessageKind kind, std::span<const std::byte> bytes, double until);
  void wait(std::unique_lock<std::mutex>& lock, std::span<Link* const> links, const Purpose& purpose);
  Message take_first(Link& link, MessageKind kind, const Purpose& purpose) const;
  [[noreturn]] void fail_gone(const Link& link, const Purpose& purpose);

  void read_all();
  void read(Link& link);
  bool advance(Link& link);
  void take(Link& link, Message message);
  void note_stop();
  void tell_others(MessageKind kind, std::span<const std::byte> bytes);
  void lose(Link& link);
  void finish(const std::string& why, int status);

  int rank_;
  std::deque<Link> links_;
  Ended ended_;
  Socket wake_;  // an event of the reading thread: it ends
  std::atomic<bool> over_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Members guarded by mutex_:
  std::string failure_;    // if not empty: all waiting is over
  std::size_t stops_ = 0;  // of rank 0: ranks that stop
  bool stopped_ = false;   // all do
  std::thread reader_;
};

}  // namespace mirfak::measure
