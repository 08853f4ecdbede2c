// Ranks of a group have to call the same collectives in the same order. Where they do not, a job hangs, and its user
// sees a time-out half an hour later. Here the calls of all captured ranks stand next to each other, and the first
// difference is named with the module that made the call.
#include "capture/captured_communication.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace mirfak {

namespace {

constexpr std::pair<const char*, ChakraCollective> kCollectives[] = {
    {"all_reduce", ChakraCollective::all_reduce},
    {"all_gather", ChakraCollective::all_gather},
    {"all_gather_into_tensor", ChakraCollective::all_gather},
    {"reduce_scatter", ChakraCollective::reduce_scatter},
    {"reduce_scatter_tensor", ChakraCollective::reduce_scatter},
    {"broadcast", ChakraCollective::broadcast},
    {"all_to_all", ChakraCollective::all_to_all},
    {"all_to_all_single", ChakraCollective::all_to_all},
    {"reduce", ChakraCollective::reduce},
    {"gather", ChakraCollective::gather},
    {"scatter", ChakraCollective::scatter},
    {"barrier", ChakraCollective::barrier},
};

// An event of communication of a rank.
struct Call {
  std::size_t rank = 0;   // index of Capture::ranks
  std::size_t event = 0;  // index of its events
  std::size_t place = 0;  // among its events of communication
};

class Matcher {
 public:
  Matcher(const Capture& capture, const CommunicationPrices& prices) : capture_(capture), prices_(prices) {}

  PricedCommunication match() {
    collect();
    for (const auto& [ranks, calls] : groups_) match_group(ranks, calls);
    for (const auto& [ends, calls] : messages_) match_messages(ends, calls);
    for (const auto& [kind, count] : without_price_) {
      out_.notes.push_back(fmt::format("'{}' has no price and takes no time: {} times", kind, count));
    }
    return std::move(out_);
  }

 private:
  using Ends = std::pair<std::int64_t, std::int64_t>;  // sender, receiver

  const CapturedCommunication& at(const Call& call) const { return capture_.communication[event(call).entry]; }
  const CaptureEvent& event(const Call& call) const { return capture_.ranks[call.rank].events[call.event]; }
  std::string place(const Call& call) const;
  [[noreturn]] void fail(const Call& call, const std::string& what) const;
  const CapturedRank* captured(std::int64_t rank) const;
  void collect();
  void match_group(const std::vector<std::int64_t>& ranks, const std::map<std::int64_t, std::vector<Call>>& calls);
  void check_alike(const Call& call, const Call& other, std::size_t number) const;
  void match_messages(const Ends& ends, const std::pair<std::vector<Call>, std::vector<Call>>& calls);
  void set_price(const Call& call, double bytes, const std::vector<std::int64_t>& ranks);

  const Capture& capture_;
  const CommunicationPrices& prices_;
  PricedCommunication out_;
  std::map<std::vector<std::int64_t>, std::map<std::int64_t, std::vector<Call>>> groups_;  // by ranks, then by rank
  std::map<Ends, std::pair<std::vector<Call>, std::vector<Call>>> messages_;
  std::map<std::string, std::size_t> without_price_;
};

std::string Matcher::place(const Call& call) const {
  const std::string& module = capture_.modules[event(call).module];
  return fmt::format("{} of rank {} ({}{}, event {})", at(call).kind, capture_.ranks[call.rank].rank,
                     module.empty() ? "" : module + ", ",
                     kCapturePhaseNames[static_cast<std::size_t>(event(call).phase)], event(call).position);
}

void Matcher::fail(const Call& call, const std::string& what) const {
  fail_input({capture_.file, capture_.ranks[call.rank].line, 0}, fmt::format("{}: {}", place(call), what),
             "on GPUs the job would wait there for ever: mend the program, and capture it again");
}

const CapturedRank* Matcher::captured(std::int64_t rank) const {
  for (const CapturedRank& known : capture_.ranks) {
    if (known.rank == rank) return known.same_as < 0 ? &known : nullptr;
  }
  return nullptr;
}

void Matcher::collect() {
  out_.of_rank.resize(capture_.ranks.size());
  for (std::size_t r = 0; r < capture_.ranks.size(); ++r) {
    const CapturedRank& rank = capture_.ranks[r];
    for (std::size_t e = 0; e < rank.events.size(); ++e) {
      if (rank.events[e].kind != CaptureEventKind::communicate) continue;
      const Call call{r, e, out_.of_rank[r].size()};
      out_.of_rank[r].emplace_back();
      const CapturedCommunication& made = at(call);
      if (!std::binary_search(made.ranks.begin(), made.ranks.end(), rank.rank)) {
        fail(call, fmt::format("the rank is not of the group of ranks {}", group_name(made)));
      }
      if (made.kind == "send") {
        messages_[{rank.rank, made.peer}].first.push_back(call);
      } else if (made.kind == "recv") {
        messages_[{made.peer, rank.rank}].second.push_back(call);
      } else if (collective_of(made)) {
        groups_[made.ranks][rank.rank].push_back(call);
      } else {
        fail(call, "expected a collective or a message that this version knows");
      }
    }
  }
}

void Matcher::check_alike(const Call& call, const Call& other, std::size_t number) const {
  const CapturedCommunication& a = at(call);
  const CapturedCommunication& b = at(other);
  const auto differ = [&](const std::string& what, const std::string& of_call, const std::string& of_other) {
    fail(call, fmt::format("it is call {} of the group of ranks {}, with {} {}; with it meets {}, with {} {}",
                           number + 1, group_name(a), what, of_call, place(other), what, of_other));
  };
  if (collective_of(a) != collective_of(b)) differ("kind", a.kind, b.kind);
  if (a.format != b.format) differ("format", a.format, b.format);
  if (a.operation != b.operation) differ("operation", a.operation, b.operation);
  if (a.root != b.root) differ("root", fmt::format("{}", a.root), fmt::format("{}", b.root));
  if (collective_of(a) != ChakraCollective::all_to_all && a.in_bytes != b.in_bytes) {
    differ("bytes", fmt::format("{:.0f}", a.in_bytes), fmt::format("{:.0f}", b.in_bytes));
  }
}

void Matcher::match_group(const std::vector<std::int64_t>& ranks,
                          const std::map<std::int64_t, std::vector<Call>>& calls) {
  const std::vector<Call>& first = calls.begin()->second;
  std::size_t most = 0;
  std::size_t fewest = first.size();
  std::int64_t shortest = calls.begin()->first;
  for (const std::int64_t rank : ranks) {
    if (captured(rank) == nullptr) continue;
    const auto found = calls.find(rank);
    const std::size_t count = found == calls.end() ? 0 : found->second.size();
    most = std::max(most, count);
    if (count < fewest) shortest = rank;
    fewest = std::min(fewest, count);
    for (std::size_t k = 0; k < std::min(count, first.size()); ++k) check_alike(found->second[k], first[k], k);
  }
  for (const auto& [rank, of_rank] : calls) {
    if (of_rank.size() <= fewest) continue;
    fail(of_rank[fewest], fmt::format("it is call {} of the group of ranks {}, which rank {} does not make", fewest + 1,
                                      group_name(at(of_rank[fewest])), shortest));
  }
  for (std::size_t k = 0; k < most; ++k) {
    double bytes = 0;
    for (const auto& [rank, of_rank] : calls) bytes = std::max(bytes, at(of_rank[k]).in_bytes);
    for (const auto& [rank, of_rank] : calls) set_price(of_rank[k], bytes, ranks);
  }
}

void Matcher::match_messages(const Ends& ends, const std::pair<std::vector<Call>, std::vector<Call>>& calls) {
  const auto& [sends, receives] = calls;
  const auto& [from, to] = ends;
  if (captured(from) != nullptr && captured(to) != nullptr) {
    const std::size_t both = std::min(sends.size(), receives.size());
    for (std::size_t k = 0; k < both; ++k) {
      if (at(sends[k]).in_bytes == at(receives[k]).out_bytes) continue;
      fail(sends[k], fmt::format("it is message {} to rank {}, of {:.0f} bytes; {} expects {:.0f}", k + 1, to,
                                 at(sends[k]).in_bytes, place(receives[k]), at(receives[k]).out_bytes));
    }
    if (sends.size() > both) fail(sends[both], fmt::format("rank {} does not receive it", to));
    if (receives.size() > both) fail(receives[both], fmt::format("rank {} does not send it", from));
  }
  for (const Call& call : sends) set_price(call, at(call).in_bytes, {from, to});
  for (const Call& call : receives) set_price(call, at(call).out_bytes, {from, to});
}

void Matcher::set_price(const Call& call, double bytes, const std::vector<std::int64_t>& ranks) {
  const CapturedCommunication& made = at(call);
  const std::optional<CommunicationCost> cost = prices_.price(collective_of(made), bytes, ranks);
  if (cost) out_.of_rank[call.rank][call.place] = *cost;
  if (!cost && made.kind != "barrier") ++without_price_[made.kind];
}

}  // namespace

std::optional<ChakraCollective> collective_of(const CapturedCommunication& communication) {
  constexpr std::string_view coalesced = "_coalesced";  // several tensors at once
  std::string_view kind = communication.kind;
  if (kind.ends_with(coalesced)) kind.remove_suffix(coalesced.size());
  for (const auto& [name, collective] : kCollectives) {
    if (kind == name) return collective;
  }
  return std::nullopt;
}

std::string group_name(const CapturedCommunication& communication) {
  const std::vector<std::int64_t>& ranks = communication.ranks;
  std::string out;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += last > i + 1 ? fmt::format("{}-{}", ranks[i], ranks[last]) : fmt::format("{}", ranks[i]);
    if (last > i + 1) i = last;
  }
  return out;
}

PricedCommunication matched_communication(const Capture& capture, const CommunicationPrices& prices) {
  return Matcher(capture, prices).match();
}

}  // namespace mirfak
