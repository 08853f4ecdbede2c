#include "trace/trace_hdf5.hpp"

#include "base/error.hpp"
#include "support/example.hpp"
#include "support/scratch_folder.hpp"
#include "trace/hdf5_file.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <fstream>

using namespace mirfak;

TEST_CASE("a trace holds every task as it ran") {
  for (const LoweringOptions& options :
       {LoweringOptions{}, LoweringOptions{true, false}, LoweringOptions{false, true}}) {
    const Example e = example({}, options);
    const Simulation& s = e.simulation;
    const ScratchFolder folder;
    write_trace(folder / "trace.h5", e.scenario, s);
    CHECK(folder.files() == std::vector<std::string>{"trace.h5"});

    const Hdf5File file = Hdf5File::open(folder / "trace.h5");
    CHECK(file.read_text("/", "filetype") == "mirfak trace");
    CHECK(file.read_number("/", "schema_version") == 1);
    CHECK(file.read_text("/scenario") == e.scenario.resolved);
    CHECK(file.read_number("/summary", "iteration_time_s") == s.result.iteration_time_s);

    const auto start = file.read_column<double>("/tasks/start_s");
    const auto end = file.read_column<double>("/tasks/end_s");
    const auto rank = file.read_column<std::uint32_t>("/tasks/rank");
    const auto stream = file.read_column<std::uint8_t>("/tasks/stream");
    const auto name = file.read_column<std::uint32_t>("/tasks/name");
    const auto microbatch = file.read_column<std::int32_t>("/tasks/microbatch");
    const auto group = file.read_column<std::int32_t>("/tasks/group");
    const auto members = file.read_column<std::uint32_t>("/groups/group");
    const auto streams = file.read_texts("/names/stream");
    const auto names = file.read_texts("/names/task");
    REQUIRE(start.size() == s.program.size());
    for (TaskId task = 0; task < s.program.size(); ++task) {
      const Stream& on = s.program.streams[s.program.stream[task]];
      REQUIRE(start[task] == to_seconds(s.timeline.start[task]));
      REQUIRE(end[task] == to_seconds(s.timeline.end[task]));
      REQUIRE(rank[task] == s.program.ranks[on.rank].rank);
      REQUIRE(streams[stream[task]] == name_of(on.kind));
      REQUIRE(names[name[task]] == s.program.class_of(task).name);
      REQUIRE(microbatch[task] == s.program.microbatch[task]);
      REQUIRE(static_cast<GroupId>(group[task]) == s.program.group_of(task));
    }
    for (GroupId id = 0; id < s.program.groups.size(); ++id) {
      CHECK(std::count(members.begin(), members.end(), id) == std::ssize(s.program.groups[id].ranks));
    }
    CHECK(file.read_column<std::uint32_t>("/ranks/rank").size() == s.program.ranks.size());
    CHECK(file.read_column<double>("/stages/bubble_s").size() == s.plans.size());
  }
}

TEST_CASE("the same simulation gives the same bytes, and replaces an older file") {
  const Example e = example();
  const ScratchFolder folder;
  std::ofstream(folder / "one.h5") << "an older file";
  write_trace(folder / "one.h5", e.scenario, e.simulation);
  write_trace(folder / "two.h5", e.scenario, e.simulation);
  CHECK(read_text_file(folder / "one.h5") == read_text_file(folder / "two.h5"));
}

TEST_CASE("without price and tokens the summary lacks the figures that need them") {
  Example e = example({"training.tokens=null"});
  e.simulation.result.priced = false;
  const ScratchFolder folder;
  write_trace(folder / "trace.h5", e.scenario, e.simulation);
  const Hdf5File file = Hdf5File::open(folder / "trace.h5");
  CHECK_THROWS_AS(file.read_number("/summary", "cost_usd_per_iteration"), Error);
  CHECK_THROWS_AS(file.read_number("/summary", "training_time_s"), Error);
}

namespace {

// A limit: while it lives, writing a file beyond `bytes` fails as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace

TEST_CASE("a disk that fills up leaves no file, whenever it does") {
  const Example e = example();
  const ScratchFolder folder;
  std::ofstream(folder / "kept.h5") << "an older file";
  write_trace(folder / "whole.h5", e.scenario, e.simulation);
  const auto size = std::filesystem::file_size(folder / "whole.h5");
  std::filesystem::remove(folder / "whole.h5");
  for (const auto limit : {std::uintmax_t{0}, std::uintmax_t{1000}, size / 2, size - 100}) {
    CAPTURE(limit);
    const FileSizeLimit full(limit);
    try {
      write_trace(folder / "kept.h5", e.scenario, e.simulation);
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::internal);
    }
  }
  CHECK(folder.files() == std::vector<std::string>{"kept.h5"});
  CHECK(read_text_file(folder / "kept.h5") == "an older file");
  write_trace(folder / "after.h5", e.scenario, e.simulation);
  CHECK(Hdf5File::open(folder / "after.h5").read_text("/", "filetype") == "mirfak trace");
}

TEST_CASE("a missing folder is the user's error and leaves nothing") {
  const Example e = example();
  const ScratchFolder folder;
  try {
    write_trace(folder.path() / "absent" / "trace.h5", e.scenario, e.simulation);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
  }
  CHECK(folder.files().empty());
}

TEST_CASE("a folder that takes no files is an error") {
  const Example e = example();
  CHECK_THROWS_AS(write_trace("/proc/trace.h5", e.scenario, e.simulation), Error);
}
