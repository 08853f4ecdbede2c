#include "trace/memory_snapshot.hpp"

#include "base/staged_file.hpp"
#include "simulation/long_iteration.hpp"
#include "trace/pickle.hpp"
#include "trace/rank_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

constexpr std::int64_t kRounding = 512;
constexpr std::int64_t kBase = std::int64_t{1} << 40;  // start on each device; devices may have equal addresses

// Free ranges of one device's memory, given out first fit.
class Addresses {
 public:
  std::int64_t take(std::int64_t size) {
    for (auto range = free_.begin(); range != free_.end(); ++range) {
      if (range->second < size) continue;
      const auto [start, length] = *range;
      free_.erase(range);
      if (length > size) free_.emplace(start + size, length - size);
      return start;
    }
    const std::int64_t start = end_;
    end_ += size;
    return start;
  }
  void give_back(std::int64_t start, std::int64_t size) {
    auto after = free_.lower_bound(start);
    if (after != free_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == start) {
        start = before->first;
        size += before->second;
        free_.erase(before);
      }
    }
    if (after != free_.end() && start + size == after->first) {
      size += after->second;
      free_.erase(after);
    }
    free_.emplace(start, size);
  }
  std::int64_t used() const { return end_ - kBase; }  // largest use at any time

 private:
  std::map<std::int64_t, std::int64_t> free_;  // start and size
  std::int64_t end_ = kBase;
};

struct Event {
  const char* action = "";
  std::int64_t address = 0;
  std::int64_t size = 0;
  std::int64_t time_us = 0;
  std::string frame;
};

std::string frame_of(const MemoryEvent& event) {
  if (event.kind == TaskKind::optimizer) return "workspace of the optimizer step";
  const std::string pass =
      fmt::format("{}, chunk {}, microbatch {}", name_of(event.kind), event.chunk, event.microbatch);
  switch (event.part) {
    case MemoryEvent::Part::kept:
      return fmt::format("kept for backward, chunk {}, microbatch {}", event.chunk, event.microbatch);
    case MemoryEvent::Part::due:
      return fmt::format("kept for the gradients of weights, chunk {}, microbatch {}", event.chunk, event.microbatch);
    case MemoryEvent::Part::gathered:
      return "whole parameters and gradients of blocks, " + pass;
    case MemoryEvent::Part::gradients:
      return "gradients, " + pass;
    case MemoryEvent::Part::released:
    case MemoryEvent::Part::workspace:
      break;
  }
  return "workspace of " + pass;
}

// The events of one device.
class Device {
 public:
  void begin(std::string_view what, double bytes) { allocate({}, 0, bytes, std::string(what)); }

  void add(const MemoryEvent& event) {
    using Part = MemoryEvent::Part;
    const std::int64_t time = event.time / 1'000'000;
    if (event.part == Part::released) return release(event, time);
    if (event.part == Part::gradients) return event.bytes > 0 ? add_gradients(event, time) : free_gradients(time);
    const Name name = name_of(event.part, event);
    if (event.bytes > 0) {
      allocate(name, time, event.bytes, frame_of(event));
    } else {
      free(name, time);
    }
  }

  const std::vector<Event>& events() const { return events_; }
  std::int64_t used() const { return addresses_.used(); }
  // Returns the blocks that are left at the end.
  std::vector<Event> blocks() const {
    std::vector<Event> out = resident_;
    for (const auto& [name, block] : held_) out.push_back(block);
    std::sort(out.begin(), out.end(), [](const Event& a, const Event& b) { return a.address < b.address; });
    return out;
  }

 private:
  struct Name {
    int part = -1;  // -1: held from the beginning
    int chunk = 0;
    int microbatch = 0;
    int piece = 0;
    friend auto operator<=>(const Name&, const Name&) = default;
  };

  static Name name_of(MemoryEvent::Part part, const MemoryEvent& event) {
    return {static_cast<int>(part), event.chunk, event.microbatch};
  }

  // Shrinks the block that a chunk keeps: part of it is not held at the fullest moment of a pass.
  void release(const MemoryEvent& event, std::int64_t time) {
    const Name kept = name_of(MemoryEvent::Part::kept, event);
    const auto held = held_.find(kept);
    if (held == held_.end()) return;  // the chunk's backward pass is over
    const double left = static_cast<double>(held->second.size) + event.bytes;
    std::string frame = held->second.frame;
    free(kept, time);
    allocate(kept, time, std::max(0.0, left), std::move(frame));
  }

  // Gradients are allocated in pieces, and freed all at once.
  void add_gradients(const MemoryEvent& event, std::int64_t time) {
    Name name = name_of(MemoryEvent::Part::gradients, event);
    name.piece = static_cast<int>(gradients_.size());
    gradients_.push_back(name);
    allocate(name, time, event.bytes, frame_of(event));
  }
  void free_gradients(std::int64_t time) {
    for (const Name& name : gradients_) free(name, time);
    gradients_.clear();
  }

  void allocate(const Name& name, std::int64_t time, double bytes, std::string frame) {
    const auto whole = static_cast<std::int64_t>(std::llround(bytes));
    const std::int64_t size = (whole + kRounding - 1) / kRounding * kRounding;
    if (size == 0) return;
    Event block{"alloc", addresses_.take(size), size, time, std::move(frame)};
    if (name.part < 0) {
      resident_.push_back(block);
    } else {
      held_[name] = block;
    }
    events_.push_back(std::move(block));
  }

  void free(const Name& name, std::int64_t time) {
    const auto held = held_.find(name);
    if (held == held_.end()) return;  // too small to be allocated
    Event block = std::move(held->second);
    held_.erase(held);
    addresses_.give_back(block.address, block.size);
    block.time_us = time;
    block.action = "free_requested";
    events_.push_back(block);
    block.action = "free_completed";
    events_.push_back(std::move(block));
  }

  Addresses addresses_;
  std::vector<Event> events_;
  std::vector<Event> resident_;
  std::map<Name, Event> held_;
  std::vector<Name> gradients_;
};

Device device_of(const RankMemory& rank) {
  Device out;
  for (const MemoryPart& part : memory_parts()) out.begin(part.name, rank.resident.*part.bytes);
  for (const MemoryEvent& event : rank.events) out.add(event);
  return out;
}

void write_frames(PickleWriter& out, const std::string& frame) {
  out.text("frames");
  out.list(1, [&](std::size_t) {
    out.dict([&] {
      out.text("filename");
      out.text("mirfak");
      out.text("line");
      out.integer(0);
      out.text("name");
      out.text(frame);
    });
  });
}

void write_number(PickleWriter& out, std::string_view key, std::int64_t value) {
  out.text(key);
  out.integer(value);
}

void write_event(PickleWriter& out, const Event& event) {
  out.dict([&] {
    out.text("action");
    out.text(event.action);
    write_number(out, "addr", event.address);
    write_number(out, "size", event.size);
    write_number(out, "stream", 0);
    write_number(out, "time_us", event.time_us);
    write_frames(out, event.frame);
  });
}

void write_block(PickleWriter& out, const Event& block, std::string_view state) {
  out.dict([&] {
    write_number(out, "address", block.address);
    write_number(out, "size", block.size);
    write_number(out, "requested_size", block.size);
    out.text("state");
    out.text(state);
    write_frames(out, block.frame);
  });
}

// Returns all blocks of a segment in the order of their addresses, free blocks too.
std::vector<std::pair<Event, std::string_view>> blocks_in_a_row(const Device& device) {
  std::vector<std::pair<Event, std::string_view>> out;
  std::int64_t at = kBase;
  const auto fill = [&](std::int64_t until) {
    if (until > at) out.emplace_back(Event{"", at, until - at, 0, "free"}, "inactive");
  };
  for (const Event& block : device.blocks()) {
    fill(block.address);
    out.emplace_back(block, "active_allocated");
    at = block.address + block.size;
  }
  fill(kBase + device.used());
  return out;
}

void write_segment(PickleWriter& out, std::size_t number, const Device& device) {
  const auto blocks = blocks_in_a_row(device);
  std::int64_t active = 0;
  for (const auto& [block, state] : blocks) active += state == "inactive" ? 0 : block.size;
  out.dict([&] {
    write_number(out, "device", static_cast<std::int64_t>(number));
    write_number(out, "address", kBase);
    write_number(out, "total_size", device.used());
    write_number(out, "allocated_size", active);
    write_number(out, "active_size", active);
    write_number(out, "requested_size", active);
    write_number(out, "stream", 0);
    out.text("segment_type");
    out.text("large");
    out.text("blocks");
    out.list(blocks.size(), [&](std::size_t i) { write_block(out, blocks[i].first, blocks[i].second); });
    write_frames(out, "memory of the device");
  });
}

}  // namespace

void write_memory_snapshot(const std::filesystem::path& path, const Simulation& simulation) {
  require_whole(simulation, "a memory snapshot");
  std::vector<Device> devices;
  for_each_memory(simulation, StreamIndex(simulation.program),
                  [&](std::uint32_t, const RankMemory& rank) { devices.push_back(device_of(rank)); });
  PickleWriter out;
  out.dict([&] {
    out.text("segments");
    out.list(devices.size(), [&](std::size_t i) { write_segment(out, i, devices[i]); });
    out.text("device_traces");
    out.list(devices.size(), [&](std::size_t i) {
      const std::vector<Event>& events = devices[i].events();
      out.list(events.size(), [&](std::size_t event) { write_event(out, events[event]); });
    });
    out.text("allocator_settings");
    out.dict([] {});
  });
  write_text_file(path, std::move(out).finished());
}

}  // namespace mirfak
