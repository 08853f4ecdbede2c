// A capture is lines of JSON: a header, three tables, a line for each rank, and a line with the number of lines before
// it and the CRC-32 of their bytes. Whoever edits a capture changes what a program is said to do, so that an edited
// file is refused as a cut-off one is. Each value is read by its kind: a missing field or a value of another kind is an
// error with the line and the path of the value.
#include "capture/capture_file.hpp"

#include "base/compressed_file.hpp"
#include "base/error.hpp"
#include "base/origin.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <boost/crc.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string_view>

namespace mirfak {

namespace {

using Json = nlohmann::json;

constexpr std::int64_t kVersion = 1;
constexpr std::string_view kBeginning = "{\"mirfak_capture\":";
constexpr std::int64_t kMost = std::int64_t{1} << 53;
constexpr const char* kAgain = "capture the program again";
constexpr const char* kExpected = "expected a capture: lines of JSON, compressed by gzip";

void check_beginning(std::string_view text, const std::string& name) {
  if (text.starts_with(kBeginning.substr(0, text.size()))) return;
  fail_input({name, 1, 0}, fmt::format("{}, the first of which begins {}", kExpected, kBeginning), kAgain);
}

// A value of a line, with its place.
class Part {
 public:
  Part(const Json& value, const Location& where, std::string path)
      : value_(&value), where_(&where), path_(std::move(path)) {}

  [[noreturn]] void fail(const std::string& expected) const {
    fail_input(*where_, fmt::format("{}: expected {}, found {}", path_, expected, excerpt(value_->dump(), 60)), kAgain);
  }
  bool has(const char* key) const { return value_->is_object() && value_->contains(key); }
  Part at(const char* key) const {
    if (!has(key)) fail_input(*where_, fmt::format("{}: it has no field '{}'", path_, key), kAgain);
    return {(*value_)[key], *where_, path_ + "." + key};
  }
  std::string text() const {
    if (!value_->is_string()) fail("text");
    return value_->get<std::string>();
  }
  std::int64_t whole(std::int64_t least, std::int64_t most) const {
    const bool fits = value_->is_number_unsigned() ? value_->get<std::uint64_t>() <= static_cast<std::uint64_t>(kMost)
                                                   : value_->is_number_integer();
    if (!fits) fail("a whole number");
    const auto number = value_->get<std::int64_t>();
    if (number < least || number > most) fail(fmt::format("a number from {} to {}", least, most));
    return number;
  }
  double bytes() const { return static_cast<double>(whole(0, kMost)); }
  std::vector<Part> items(std::size_t least = 0, std::size_t most = static_cast<std::size_t>(-1)) const {
    if (!value_->is_array() || value_->size() < least || value_->size() > most) {
      fail(least == most ? fmt::format("a list of {}", least) : "a list");
    }
    std::vector<Part> out;
    out.reserve(value_->size());
    for (std::size_t i = 0; i < value_->size(); ++i) {
      out.emplace_back((*value_)[i], *where_, fmt::format("{}[{}]", path_, i));
    }
    return out;
  }
  std::vector<std::int64_t> numbers(std::int64_t least, std::int64_t most) const {
    std::vector<std::int64_t> out;
    for (const Part& item : items()) out.push_back(item.whole(least, most));
    return out;
  }
  std::vector<std::pair<std::string, Part>> fields() const {
    if (!value_->is_object()) fail("an object");
    std::vector<std::pair<std::string, Part>> out;
    for (const auto& [key, value] : value_->items()) out.emplace_back(key, Part(value, *where_, path_ + "." + key));
    return out;
  }
  std::string json() const { return value_->dump(); }
  bool is_null() const { return value_->is_null(); }
  // Adds fields of the object that are none of `known`.
  void find_unknown(std::initializer_list<const char*> known, std::set<std::string>& unknown) const {
    for (const auto& [key, part] : fields()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) unknown.insert(key);
    }
  }

 private:
  const Json* value_;
  const Location* where_;
  std::string path_;
};

std::vector<CapturedTensor> tensors_of(const Part& list) {
  std::vector<CapturedTensor> out;
  for (const Part& entry : list.items()) {
    const std::vector<Part> parts = entry.items(2, 3);
    CapturedTensor tensor;
    tensor.format = parts[0].text();
    tensor.shape = parts[1].numbers(0, kMost);
    double elements = 1;
    for (const std::int64_t extent : tensor.shape) elements *= static_cast<double>(extent);
    if (elements > static_cast<double>(kMost)) parts[1].fail("a shape of at most 2^53 elements");
    if (parts.size() == 3) tensor.strides = parts[2].numbers(0, kMost);
    if (!tensor.strides.empty() && tensor.strides.size() != tensor.shape.size()) parts[2].fail("as many as dimensions");
    out.push_back(std::move(tensor));
  }
  return out;
}

CapturedOperator operator_of(const Part& entry) {
  CapturedOperator out;
  out.name = entry.at("name").text();
  out.in = tensors_of(entry.at("in"));
  out.out = tensors_of(entry.at("out"));
  std::size_t named = 0;
  for (const Part& argument : entry.at("arguments").items()) {
    const std::vector<Part> parts = argument.items(2, 2);
    const auto tensors = static_cast<int>(parts[1].whole(0, 1'000'000));
    out.arguments.emplace_back(parts[0].text(), tensors);
    named += static_cast<std::size_t>(tensors);
  }
  if (named != out.in.size()) entry.at("arguments").fail(fmt::format("names of the {} tensors of 'in'", out.in.size()));
  for (const auto& [key, value] : entry.at("settings").fields()) out.settings.emplace(key, value.json());
  out.read_bytes = entry.at("read_bytes").bytes();
  out.written_bytes = entry.at("written_bytes").bytes();
  return out;
}

CapturedCommunication communication_of(const Part& entry, std::int64_t world) {
  CapturedCommunication out;
  out.kind = entry.at("kind").text();
  out.ranks = entry.at("ranks").numbers(0, world - 1);
  for (std::size_t i = 1; i < out.ranks.size(); ++i) {
    if (out.ranks[i - 1] >= out.ranks[i]) entry.at("ranks").fail("ascending ranks");
  }
  if (out.ranks.empty()) entry.at("ranks").fail("the ranks of a group");
  out.format = entry.at("dtype").text();
  if (entry.has("op")) out.operation = entry.at("op").text();
  if (entry.has("root")) out.root = entry.at("root").whole(0, world - 1);
  out.in_bytes = entry.at("in_bytes").bytes();
  out.out_bytes = entry.at("out_bytes").bytes();
  if (out.kind == "send" || out.kind == "recv") out.peer = entry.at("peer").whole(0, world - 1);
  return out;
}

bool may_be_in_graph(CaptureEventKind kind) {
  return kind != CaptureEventKind::block && kind != CaptureEventKind::host && kind != CaptureEventKind::graph &&
         kind != CaptureEventKind::python;
}

class CaptureReader {
 public:
  explicit CaptureReader(const std::string& name) : where_{name, 0, 0} { capture_.file = name; }

  Capture read(std::string_view text) {
    split(text);
    check_end(text);
    read_header();
    for (std::size_t i = 0; i < kTables.size(); ++i) read_table(i);
    for (std::size_t i = 1 + kTables.size(); i + 1 < lines_.size(); ++i) read_rank(i);
    check_ranks();
    capture_.unknown_fields.assign(unknown_.begin(), unknown_.end());
    capture_.hash = text_hash(text);
    return std::move(capture_);
  }

 private:
  static constexpr std::array<const char*, 3> kTables = {"operators", "collectives", "modules"};

  [[noreturn]] void fail(std::size_t line, const std::string& what) {
    where_.line = static_cast<int>(line + 1);
    fail_input(where_, what, kAgain);
  }
  void split(std::string_view text);
  void check_end(std::string_view text);
  void read_header();
  std::vector<std::vector<std::int64_t>> family_of(const Part& list) const;
  void read_table(std::size_t table);
  void read_rank(std::size_t line);
  void read_events(const Part& list, CapturedRank& rank);
  void read_event(const Part& event, CapturedRank& rank);
  void check_memory(const Part& event);
  void check_ranks();
  // Parses a line, and makes it the place of errors.
  Part parse(std::size_t line, const char* name);
  std::int32_t stream(const Part& number) const { return static_cast<std::int32_t>(number.whole(0, 1'000'000)); }

  Capture capture_;
  Location where_;
  std::vector<std::string_view> lines_;
  Json json_;
  std::set<std::string> unknown_;
};

void CaptureReader::split(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines_.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

Part CaptureReader::parse(std::size_t line, const char* name) {
  where_.line = static_cast<int>(line + 1);
  json_ = Json::parse(lines_[line], nullptr, false);
  if (json_.is_discarded() || !json_.is_object()) fail(line, "expected an object of JSON");
  return {json_, where_, name};
}

void CaptureReader::check_end(std::string_view text) {
  if (lines_.size() < 2 + kTables.size()) fail(lines_.empty() ? 0 : lines_.size() - 1, "the file is cut off");
  const std::int64_t version = parse(0, "header").at("mirfak_capture").whole(0, kMost);
  if (version != kVersion) {
    fail(0, fmt::format("this is a capture of version {}, and version {} is read", version, kVersion));
  }
  const std::size_t last = lines_.size() - 1;
  const Part end = parse(last, "end");
  if (!end.has("lines") || end.at("lines").whole(0, kMost) != static_cast<std::int64_t>(last)) {
    fail(last, "the file is cut off: its last line says how many lines come before it");
  }
  boost::crc_32_type crc;
  crc.process_bytes(text.data(), static_cast<std::size_t>(lines_[last].data() - text.data()));
  if (end.at("crc32").whole(0, kMost) != static_cast<std::int64_t>(crc.checksum())) {
    fail(last, "the file was edited: its last line has the CRC-32 of what was written");
  }
}

std::vector<std::vector<std::int64_t>> CaptureReader::family_of(const Part& list) const {
  std::vector<std::vector<std::int64_t>> out;
  for (const Part& group : list.items()) {
    out.push_back(group.numbers(0, capture_.world_size - 1));
    if (!std::is_sorted(out.back().begin(), out.back().end())) group.fail("ascending ranks");
  }
  return out;
}

void CaptureReader::read_header() {
  const Part header = parse(0, "header");
  capture_.program = header.at("program").text();
  capture_.device = header.at("device").text();
  capture_.torch = header.at("torch").text();
  capture_.world_size = header.at("world_size").whole(1, 1 << 20);
  capture_.gpus_per_node = header.at("gpus_per_node").whole(1, 1 << 20);
  capture_.step = header.at("step").is_null() ? -1 : header.at("step").whole(0, kMost);
  if (header.has("groups")) {
    for (const Part& family : header.at("groups").items()) capture_.families.push_back(family_of(family));
  }
  if (header.has("lines")) {
    for (const auto& [path, line] : header.at("lines").fields()) capture_.lines.emplace(path, line.text());
  }
  header.find_unknown({"mirfak_capture", "program", "command", "world_size", "gpus_per_node", "device", "step", "torch",
                       "groups", "lines", "proved_on"},
                      unknown_);
}

void CaptureReader::read_table(std::size_t table) {
  const Part line = parse(1 + table, kTables[table]);
  if (line.at("table").text() != kTables[table]) line.at("table").fail(kTables[table]);
  for (const Part& entry : line.at("entries").items()) {
    if (table == 0) {
      capture_.operators.push_back(operator_of(entry));
      entry.find_unknown(
          {"name", "overload", "arguments", "in", "out", "settings", "read_bytes", "written_bytes", "flop"}, unknown_);
    }
    if (table == 1) {
      capture_.communication.push_back(communication_of(entry, capture_.world_size));
      entry.find_unknown({"kind", "ranks", "dtype", "via", "in_bytes", "out_bytes", "async", "op", "root", "peer",
                          "in_splits", "out_splits", "tensors"},
                         unknown_);
    }
    if (table == 2) capture_.modules.push_back(entry.text());
  }
}

void CaptureReader::read_rank(std::size_t line) {
  const Part part = parse(line, "rank");
  CapturedRank rank;
  rank.line = static_cast<int>(line + 1);
  rank.rank = part.at("rank").whole(0, capture_.world_size - 1);
  if (!capture_.ranks.empty() && rank.rank <= capture_.ranks.back().rank) {
    fail(line, fmt::format("rank {} comes after rank {}", rank.rank, capture_.ranks.back().rank));
  }
  part.find_unknown(
      {"rank", "same_as", "like", "state", "dispatched", "python_lines", "memory", "notes", "before", "events"},
      unknown_);
  if (part.has("same_as") || part.has("like")) {
    rank.in_own_groups = part.has("like");
    rank.same_as = part.at(rank.in_own_groups ? "like" : "same_as").whole(0, capture_.world_size - 1);
  } else {
    rank.param_bytes = part.at("state").at("param_bytes").bytes();
    rank.optimizer_state_bytes = part.at("state").at("optimizer_state_bytes").bytes();
    const Part memory = part.at("memory");
    rank.peak_allocated_bytes = memory.at("peak_allocated_bytes").bytes();
    if (memory.has("graph_bytes")) rank.graph_bytes = memory.at("graph_bytes").bytes();
    rank.peak_reserved_bytes = memory.at("peak_reserved_bytes").bytes();
    rank.dispatched = part.at("dispatched").whole(0, kMost);
    if (part.has("python_lines")) rank.python_lines = part.at("python_lines").whole(0, kMost);
    for (const auto& [note, count] : part.at("notes").fields()) rank.notes.emplace_back(note, count.whole(0, kMost));
    for (const Part& event : part.at("before").items()) check_memory(event);
    read_events(part.at("events"), rank);
  }
  capture_.ranks.push_back(std::move(rank));
}

void CaptureReader::read_events(const Part& list, CapturedRank& rank) {
  const std::vector<Part> events = list.items(0, std::size_t{1} << 31);
  std::int64_t of_graph = 0;  // events that the CUDA graph still has
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::size_t known = rank.events.size();
    read_event(events[i], rank);
    const bool kept = rank.events.size() > known;  // events of memory are not
    if (kept) rank.events.back().position = static_cast<std::uint32_t>(i);
    if (of_graph > 0) {
      if (!kept || !may_be_in_graph(rank.events.back().kind)) {
        events[i].fail("an event of the CUDA graph that began before: op, comm, wait, record or await");
      }
      --of_graph;
    } else if (kept && rank.events.back().kind == CaptureEventKind::graph) {
      of_graph = rank.events.back().id;
    }
  }
  if (of_graph > 0) list.fail(fmt::format("{} more events of the CUDA graph", of_graph));
}

void CaptureReader::check_memory(const Part& event) {
  const std::vector<Part> parts = event.items(2, 4);
  const std::string word = parts[0].text();
  const std::size_t length = word == "alloc" ? 4 : word == "use" ? 3 : word == "free" ? 2 : 0;
  if (length == 0) event.fail("an event that this version knows");
  event.items(length, length);
  for (std::size_t i = 1; i < length; ++i) parts[i].whole(0, kMost);
}

void CaptureReader::read_event(const Part& event, CapturedRank& rank) {
  const std::vector<Part> parts = event.items(1);
  const std::string word = parts[0].text();
  CaptureEvent out;
  const auto of_length = [&](std::size_t length) { event.items(length, length); };
  const auto entry_of = [&](const Part& index, std::size_t table) {
    return static_cast<std::uint32_t>(index.whole(0, static_cast<std::int64_t>(table) - 1));
  };
  if (word == "op" || word == "comm") {
    const bool launches = word == "op";
    of_length(launches ? 5 : 6);
    out.kind = launches ? CaptureEventKind::launch : CaptureEventKind::communicate;
    out.entry = entry_of(parts[1], launches ? capture_.operators.size() : capture_.communication.size());
    out.module = entry_of(parts[2], capture_.modules.size());
    out.phase = static_cast<CapturePhase>(parts[3].whole(0, kCapturePhases - 1));
    out.stream = stream(parts[4]);
    if (!launches) out.id = parts[5].whole(0, kMost);
  } else if (word == "wait" || word == "record" || word == "await") {
    of_length(3);
    out.kind = word == "wait"     ? CaptureEventKind::wait
               : word == "record" ? CaptureEventKind::record
                                  : CaptureEventKind::await;
    out.id = parts[1].whole(0, kMost);
    out.stream = stream(parts[2]);
  } else if (word == "block") {
    of_length(2);
    out.kind = CaptureEventKind::block;
    out.whole_device = parts[1].text() == "synchronize";
  } else if (word == "host" || word == "graph" || word == "python") {
    of_length(2);
    out.kind = word == "host"    ? CaptureEventKind::host
               : word == "graph" ? CaptureEventKind::graph
                                 : CaptureEventKind::python;
    out.id = parts[1].whole(0, word == "host" ? 1'000'000 : 100'000'000);
  } else {
    check_memory(event);
    return;
  }
  rank.events.push_back(out);
}

void CaptureReader::check_ranks() {
  if (capture_.ranks.empty()) fail(lines_.size() - 1, "the file has no rank");
  for (const CapturedRank& rank : capture_.ranks) {
    if (rank.same_as < 0) continue;
    const auto other = std::find_if(capture_.ranks.begin(), capture_.ranks.end(),
                                    [&](const CapturedRank& of) { return of.rank == rank.same_as; });
    if (other != capture_.ranks.end() && other->same_as < 0) continue;
    fail(static_cast<std::size_t>(rank.line - 1),
         fmt::format("rank {} is said to do what rank {} does, which has no events", rank.rank, rank.same_as));
  }
}

std::string content_of(const std::string& name) {
  constexpr std::size_t most = std::size_t{1} << 30;
  CompressedFile file(name, kExpected);
  std::string text;
  std::vector<char> piece(std::size_t{1} << 16);
  while (const std::size_t size = file.read(piece.data(), piece.size())) {
    text.append(piece.data(), size);
    check_beginning(text, name);
    if (text.size() > most) fail_input({name, 0, 0}, "a capture of more than 1 GiB of text is not read");
  }
  return text;
}

}  // namespace

bool is_capture(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::string beginning(kBeginning.size(), ' ');
  try {
    CompressedFile file(path, kExpected);
    std::size_t read = 0;
    while (read < beginning.size()) {
      const std::size_t more = file.read(beginning.data() + read, beginning.size() - read);
      if (more == 0) return false;
      read += more;
    }
  } catch (const Error&) {  // a file that is cut off fails after its beginning is read
  }
  return beginning == kBeginning;
}

Capture read_capture(const std::filesystem::path& path) {
  return CaptureReader(path.string()).read(content_of(path.string()));
}

Capture read_capture_text(std::string_view text, const std::string& name) {
  check_beginning(text, name);
  return CaptureReader(name).read(text);
}

}  // namespace mirfak
