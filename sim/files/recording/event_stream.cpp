#include "recording/event_stream.hpp"

#include "base/compressed_file.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

// RapidJSON 1.1 adds an offset to the null pointer of an empty stack before it compares it: harmless, not a defect.
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#endif
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>
#ifdef __clang__
#pragma clang attribute pop
#endif

namespace mirfak {

namespace {

constexpr std::size_t kBlock = 1 << 18;
constexpr std::uint64_t kMostText = std::uint64_t{32} << 30;
constexpr std::size_t kLongestText = 1 << 20;  // bytes of one value
constexpr int kDeepest = 64;

// Fills a buffer with the next bytes of the text and returns their number; 0 at its end.
using Refill = std::function<std::size_t(char*, std::size_t)>;

// The text as RapidJSON reads it; counts lines and columns.
class CountingStream {
 public:
  using Ch = char;
  CountingStream(Refill refill, std::string name) : refill_(std::move(refill)), name_(std::move(name)) { fill(); }

  Ch Peek() const { return at_ < end_ ? buffer_[at_] : '\0'; }
  Ch Take() {
    if (at_ >= end_) return '\0';
    const char c = buffer_[at_++];
    ++column_;
    if (c == '\n') {
      ++line_;
      column_ = 0;
    }
    if (at_ == end_) fill();
    return c;
  }
  std::size_t Tell() const { return static_cast<std::size_t>(read_) - (end_ - at_); }
  // RapidJSON requires these functions of every stream, but calls them only for streams that it writes to.
  Ch* PutBegin() { return nullptr; }
  void Put(Ch /*c*/) {}
  void Flush() {}
  std::size_t PutEnd(Ch* /*begin*/) { return 0; }

  Location where() const { return {name_, line_, std::max(column_, 1)}; }

 private:
  void fill() {
    at_ = 0;
    end_ = refill_(buffer_.data(), buffer_.size());
    read_ += end_;
    if (read_ > kMostText) {
      fail_input(where(), "the trace is longer than 32 GiB", "record fewer steps, and without stacks");
    }
  }

  Refill refill_;
  std::string name_;
  std::vector<char> buffer_ = std::vector<char>(kBlock);
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::uint64_t read_ = 0;
  int line_ = 1;
  int column_ = 0;
};

// Parses microseconds as they are written, "4458676522690.655", to the nanosecond; finer digits are cut off.
std::optional<Nanoseconds> nanoseconds_of(std::string_view text) {
  constexpr std::int64_t kMost = 4'000'000'000'000'000;  // microseconds: a century after 1970 is 3.2e15
  const std::size_t dot = text.find('.');
  std::string_view whole = text.substr(0, dot);
  std::int64_t value = 0;
  const auto parsed = std::from_chars(whole.data(), whole.data() + whole.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != whole.data() + whole.size()) return std::nullopt;
  if (value > kMost || value < -kMost) return std::nullopt;
  std::int64_t fraction = 0;
  if (dot != std::string_view::npos) {
    const std::string_view digits = text.substr(dot + 1);
    for (std::size_t i = 0; i < std::max<std::size_t>(3, digits.size()); ++i) {
      const char c = i < digits.size() ? digits[i] : '0';
      if (c < '0' || c > '9') return std::nullopt;
      if (i < 3) fraction = fraction * 10 + (c - '0');
    }
  }
  return value * 1000 + (text.front() == '-' ? -fraction : fraction);
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// An event under construction, with the texts of its times, which show whether they were written and are numbers.
struct OpenEvent {
  TraceEvent event;
  std::string phase;
  std::string start;
  std::string duration;
};

// Receives the JSON value by value. Depth 1 is the root (an object), its list of events depth 2, an event depth 3, its
// args depth 4; if the root is the list of events itself, each depth is one less.
class EventHandler {
 public:
  EventHandler(const CountingStream& stream, const std::function<void(const TraceEvent&)>& use)
      : stream_(stream), use_(use) {}

  bool Null() { return scalar("null", false); }
  bool Bool(bool value) { return scalar(value ? "true" : "false", false); }
  // Numbers arrive as text; RapidJSON requires the other functions as well.
  bool Int(int value) { return scalar(std::to_string(value), false); }
  bool Uint(unsigned value) { return scalar(std::to_string(value), false); }
  bool Int64(std::int64_t value) { return scalar(std::to_string(value), false); }
  bool Uint64(std::uint64_t value) { return scalar(std::to_string(value), false); }
  bool Double(double value) { return scalar(fmt::format("{}", value), false); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool /*copy*/) { return scalar({text, size}, false); }
  bool String(const char* text, rapidjson::SizeType size, bool /*copy*/) { return scalar({text, size}, true); }

  bool StartObject() { return open('{'); }
  bool EndObject(rapidjson::SizeType /*members*/) { return close('}'); }
  bool StartArray() { return open('['); }
  bool EndArray(rapidjson::SizeType /*items*/) { return close(']'); }

  bool Key(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    check_size(size);
    if (capturing_) {
      separate();
      nested_ += fmt::format("\"{}\":", std::string_view(text, size));
      after_key_ = true;
    } else {
      key_.assign(text, size);
      if (path_.size() == 1) root_key_ = key_;
      if (header_depth_ > 0) header_key_ = key_;
    }
    return true;
  }

  TraceHeader header;
  bool found_events = false;

 private:
  [[noreturn]] void refuse(std::string message, std::string hint = {}) const {
    fail_input(stream_.where(), std::move(message), std::move(hint));
  }
  void check_size(std::size_t size) const {
    if (size > kLongestText) refuse("a text of more than 1 MiB", "a profiler writes no such names");
  }

  bool in_event() const { return event_depth_ > 0 && path_.size() == event_depth_; }
  bool in_args() const { return event_depth_ > 0 && path_.size() == event_depth_ + 1 && args_; }

  void separate() {
    if (!nested_.empty() && nested_.back() != '[' && nested_.back() != '{' && !after_key_) nested_ += ',';
    after_key_ = false;
  }

  bool open(char bracket) {
    if (path_.size() >= kDeepest) refuse("nested deeper than 64 levels");
    if (capturing_) {
      separate();
      nested_ += bracket;
      check_size(nested_.size());
    } else if (in_args()) {
      capturing_ = true;
      capture_depth_ = path_.size();
      nested_ = bracket;
    } else if (in_event()) {
      args_ = bracket == '{' && key_ == "args";
    } else if (event_depth_ == 0) {
      open_outside(bracket);
    }
    path_ += bracket;
    return true;
  }

  // Opens the list of events, an event in the list, or a value of the header.
  void open_outside(char bracket) {
    if (path_.empty()) {
      events_depth_ = bracket == '[' ? 1 : 0;
      found_events = bracket == '[';
    } else if (path_.size() == 1 && events_depth_ == 0 && bracket == '[' && key_ == "traceEvents") {
      if (found_events) refuse("a second list traceEvents");
      events_depth_ = 2;
      found_events = true;
    } else if (events_depth_ > 0 && path_.size() == events_depth_) {
      if (bracket != '{') refuse("expected an event, that is an object");
      event_depth_ = events_depth_ + 1;
      open_ = {};
      args_ = false;
    } else if (path_.size() == 1) {
      header_depth_ = 1;
    }
  }

  bool close(char bracket) {
    path_.pop_back();
    if (capturing_) {
      nested_ += bracket;
      if (path_.size() == capture_depth_) {
        capturing_ = false;
        set_argument(nested_);
      }
    } else if (event_depth_ > 0 && path_.size() == event_depth_) {
      args_ = false;
    } else if (event_depth_ > 0 && path_.size() < event_depth_) {
      event_depth_ = 0;
      finish_event();
    } else if (events_depth_ > 0 && path_.size() < events_depth_) {
      events_depth_ = 0;
    } else if (header_depth_ > 0 && path_.size() == header_depth_) {
      header_depth_ = 0;
    }
    return true;
  }

  bool scalar(std::string_view text, bool quoted) {
    check_size(text.size());
    if (path_.empty()) refuse("expected an object or a list of events");
    if (capturing_) {
      separate();
      nested_ += quoted ? fmt::format("\"{}\"", text) : std::string(text);
      check_size(nested_.size());
    } else if (in_args()) {
      set_argument(text);
    } else if (in_event()) {
      set_field(text);
    } else if (event_depth_ == 0 && events_depth_ > 0 && path_.size() == events_depth_) {
      refuse("expected an event, that is an object");
    } else if (header_depth_ > 0) {
      set_header(text);
    }
    return true;
  }

  void set_header(std::string_view text) {
    if (root_key_ == "distributedInfo") {
      if (path_.size() != 2) return;  // inside one of its groups
      if (header_key_ == "rank") header.rank = integer_of(text);
      if (header_key_ == "world_size") header.world_size = integer_of(text);
      if (header_key_ == "nccl_version") header.nccl_version = text;
    } else if (root_key_ == "deviceProperties") {
      if (header_key_ == "name" && header.gpu.empty()) header.gpu = text;
    }
  }

  void set_field(std::string_view text) {
    if (key_ == "ph")
      open_.phase = text;
    else if (key_ == "cat")
      open_.event.category = text;
    else if (key_ == "name")
      open_.event.name = text;
    else if (key_ == "ts")
      open_.start = text;
    else if (key_ == "dur")
      open_.duration = text;
    else if (key_ == "pid")
      open_.event.process = text;
    else if (key_ == "tid")
      open_.event.thread = text;
  }

  void set_argument(std::string_view text) {
    TraceEvent& event = open_.event;
    if (key_ == "correlation")
      event.correlation = integer_of(text);
    else if (key_ == "stream")
      event.stream = integer_of(text);
    else if (key_ == "device")
      event.device = integer_of(text);
    else if (key_ == "Input Dims")
      event.input_dims = text;
    else if (key_ == "Input type")
      event.input_types = text;
    else if (key_ == "Collective name")
      event.collective = text;
    else if (key_ == "dtype")
      event.collective_type = text;
    else if (key_ == "Process Group Name")
      event.group = text;
    else if (key_ == "Group size")
      event.group_size = integer_of(text);
    else if (key_ == "In msg nelems")
      event.in_elements = integer_of(text);
    else if (key_ == "Out msg nelems")
      event.out_elements = integer_of(text);
  }

  Nanoseconds time_of(const std::string& text, const char* key) const {
    if (const auto time = nanoseconds_of(text)) return *time;
    refuse(fmt::format("the event '{}' has {} '{}': expected microseconds", excerpt(open_.event.name), key,
                       excerpt(text)));
  }

  void finish_event() {
    ++header.events;
    if (open_.phase != "X") return;
    TraceEvent& event = open_.event;
    if (event.name.empty()) refuse("a complete event without a name");
    event.start = time_of(open_.start, "ts");
    event.duration = open_.duration.empty() ? 0 : time_of(open_.duration, "dur");
    if (event.duration < 0) refuse(fmt::format("the event '{}' has a negative dur", excerpt(event.name)));
    event.where = stream_.where();
    use_(event);
  }

  const CountingStream& stream_;
  const std::function<void(const TraceEvent&)>& use_;
  std::string path_;  // one bracket for each open object or list
  std::string key_;
  std::string root_key_;
  std::string header_key_;
  std::size_t events_depth_ = 0;  // depth of the list of events while it is open
  std::size_t event_depth_ = 0;   // depth of the open event
  std::size_t header_depth_ = 0;
  OpenEvent open_;
  bool args_ = false;
  bool capturing_ = false;  // inside an argument that is a list or an object
  bool after_key_ = false;
  std::size_t capture_depth_ = 0;
  std::string nested_;
};

TraceHeader parse(Refill refill, const std::string& name, const std::function<void(const TraceEvent&)>& use) {
  constexpr unsigned kFlags =
      rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
  CountingStream stream(std::move(refill), name);
  EventHandler handler(stream, use);
  rapidjson::Reader reader;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, handler);
  if (result.IsError()) {
    fail_input(stream.where(), fmt::format("bad JSON: {}", rapidjson::GetParseError_En(result.Code())),
               "expected a trace as torch.profiler exports it (export_chrome_trace), whole");
  }
  if (!handler.found_events) {
    fail_input({name, 0, 0}, "the file has no list traceEvents", "expected a trace as torch.profiler exports it");
  }
  return std::move(handler.header);
}

}  // namespace

TraceHeader read_trace_events(const std::filesystem::path& path, const std::function<void(const TraceEvent&)>& use) {
  CompressedFile file(path, "expected JSON, plain or compressed by gzip");
  const auto refill = [&file](char* to, std::size_t size) { return file.read(to, size); };
  return parse(refill, path.string(), use);
}

TraceHeader read_trace_events_of_text(std::string_view text, const std::string& name,
                                      const std::function<void(const TraceEvent&)>& use) {
  const auto refill = [&](char* to, std::size_t size) {
    const std::size_t count = std::min(size, text.size());
    std::memcpy(to, text.data(), count);
    text.remove_prefix(count);
    return count;
  };
  return parse(refill, name, use);
}

}  // namespace mirfak
