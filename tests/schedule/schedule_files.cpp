// Schedules in the CSV format of torch.distributed.pipelining: read, written, and refused with the cell at fault.

#include "base/error.hpp"
#include "schedule/pass_timeline.hpp"
#include "schedule/schedule_file.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mirfak;

namespace {

const Schedule& read(const std::string& text) { return schedule_of(read_schedule_text(text, "s.csv")); }

// "2:5 message" of what is wrong.
std::string fault(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return std::to_string(error.where().line) + ":" + std::to_string(error.where().column) + " " + error.message();
  }
  return "none";
}

bool starts(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }

}  // namespace

TEST_CASE("what is written is read as the same passes at the same places") {
  for (const Schedule& schedule : schedules()) {
    const int chunks = schedule.chunks > 0 ? schedule.chunks : 2;
    const PipelineShape shape{4, chunks, 8, 4};
    const Schedule& again = read(schedule_csv(schedule, shape));
    CAPTURE(schedule.name);
    CHECK(again.chunks == chunks);
    CHECK(again.looped == schedule.looped);
    CHECK(again.splits == schedule.splits);
    CHECK(again.pairs == schedule.pairs);
    CHECK(schedule_csv(again, shape) == schedule_csv(schedule, shape));
    PassTimes times;
    times.others = {3, 4, 2, 8};
    const auto span = [&](const Schedule& of) {
      return run_passes(of.orders(shape, times), of.placement(shape), times).longest_span();
    };
    if (!schedule.needs_times) CHECK(span(again) == span(schedule));
  }
}

TEST_CASE("two stages as PyTorch writes them: communication and waiting are read over") {
  const Schedule& schedule = read(
      "# a comment\n"
      "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,,0RECV_B0,0I0,0W0,0RECV_B1,0B1,0REDUCE_GRAD,0WAIT_REDUCE_GRAD,0RESHARD\n"
      "1RECV_F0, 1F0 ,1B0,1SEND_B0,,1F1,1B1\r\n\n");
  const PipelineShape shape{2, 1, 2, 2};
  CHECK(schedule_csv(schedule, shape) == "0F0,0F1,0I0,0W0,0B1\n1F0,1B0,1F1,1B1\n");
  CHECK(schedule.splits);
  CHECK(schedule.looped);
  CHECK_FALSE(schedule.unfit(shape));
  CHECK(schedule.unfit({4, 1, 2, 4})->message == "s.csv has 2 rows, not 4");
  CHECK(schedule.unfit({2, 1, 3, 2})->size == Unfit::Size::microbatches);
}

TEST_CASE("a stage index in two rows is held twice, pairs are one cell") {
  const Schedule& schedule = read(
      "0F0,1F1,(0F2;1B1)OVERLAP_F_B,0B0,1F3,1B3,0B2\n"
      "0F1,1F0,1B0,0B1,0F3,1F2,1B2,0B3\n");
  const Placement placement = schedule.placement({2, 2, 4, 2});
  CHECK(placement.parts() == 2);
  CHECK(placement.holds_twice());
  CHECK(placement.place_of(0, 0) == Place{0, 0});
  CHECK(placement.place_of(0, 1) == Place{1, 0});
  CHECK(placement.copies_of({0, 1}) == std::vector<Place>{{1, 1}});
  CHECK(schedule.pairs);
}

TEST_CASE("faults are named with their row and cell") {
  CHECK(starts(fault(""), "1:1 no row"));
  CHECK(starts(fault("0F0,0X0\n"), "1:5 '0X0': there is no action 'X'"));
  CHECK(starts(fault("0F0,F1\n"), "1:5 'F1': expected a stage index"));
  CHECK(starts(fault("0F0,0B\n"), "1:5 '0B': expected a microbatch"));
  CHECK(starts(fault("0F0,0B0x\n"), "1:5 '0B0x': 'x' stands after"));
  CHECK(starts(fault("0F0,(0B0)OVERLAP_F_B\n"), "1:5 '(0B0)OVERLAP_F_B': expected a pair"));
  CHECK(starts(fault("0F0,0B0,0F0\n"), "1:9 0F0 stands here a second time"));
  CHECK(starts(fault("0B0,0F0\n"), "1:1 0B0 stands before its forward pass 0F0"));
  CHECK(starts(fault("0F0,0W0,0I0\n"), "1:5 0W0 stands before the backward pass of inputs"));
  CHECK(starts(fault("0F0,0I0,0B0\n"), "1:9 0B0 makes gradients of inputs that are there already"));
  CHECK(starts(fault("0F0,0I0\n"), "1:5 0W0 is missing"));
  CHECK(starts(fault("0F0,0F1,0B0\n"), "1:5 0B1 is missing"));
  CHECK(starts(fault("0F0,0F2,0B0,0B2\n"), "1:1 no row has 0F1"));
  CHECK(starts(fault("0F0,0B0\n2F0,2B0\n"), "1:1 no row has 1F0"));
  CHECK(starts(fault("0F0,0B0\n0F0,0B0\n"), "2:1 0F0 runs on stage 0 too"));
  CHECK(starts(fault("0F0,(0F1;0F2)OVERLAP_F_B,0B0,0B1,0B2\n"), "1:6 0F1 runs at the same time as something else"));
  // The first stage wants microbatch 1 back before it has handed on the second.
  CHECK(starts(fault("0F0,0B1,0F1,0B0\n1F0,1F1,1B0,1B1\n"), "1:5 0B1 stands before its forward pass"));
  CHECK(starts(fault("0F0,0F1,0B1,0B0\n1F0,1B0,1F1,1B1\n"), "none"));
  CHECK(starts(fault("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n"), "1:5 deadlock: 0B0 waits for 1B (or I) 0"));
  CHECK(starts(fault("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n1F1,1B1,1F0,1B0\n"), "1:10 deadlock: 0B0 waits for 1B (or I) 0"));
}

TEST_CASE("large numbers in a short file cost nothing") {
  CHECK(
      starts(fault("8880W0\n6W68888\n"), "1:1 no row has 0F0, a forward pass of one of 8881 stage indices and 68889"));
  CHECK(starts(fault("0F0,0B0,1000000F1000000\n"), "1:1 no row has 1F0, a forward pass of one of 1000001 stage"));
}
