#include "processes/socket_world.hpp"

#include "base/error.hpp"
#include "processes/rendezvous.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace mirfak::measure {

namespace {

std::vector<double> numbers_of(const Message& message) {
  std::vector<double> out(message.bytes.size() / sizeof(double));
  if (!out.empty()) std::memcpy(out.data(), message.bytes.data(), out.size() * sizeof(double));
  return out;
}

}  // namespace

SocketWorld::SocketWorld(const JobLaunch& launch, Star::Ended ended) {
  set_place(launch.rank, launch.size);
  place_ = launch.place.value_or(0);
  if (launch.size == 1) return;
  Assembly found = assemble(launch);
  place_ = launch.place.value_or(found.place);
  one_machine_ = found.one_machine;
  star_ = std::make_unique<Star>(launch.rank, std::move(found.links), std::move(ended));
}

SocketWorld::~SocketWorld() {
  if (star_ != nullptr) star_->leave(timeout_s());
}

void SocketWorld::meet(const char* what) const {
  if (star_ == nullptr) return;
  if (rank() == 0) {
    star_->receive_from_all(MessageKind::meet, purpose(what));
    star_->send_to_all(MessageKind::meet, {}, purpose(what));
  } else {
    star_->send(0, MessageKind::meet, {}, purpose(what));
    star_->receive(0, MessageKind::meet, purpose(what));
  }
}

bool SocketWorld::all_stop(double within_s) const { return star_ == nullptr || star_->all_stop(within_s); }

std::vector<std::vector<double>> SocketWorld::gather(std::span<const double> own) const {
  if (rank() != 0) {
    star_->send(0, MessageKind::gather, std::as_bytes(own), purpose("gather times"));
    return {};
  }
  std::vector<std::vector<double>> out = {{own.begin(), own.end()}};
  if (star_ == nullptr) return out;
  for (const Message& message : star_->receive_from_all(MessageKind::gather, purpose("gather times"))) {
    out.push_back(numbers_of(message));
  }
  return out;
}

// Sends by way of rank 0, which alone is connected to all.
void SocketWorld::tell_all(std::span<std::byte> bytes, int from, const char* what) const {
  if (star_ == nullptr) return;
  if (rank() == from && from != 0) {
    star_->send(0, MessageKind::tell, bytes, purpose(what));
    return;
  }
  if (rank() != from) {
    const Message message = star_->receive(rank() == 0 ? from : 0, MessageKind::tell, purpose(what));
    if (message.bytes.size() != bytes.size()) {
      fail_internal(fmt::format("rank {} waits to {}, and was told something else", rank(), what));
    }
    std::copy(message.bytes.begin(), message.bytes.end(), bytes.begin());
  }
  if (rank() != 0) return;
  for (int other = 1; other < size(); ++other) {
    if (other != from) star_->send(other, MessageKind::tell, bytes, purpose(what));
  }
}

World::Clock SocketWorld::clock() const { return one_machine_ ? Clock{} : clock_by_round_trips(); }

// One rank after another, so that rank 0 is asked by one alone.
World::Clock SocketWorld::clock_by_round_trips() const {
  if (star_ == nullptr) return {};
  const Star::Purpose setting = purpose("set clocks");
  ClockEstimate estimate;
  for (int turn = 1; turn < size(); ++turn) {
    if (rank() == 0) {
      star_->send(turn, MessageKind::turn, {}, setting);
      star_->receive(turn, MessageKind::turn, setting);
    } else if (rank() == turn) {
      star_->receive(0, MessageKind::turn, setting);
      for (int round = 0; round < ClockEstimate::kRounds; ++round) {
        const Star::Round asked = star_->ask_clock(setting);
        estimate.add_round(asked.before, asked.of_rank_0, asked.after);
      }
      star_->send(0, MessageKind::turn, {}, setting);
    }
    meet("set clocks");  // so that waiting for one's turn is going on
  }
  const double error = rank() == 0 ? 0 : estimate.error_s();
  double worst = 0;
  for (const std::vector<double>& of_rank : gather(std::span(&error, 1))) worst = std::max(worst, of_rank.front());
  tell_all(std::as_writable_bytes(std::span(&worst, 1)), 0, "agree on clocks");
  return {estimate.offset_s(), 2 * worst};  // between any two ranks
}

void SocketWorld::end_others(int status) const {
  if (star_ != nullptr) star_->end(status);
}

}  // namespace mirfak::measure
