#include "small_trace.hpp"

#include "replay/derived_graph.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace mirfak::test {

namespace {

constexpr int kParts = 4;
constexpr int kStages = 2;

class TraceText {
 public:
  TraceText(int data, int stages) : data_(data), stages_(stages) {}

  void pass(const char* type, int part, double start, double lasting) {
    add(type, part % kStages, start, lasting, part / kStages, 0, part);
  }
  void transfer(const char* type, int stage, double start, double end) {
    add(type, stage, start, end - start, -1, -1, -1);
  }
  std::string text;

 private:
  void add(const char* type, int stage, double start, double lasting, int chunk, int microbatch, int part) {
    text += fmt::format("{},{},{},7,{},{},{},{},{},{},{}\n", data_, stage, data_ * stages_ + stage, type, start,
                        lasting, next_[{stage, type}]++, chunk, microbatch, part);
  }

  int data_;
  int stages_;
  std::map<std::pair<int, std::string>, int> next_;
};

std::string replica(int data, double late_s) {
  TraceText out(data, kStages);
  double now = 0;
  for (const bool forward : {true, false}) {
    const char* type = forward ? "forward-compute" : "backward-compute";
    for (int i = 0; i < kParts; ++i) {
      const int part = forward ? i : kParts - 1 - i;
      const double lasting = (forward ? 1 : 2) + (forward && part == 1 ? late_s : 0);
      out.pass(type, part, now, lasting);
      now += lasting;
      if (i == kParts - 1) continue;
      const int next = forward ? part + 1 : part - 1;
      const double asked = now - lasting > 0.1 ? now - lasting - 0.1 : 0;
      out.transfer(forward ? "forward-send" : "backward-send", part % kStages, now, now + 0.25);
      out.transfer(forward ? "forward-recv" : "backward-recv", next % kStages, asked, now + 0.25);
      now += 0.25;
    }
  }
  return out.text;
}

}  // namespace

std::string small_trace(int data_ranks, double late_s) {
  std::string out = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";
  for (int data = 0; data < data_ranks; ++data) out += replica(data, data == data_ranks - 1 ? late_s : 0);
  return out;
}

CsvTable small_table(int data_ranks, double late_s) {
  return CsvTable::from_text(small_trace(data_ranks, late_s), "trace.csv");
}

Replay small_replay(int data_ranks, double late_s) {
  MeasuredTrace trace = read_measured_trace(small_table(data_ranks, late_s));
  StepGraph graph = derive_step_graph(trace);
  return {std::move(trace), std::move(graph)};
}

}  // namespace mirfak::test
