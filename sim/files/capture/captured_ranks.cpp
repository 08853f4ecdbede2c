// A capture holds few ranks, and says of the others which one they did as. As long as all are alike, the few stand for
// all. A slow rank, or one on another GPU, is like no other: then each has to run its own program. That is the program
// of the rank that it did as, and where it did so in groups of its own, these are the groups of the same families that
// it is in; the other end of a message is in the same place of the group.
#include "capture/captured_ranks.hpp"

#include "base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

namespace mirfak {

namespace {

using Ranks = std::vector<std::int64_t>;
using Family = std::vector<Ranks>;

class Unfolding {
 public:
  explicit Unfolding(const Capture& capture) : out_(capture) {
    for (const Family& family : out_.families) {
      for (const Ranks& group : family) family_of_.try_emplace(group, &family);
    }
    for (std::size_t i = 0; i < out_.communication.size(); ++i) entry_of_.try_emplace(key(out_.communication[i]), i);
  }

  Capture run() {
    check_size();
    for (CapturedRank& rank : out_.ranks) {
      if (rank.same_as >= 0) give_events(rank);
    }
    return std::move(out_);
  }

 private:
  using Key = std::tuple<std::string, Ranks, std::string, std::string, std::int64_t, std::int64_t, double, double>;

  static Key key(const CapturedCommunication& of) {
    return {of.kind, of.ranks, of.format, of.operation, of.root, of.peer, of.in_bytes, of.out_bytes};
  }
  const CapturedRank& original(const CapturedRank& rank) const {
    return *std::find_if(out_.ranks.begin(), out_.ranks.end(),
                         [&](const CapturedRank& of) { return of.rank == rank.same_as; });
  }
  void check_size() const;
  void give_events(CapturedRank& rank);
  CapturedCommunication moved(const CapturedCommunication& made, const CapturedRank& to) const;

  Capture out_;
  std::map<Ranks, const Family*> family_of_;
  std::map<Key, std::size_t> entry_of_;
};

void Unfolding::check_size() const {
  std::size_t events = 0;
  for (const CapturedRank& rank : out_.ranks) {
    events += rank.same_as >= 0 ? original(rank).events.size() : rank.events.size();
  }
  if (events <= kMaxEvents) return;
  fail_input({out_.file, 0, 0},
             fmt::format("ranks that differ are executed one by one, and {} of them have {} events: at most {}",
                         out_.ranks.size(), events, kMaxEvents),
             "leave out cluster.perturbations and take nodes of one type, or capture fewer ranks");
}

void Unfolding::give_events(CapturedRank& rank) {
  const CapturedRank& like = original(rank);
  CapturedRank own = like;
  own.rank = rank.rank;
  own.line = rank.line;
  own.notes.clear();  // those of the rank that was recorded stand for both
  for (CaptureEvent& event : own.events) {
    if (event.kind != CaptureEventKind::communicate || !rank.in_own_groups) continue;
    CapturedCommunication made = moved(out_.communication[event.entry], rank);
    const auto [known, is_new] = entry_of_.try_emplace(key(made), out_.communication.size());
    if (is_new) out_.communication.push_back(std::move(made));
    event.entry = static_cast<std::uint32_t>(known->second);
  }
  rank = std::move(own);
}

// Returns communication as `to` makes it in its own group of the same family.
CapturedCommunication Unfolding::moved(const CapturedCommunication& made, const CapturedRank& to) const {
  const auto family = family_of_.find(made.ranks);
  const Ranks* group = nullptr;
  if (family != family_of_.end()) {
    for (const Ranks& each : *family->second) {
      if (std::binary_search(each.begin(), each.end(), to.rank)) group = &each;
    }
  }
  // The group of all ranks is a family of its own that files leave out.
  const bool of_all = static_cast<std::int64_t>(made.ranks.size()) == out_.world_size;
  if (group == nullptr && of_all) group = &made.ranks;
  if (group == nullptr || group->size() != made.ranks.size()) {
    fail_input({out_.file, to.line, 0},
               fmt::format("rank {} did as rank {} in a group that corresponds to ranks {}, and the file names none",
                           to.rank, to.same_as, fmt::join(made.ranks, ",")),
               "capture the program again, with --ranks all");
  }
  CapturedCommunication out = made;
  out.ranks = *group;
  for (std::int64_t CapturedCommunication::*end : {&CapturedCommunication::peer, &CapturedCommunication::root}) {
    const auto place = std::lower_bound(made.ranks.begin(), made.ranks.end(), made.*end) - made.ranks.begin();
    if (made.*end >= 0) out.*end = (*group)[static_cast<std::size_t>(place)];
  }
  return out;
}

}  // namespace

Capture with_events_of_each(const Capture& capture) { return Unfolding(capture).run(); }

std::map<std::int64_t, std::int64_t> ranks_alike(const Capture& capture) {
  std::map<std::int64_t, std::int64_t> out;
  for (const CapturedRank& rank : capture.ranks) ++out[rank.same_as < 0 ? rank.rank : rank.same_as];
  return out;
}

}  // namespace mirfak
