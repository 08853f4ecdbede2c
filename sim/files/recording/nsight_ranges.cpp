// Interprets the ranges of NVTX_EVENTS. Programs write any text there; three kinds of ranges concern training:
//  - numbered steps: "ProfilerStep#12", "iteration 12", "step_12", "train_step=12" (see step_family). If a process has
//    several kinds, the first of kStepNames counts: a loop of steps may hold another loop of smaller steps.
//  - calls of NCCL, by their names (nccl_payload.hpp).
//  - operators of PyTorch under torch.autograd.profiler.emit_nvtx: "aten::mm, seq = 3, sizes = [[8, 4], [4, 2]]".
#include "recording/nsight_ranges.hpp"

#include "recording/nccl_payload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace mirfak {

namespace {

constexpr const char* kTable = "NVTX_EVENTS";
constexpr Nanoseconds kLatest = Nanoseconds{1} << 62;
constexpr int kThreadBits = 24;
constexpr std::int64_t kPushPopRange = 59;  // ENUM_NSYS_EVENT_TYPE
constexpr std::int64_t kStartEndRange = 60;
constexpr std::array<std::string_view, 7> kStepNames = {"profilerstep", "iteration",  "iter", "global_step",
                                                        "train_step",   "train step", "step"};
constexpr std::string_view kAutograd = "autograd::engine::evaluate_function";

// Returns the index of the name in kStepNames that the text has before its number.
std::optional<std::size_t> step_family(std::string_view text) {
  std::size_t letters = text.size();
  while (letters > 0 && text[letters - 1] >= '0' && text[letters - 1] <= '9') --letters;
  if (letters == text.size()) return std::nullopt;
  while (letters > 0 && std::string_view(" _#:=-").find(text[letters - 1]) != std::string_view::npos) --letters;
  std::string word(text.substr(0, letters));
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const auto found = std::find(kStepNames.begin(), kStepNames.end(), word);
  if (found == kStepNames.end()) return std::nullopt;
  return static_cast<std::size_t>(found - kStepNames.begin());
}

// Parses "aten::mm, seq = 3, sizes = [[8, 4]]" -> aten::mm, [[8,4]]
std::optional<RecordedOperator> operator_of(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(','));
  if (!name.starts_with("aten::") && !name.starts_with("autograd::")) return std::nullopt;
  RecordedOperator out{std::string(name), {}, {}};
  constexpr std::string_view kSizes = "sizes = ";
  const std::size_t sizes = text.find(kSizes);
  if (sizes == std::string_view::npos) return out;
  std::string_view shape = text.substr(sizes + kSizes.size());
  shape = shape.substr(0, shape.rfind(']') == std::string_view::npos ? 0 : shape.rfind(']') + 1);
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(out.shape), [](char c) { return c != ' '; });
  return out;
}

struct NumberedStep {
  std::string name;
  std::int64_t thread;
  NsightInterval time;
};

struct NcclCall {
  std::string name;
  NcclPayload payload;
  std::int64_t thread;
  NsightInterval time;
};

// The ranges of one process, before it is known which steps count and how large communicators are.
struct ProcessRanges {
  std::map<std::size_t, std::vector<NumberedStep>> steps;  // by index in kStepNames
  std::vector<NcclCall> calls;
  std::map<std::uint64_t, std::int64_t> ranks;  // number of ranks of each communicator
  std::uint64_t unread_payloads = 0;
};

class NvtxReader {
 public:
  NvtxReader(const SqliteFile& file, NsightProcesses& processes)
      : file_(file), processes_(processes), payloads_(file) {}

  void read() {
    SqliteRows rows(file_, kTable, statement());
    while (rows.next()) {
      if (rows.is_null(1)) continue;  // never closed
      RecordingBuilder* builder = process_of(processes_, rows.integer(2));
      if (builder != nullptr) add(rows, *builder);
    }
    for (auto& [builder, ranges] : ranges_) finish(*builder, ranges);
  }

 private:
  // The text or JSON of an event stands in the event itself, or, if it is registered, in StringIds.
  std::string text_column(const char* plain, const char* registered) const {
    const bool has_plain = file_.has(kTable, plain);
    if (!file_.has(kTable, registered) || !file_.has("StringIds")) return has_plain ? plain : "NULL";
    const std::string found = fmt::format("(SELECT value FROM StringIds WHERE id = {})", registered);
    return has_plain ? fmt::format("coalesce({}, {})", plain, found) : found;
  }

  std::string statement() const {
    const char* whole_export = "export with `nsys export --type sqlite` of the version that recorded";
    for (const char* column : {"start", "end", "globalTid", "eventType"}) file_.require(kTable, column, whole_export);
    if (!file_.has(kTable, "text")) file_.require(kTable, "textId", whole_export);
    return fmt::format(
        "SELECT start, \"end\", globalTid, {} AS text, {} AS jsonText, {} AS binaryData, {} AS domainId FROM {} "
        "WHERE eventType IN ({}, {})",
        text_column("text", "textId"), text_column("jsonText", "jsonTextId"),
        file_.has(kTable, "binaryData") ? "binaryData" : "NULL", file_.has(kTable, "domainId") ? "domainId" : "NULL",
        kTable, kPushPopRange, kStartEndRange);
  }

  void add(const SqliteRows& rows, RecordingBuilder& builder) {
    const NsightInterval time = interval_of(rows, 0);
    const std::int64_t thread = rows.integer(2);
    const std::string text = rows.text(3);
    if (const auto family = step_family(text)) {
      ranges_[&builder].steps[*family].push_back({text, thread, time});
    } else if (is_nccl_collective(text) || is_nccl_initialization(text)) {
      add_call(rows, text, thread, time, ranges_[&builder]);
    } else if (const auto what = operator_of(text)) {
      builder.add_operator(*what, std::to_string(thread), time.start, time.end, what->name.starts_with(kAutograd));
    } else {
      builder.add_unread("other NVTX ranges");
    }
  }

  void add_call(const SqliteRows& rows, const std::string& name, std::int64_t thread, const NsightInterval& time,
                ProcessRanges& ranges) {
    const std::string json = rows.text(4);
    const std::string_view binary = rows.bytes(5);
    std::optional<NcclPayload> payload = NcclPayload{};
    if (!json.empty()) {
      payload = NcclPayloads::decode_json(json);
    } else if (!binary.empty()) {
      payload = payloads_.decode(rows.optional_integer(6).value_or(0), binary);
    }
    if (!payload) ++ranges.unread_payloads;
    const NcclPayload said = payload.value_or(NcclPayload{});
    if (is_nccl_collective(name)) {
      ranges.calls.push_back({name, said, thread, time});
    } else if (said.communicator && said.ranks) {
      ranges.ranks[*said.communicator] = *said.ranks;
    }
  }

  static void finish(RecordingBuilder& builder, ProcessRanges& ranges) {
    for (const NcclCall& call : ranges.calls) {
      std::optional<std::int64_t> ranks;
      if (call.payload.communicator) {
        const auto found = ranges.ranks.find(*call.payload.communicator);
        if (found != ranges.ranks.end()) ranks = found->second;
      }
      builder.add_call(nccl_collective(call.name, call.payload, ranks), std::to_string(call.thread), call.time.start,
                       call.time.end);
    }
    if (ranges.unread_payloads > 0) {
      builder.add_note(fmt::format("the payloads of {} calls of NCCL are not of a known form: their bytes are not read",
                                   ranges.unread_payloads));
    }
    if (!ranges.steps.empty()) add_steps(builder, ranges);
  }

  // Adds the steps of one kind and one thread, which do not overlap.
  static void add_steps(RecordingBuilder& builder, ProcessRanges& ranges) {
    std::vector<NumberedStep>& steps = ranges.steps.begin()->second;
    std::stable_sort(steps.begin(), steps.end(),
                     [](const auto& one, const auto& other) { return one.time.start < other.time.start; });
    const std::string first = steps.front().name;
    const std::int64_t thread = steps.front().thread;
    std::size_t taken = 0;
    Nanoseconds end = 0;
    for (const NumberedStep& step : steps) {
      if (step.thread != thread || step.time.start < end) continue;
      builder.add_step(step.name, step.time.start, step.time.end);
      end = step.time.end;
      ++taken;
    }
    std::string note = fmt::format("steps are {} NVTX ranges, from '{}' on", taken, first);
    std::size_t left = steps.size() - taken;
    for (const auto& [family, others] : ranges.steps) left += &others == &steps ? 0 : others.size();
    if (left > 0) note += fmt::format("; {} numbered ranges inside them, or of other threads, are not read", left);
    builder.add_note(note);
  }

  const SqliteFile& file_;
  NsightProcesses& processes_;
  NcclPayloads payloads_;
  std::map<RecordingBuilder*, ProcessRanges> ranges_;
};

}  // namespace

RecordingBuilder* process_of(NsightProcesses& processes, std::int64_t global_id) {
  auto found = processes.find(static_cast<std::uint64_t>(global_id) >> kThreadBits);
  if (found == processes.end()) found = processes.find(0);
  return found == processes.end() ? nullptr : &found->second;
}

NsightInterval interval_of(const SqliteRows& rows, int start_column) {
  const NsightInterval out{rows.integer(start_column), rows.integer(start_column + 1)};
  if (out.start < 0 || out.start >= kLatest) rows.fail(start_column, "nanoseconds from 0 to 2^62");
  if (out.end < out.start || out.end >= kLatest) rows.fail(start_column + 1, "nanoseconds from the start to 2^62");
  return out;
}

void read_nvtx(const SqliteFile& file, NsightProcesses& processes) {
  if (file.has(kTable)) NvtxReader(file, processes).read();
}

}  // namespace mirfak
