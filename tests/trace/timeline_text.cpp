#include "trace/timeline_text.hpp"

#include "support/example.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

using namespace mirfak;

namespace {

// A pipeline of `stages` with passes of 1 s forward and 2 s backward, in GPipe's order, nothing else.
struct Pipeline {
  Program program;
  Timeline timeline;
};

Pipeline pipeline(std::uint32_t stages, int microbatches) {
  Pipeline out;
  Program& p = out.program;
  std::vector<StreamId> streams;
  std::vector<std::pair<ClassId, ClassId>> classes;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    p.ranks.push_back({stage, stage, 0, 0, 1});
    streams.push_back(p.add_stream(stage, StreamKind::compute));
    TaskClass described;
    described.stage = static_cast<std::int32_t>(stage);
    described.chunk = 0;
    described.kind = TaskKind::forward;
    const ClassId forward = p.add_class(described);
    described.kind = TaskKind::backward;
    classes.emplace_back(forward, p.add_class(described));
  }
  for (int i = 0; i < microbatches; ++i) {
    std::vector<TaskId> before;
    for (std::uint32_t s = 0; s < stages; ++s) {
      before = {p.add_task(streams[s], classes[s].first, to_picoseconds(1), before, i)};
    }
  }
  for (int i = 0; i < microbatches; ++i) {
    std::vector<TaskId> before;
    for (std::uint32_t s = stages; s-- > 0;) {
      before = {p.add_task(streams[s], classes[s].second, to_picoseconds(2), before, i)};
    }
  }
  out.timeline = execute(p);
  return out;
}

std::vector<std::string> rows_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("  stage ")) out.push_back(line.substr(12));
  }
  return out;
}

}  // namespace

// 2 stages, 2 microbatches: F F on both, one second apart, then B B: (2 + 1) x 3 s = 9 s. With 45 columns a second
// has 5.
TEST_CASE("a short pipeline is drawn to scale") {
  const Pipeline p = pipeline(2, 2);
  REQUIRE(to_seconds(p.timeline.makespan) == 9);
  const auto rows = rows_of(timeline_text(p.program, p.timeline, {.width = 57}));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0] == std::string(10, 'F') + std::string(15, '.') + std::string(20, 'B'));
  CHECK(rows[1] == std::string(5, '.') + std::string(10, 'F') + std::string(20, 'B') + std::string(10, '.'));
}

TEST_CASE("rows have the width asked for, whatever the pipeline") {
  for (const std::uint32_t stages : {1U, 3U, 16U, 64U}) {
    for (const int microbatches : {1, 8, 200}) {
      const Pipeline p = pipeline(stages, microbatches);
      for (const int width : {40, 100, 160}) {
        const std::string text = timeline_text(p.program, p.timeline, {.width = width});
        const auto rows = rows_of(text);
        CHECK(rows.size() >= std::min<std::size_t>(stages, 22));
        CHECK(rows.size() <= 3 * 24);
        for (const std::string& row : rows) CHECK(row.size() == static_cast<std::size_t>(width - 12));
        std::istringstream in(text);
        for (std::string line; std::getline(in, line);) CHECK(line.find("-0 ") == std::string::npos);
      }
    }
  }
}

// 4 stages, 40 microbatches: (40 + 3) x 3 s = 129 s, drawn in thirds of 43 s: a column is 43 / 88 s, so a second has
// 2 columns and a rest that fills no column. Each stage starts 1 s after the one before it and ends 2 s earlier.
TEST_CASE("excerpts show the pipeline fill and drain") {
  const Pipeline p = pipeline(4, 40);
  const auto rows = rows_of(timeline_text(p.program, p.timeline));
  REQUIRE(rows.size() == 12);
  for (std::size_t stage = 0; stage < 4; ++stage) {
    CHECK(rows[stage].find('F') == 2 * stage);
    const std::string& end = rows[8 + stage];
    CHECK(end.size() - 1 - end.rfind('B') == 4 * stage);
  }
}

TEST_CASE("chunks, optimizer, transfers and reductions can be told apart") {
  const Example e = example();
  const std::string text = timeline_text(e.simulation.program, e.simulation.timeline);
  for (const char letter : {'F', 'f', 'B', 'b', '.'}) {
    bool drawn = false;
    for (const std::string& row : rows_of(text)) drawn = drawn || row.find(letter) != std::string::npos;
    CAPTURE(letter);
    CHECK(drawn);
  }
  CHECK(text.find("O optimizer") != std::string::npos);
  CHECK(text.find("= reduction of gradients") != std::string::npos);
}

TEST_CASE("colours change nothing but the colour") {
  const Example e = example();
  const std::string plain = timeline_text(e.simulation.program, e.simulation.timeline);
  std::string coloured = timeline_text(e.simulation.program, e.simulation.timeline, {.colour = true});
  CHECK(plain.find('\x1b') == std::string::npos);
  CHECK(coloured.find('\x1b') != std::string::npos);
  for (auto at = coloured.find('\x1b'); at != std::string::npos; at = coloured.find('\x1b')) {
    coloured.erase(at, coloured.find('m', at) - at + 1);
  }
  CHECK(coloured == plain);
}
