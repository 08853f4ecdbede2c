// The flows of flow_programs.hpp by SimGrid, for mirfak_bench_engine: a message of an actor each, in the order of its
// stream, shared by SimGrid's max-min solver (network model CM02 without what it adds of TCP).
//
//   mirfak_bench_simgrid connected|fat-tree FLOWS FLOWS_PER_STREAM lazy|full
//
// lazy, SimGrid's default, solves anew what a change is connected with, and keeps ends in a heap; full, everything at
// each event. Either may be the faster one. Actors cost least: messages that start each other take twice as long. The
// solver's and the clock's precision make no difference here.
// Prints completions per second of processor time and the simulated seconds.
#include "flow_programs.hpp"
#include "processor_time.hpp"

#include <simgrid/s4u.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace {

namespace sg4 = simgrid::s4u;

struct Message {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t bytes = 0;
};

// The messages of each stream.
std::vector<std::vector<Message>> messages_of(const mirfak::Program& program) {
  std::vector<std::vector<Message>> out(program.streams.size());
  for (mirfak::TaskId task = 0; task < program.size(); ++task) {
    const std::string& ends = program.class_of(task).name;
    Message message;
    message.from = static_cast<std::uint32_t>(std::stoul(ends));
    message.to = static_cast<std::uint32_t>(std::stoul(ends.substr(ends.find(' '))));
    const double rate = program.traffic_of(task).front().bytes_per_s;
    message.bytes = static_cast<std::uint64_t>(rate * mirfak::to_seconds(program.duration[task])) + 1;
    out[program.stream[task]].push_back(message);
  }
  return out;
}

class Platform {
 public:
  Platform(const mirfak::Program& program, const std::vector<std::vector<Message>>& messages)
      : zone_(sg4::create_full_zone("network")) {
    for (std::size_t link = 0; link < program.links.size(); ++link) {
      links_.push_back(zone_->create_link("link" + std::to_string(link), program.links[link].bytes_per_s)->seal());
    }
    for (const auto& of_stream : messages) {
      for (const Message& message : of_stream) {
        add_host(message.from);
        add_host(message.to);
      }
    }
    for (mirfak::TaskId task = 0; task < program.size(); ++task) add_route(program, task);
    zone_->seal();
  }

  sg4::Host* host(std::uint32_t number) const { return hosts_.at(number); }

 private:
  void add_host(std::uint32_t number) {
    sg4::Host*& host = hosts_[number];
    if (host == nullptr) host = zone_->create_host("host" + std::to_string(number), 1e9);
  }

  void add_route(const mirfak::Program& program, mirfak::TaskId task) {
    bool& known = has_route_[program.class_of(task).name];
    if (known) return;
    known = true;
    const std::string& ends = program.class_of(task).name;
    std::vector<sg4::LinkInRoute> links;
    for (const mirfak::LinkUse& use : program.traffic_of(task)) links.emplace_back(links_[use.link]);
    zone_->add_route(host(static_cast<std::uint32_t>(std::stoul(ends)))->get_netpoint(),
                     host(static_cast<std::uint32_t>(std::stoul(ends.substr(ends.find(' ')))))->get_netpoint(), nullptr,
                     nullptr, links, false);
  }

  sg4::NetZone* zone_;
  std::vector<sg4::Link*> links_;
  std::map<std::uint32_t, sg4::Host*> hosts_;
  std::map<std::string, bool> has_route_;
};

}  // namespace

int main(int count, char** arguments) {
  sg4::Engine engine(&count, arguments);
  if (count != 5) return 2;
  for (const char* setting : {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0"}) {
    sg4::Engine::set_config(setting);
  }
  sg4::Engine::set_config(std::string("network/optim:") + (std::string(arguments[4]) == "full" ? "Full" : "Lazy"));
  const auto flows = static_cast<std::uint32_t>(std::strtoul(arguments[2], nullptr, 10));
  const auto per_stream = static_cast<std::uint32_t>(std::strtoul(arguments[3], nullptr, 10));
  const mirfak::Program program = std::string(arguments[1]) == "fat-tree"
                                      ? mirfak::fat_tree_flows(flows, per_stream, true)
                                      : mirfak::random_flows(flows, per_stream);
  const std::vector<std::vector<Message>> messages = messages_of(program);
  const Platform platform(program, messages);
  for (const auto& of_stream : messages) {
    sg4::Actor::create("stream", platform.host(of_stream.front().from), [&platform, &of_stream] {
      for (const Message& message : of_stream) {
        sg4::Comm::sendto(platform.host(message.from), platform.host(message.to), message.bytes);
      }
    });
  }
  const double start = mirfak::processor_s();
  engine.run();
  const double seconds = mirfak::processor_s() - start;
  std::printf("%.17g %.17g\n", static_cast<double>(program.size()) / seconds, sg4::Engine::get_clock());
  return 0;
}
