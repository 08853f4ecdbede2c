#include "capture/capture_file.hpp"

#include "base/error.hpp"
#include "capture_texts.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

using namespace mirfak;
using namespace mirfak::test;

namespace {

const std::string kOperator =
    R"({"name":"aten::mm","overload":"default","arguments":[["self",1],["mat2",1]],"in":[["bfloat16",[4,8]],)"
    R"(["bfloat16",[8,2],[1,8]]],"out":[["bfloat16",[4,2]]],"settings":{"x":[1]},"read_bytes":96,"written_bytes":16})";
const std::string kReduction =
    R"({"kind":"all_reduce","ranks":[0],"dtype":"float32","via":"c10d","op":"SUM","in_bytes":64,"out_bytes":64})";
const std::string kEvents =
    R"([["host",2],["alloc",1,512,0],["op",0,1,2,0],["record",5,0],["await",5,3],["comm",0,0,3,3,7],["wait",7,0],)"
    R"(["use",1,3],["free",1],["block","synchronize"],["block","item"],["python",7]])";

class CaptureFolder : public ScratchFolder {
 public:
  std::string write(const std::string& text, const std::string& name = "a.capture") const {
    std::string path = (this->path() / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string refusal(const std::string& text) const {
    const std::string path = write(text);
    try {
      read_capture(path);
    } catch (const Error& error) {
      REQUIRE(error.kind() == ErrorKind::input);
      REQUIRE(error.where().file == path);
      return error.where().line > 0 ? std::to_string(error.where().line) + ": " + error.message() : error.message();
    }
    return "";
  }
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a capture is read field by field") {
  const CaptureFolder folder;
  const Capture capture = read_capture(folder.write(capture_text_of(kOperator, kReduction, {kEvents})));
  CHECK(capture.program == "p");
  CHECK(capture.device == "h100");
  CHECK(capture.world_size == 1);
  CHECK(capture.step == 2);
  REQUIRE(capture.operators.size() == 1);
  const CapturedOperator& op = capture.operators.front();
  CHECK(op.name == "aten::mm");
  CHECK(op.in[1].strides == std::vector<std::int64_t>{1, 8});
  CHECK(op.out[0].shape == std::vector<std::int64_t>{4, 2});
  CHECK(op.settings.at("x") == "[1]");
  CHECK(op.read_bytes == 96);
  REQUIRE(capture.communication.size() == 1);
  CHECK(capture.communication.front().operation == "SUM");
  CHECK(capture.modules == std::vector<std::string>{"", "model.layers.0"});
  REQUIRE(capture.ranks.size() == 1);
  const CapturedRank& rank = capture.ranks.front();
  CHECK(rank.line == 5);
  CHECK(rank.peak_reserved_bytes == 2097152);
  REQUIRE(rank.events.size() == 9);  // without those of memory
  CHECK(rank.events[1].kind == CaptureEventKind::launch);
  CHECK(rank.events[1].position == 2);
  CHECK(rank.events[1].phase == CapturePhase::backward);
  CHECK(rank.events[4].id == 7);
  CHECK(rank.events[4].stream == 3);
  CHECK(rank.events[6].whole_device);
  CHECK_FALSE(rank.events[7].whole_device);
  CHECK(rank.events[8].kind == CaptureEventKind::python);
  CHECK(rank.events[8].id == 7);
  CHECK(rank.python_lines == 0);
}

TEST_CASE("a rank that did as another did in groups of its own has the events of that rank") {
  std::string text = capture_text_of(kOperator, kReduction, {kEvents, kEvents});
  text.erase(text.find("{\"rank\":1"));
  text = replaced(text, "\"world_size\":2", "\"world_size\":2,\"groups\":[[[0],[1]]],\"proved_on\":[1]");
  const Capture capture = read_capture_text(with_end(text + "{\"rank\":1,\"like\":0}\n"), "a.capture");
  REQUIRE(capture.ranks.size() == 2);
  CHECK(capture.ranks[1].same_as == 0);
  CHECK(capture.ranks[1].events.empty());
  CHECK(capture.unknown_fields.empty());
}

TEST_CASE("a CUDA graph has as many events as it says, of those that a graph can have") {
  const CaptureFolder folder;
  const auto refused = [&](const std::string& events) {
    return folder.refusal(capture_text_of(kOperator, kReduction, {events}));
  };
  CHECK(refused(R"([["graph",2],["op",0,0,0,0],["record",1,0],["block","item"]])").empty());
  CHECK(
      has(refused(R"([["graph",2],["op",0,0,0,0],["block","item"]])"), "5: rank.events[2]: expected an event of the"));
  CHECK(has(refused(R"([["graph",2],["op",0,0,0,0],["free",1]])"), "5: rank.events[2]: expected an event of the"));
  CHECK(has(refused(R"([["graph",1],["graph",1],["op",0,0,0,0]])"), "5: rank.events[1]: expected an event of the"));
  CHECK(has(refused(R"([["graph",2],["op",0,0,0,0]])"), "5: rank.events: expected 1 more events of the CUDA graph"));
}

TEST_CASE("memory that CUDA graphs keep counts where it is said") {
  const std::string text = capture_text_of(kOperator, kReduction, {kEvents});
  CHECK(read_capture_text(text, "a.capture").ranks.front().graph_bytes == 0);
  std::string kept =
      replaced(text, "\"peak_reserved_bytes\":2097152", "\"peak_reserved_bytes\":2097152,\"graph_bytes\":7");
  kept.erase(kept.rfind("{\"lines\""));
  CHECK(read_capture_text(with_end(kept), "a.capture").ranks.front().graph_bytes == 7);
}

TEST_CASE("a block has no step, and unknown fields are told") {
  std::string text =
      replaced(capture_text_of(kOperator, kReduction, {kEvents}), "\"step\":2", "\"step\":null,\"new\":[1]");
  text.erase(text.rfind("{\"lines\""));
  const Capture capture = read_capture_text(with_end(text), "a.capture");
  CHECK(capture.step == -1);
  CHECK(capture.unknown_fields == std::vector<std::string>{"new"});
}

TEST_CASE("a capture is known by its beginning, whatever its name") {
  const CaptureFolder folder;
  CHECK(is_capture(source_root() + "/tests/capture/programs/ddp.capture"));
  CHECK(is_capture(folder.write(capture_text_of(kOperator, kReduction, {kEvents}), "job.yaml")));
  CHECK_FALSE(is_capture(folder.write("model: llama2-70b\n")));
  CHECK_FALSE(is_capture(folder.write("")));
  CHECK_FALSE(is_capture(folder.path()));
  CHECK_FALSE(is_capture(folder.path() / "absent"));
}

TEST_CASE("a file that is cut off, edited or of another version is refused") {
  const CaptureFolder folder;
  const std::string text = capture_text_of(kOperator, kReduction, {kEvents});
  CHECK(has(folder.refusal(replaced(text, "SUM", "AVG")), "6: the file was edited"));
  CHECK(has(folder.refusal(text.substr(0, text.rfind("{\"lines\""))), "5: the file is cut off"));
  CHECK(has(folder.refusal(text.substr(0, text.find('\n') + 1)), "1: the file is cut off"));
  CHECK(has(folder.refusal(replaced(text, "capture\":1", "capture\":9")), "1: this is a capture of version 9"));
  CHECK(has(folder.refusal("model: llama2-70b\n"), "1: expected a capture"));
  CHECK(has(folder.refusal(""), "the file is cut off"));
  // A compressed file that ends within its data.
  std::ifstream packed(source_root() + "/tests/capture/programs/ddp.capture", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(packed), {}};
  CHECK(has(folder.refusal(bytes.substr(0, bytes.size() / 2)), "cut off"));
  CHECK(is_capture(folder.write(bytes.substr(0, bytes.size() / 2))));
}

TEST_CASE("a wrong field is refused with its line and its path") {
  const CaptureFolder folder;
  const auto refused = [&](const std::string& from, const std::string& to) {
    const std::string text = capture_text_of(kOperator, kReduction, {kEvents});
    std::string changed = replaced(text, from, to);
    changed.erase(changed.rfind("{\"lines\""));
    return folder.refusal(with_end(changed));
  };
  CHECK(has(refused("\"program\":\"p\"", "\"program\":3"), "1: header.program: expected text, found 3"));
  CHECK(has(refused("\"step\":2,", ""), "1: header: it has no field 'step'"));
  CHECK(has(refused("\"world_size\":1", "\"world_size\":0"), "1: header.world_size: expected a number from 1"));
  CHECK(has(refused("[8,2],[1,8]", "[8,2],[1]"), "2: operators.entries[0].in[1][2]: expected as many as dimensions"));
  CHECK(has(refused("[4,8]", "[4,-8]"), "2: operators.entries[0].in[0][1][1]: expected a number from 0"));
  CHECK(has(refused("[\"self\",1]", "[\"self\",2]"), "2: operators.entries[0].arguments: expected names of the 2"));
  CHECK(has(refused("\"read_bytes\":96", "\"read_bytes\":-1"), "2: operators.entries[0].read_bytes"));
  CHECK(has(refused("\"ranks\":[0]", "\"ranks\":[1]"),
            "3: collectives.entries[0].ranks[0]: expected a number from 0 to 0"));
  CHECK(
      has(refused("\"ranks\":[0]", "\"ranks\":[]"), "3: collectives.entries[0].ranks: expected the ranks of a group"));
  CHECK(has(refused("model.layers.0\"", "a\",7"), "4: modules.entries[2]: expected text"));
  CHECK(has(refused("\"events\":[", "\"events\":[[\"op\",1,0,0,0],"),
            "5: rank.events[0][1]: expected a number from 0 to 0"));
  CHECK(has(refused("\"events\":[", "\"events\":[[\"op\",0,2,0,0],"), "5: rank.events[0][2]"));
  CHECK(has(refused("\"events\":[", "\"events\":[[\"op\",0,0,4,0],"),
            "5: rank.events[0][3]: expected a number from 0 to 3"));
  CHECK(has(refused("\"events\":[", "\"events\":[[\"op\",0,0,0],"), "5: rank.events[0]: expected a list of 5"));
  CHECK(has(refused("\"events\":[", "\"events\":[[\"sleep\",0],"),
            "5: rank.events[0]: expected an event that this version"));
  CHECK(has(refused("\"before\":[]", "\"before\":[[\"free\"]]"), "5: rank.before[0]"));
  CHECK(has(refused("\"rank\":0,", "\"rank\":1,"), "5: rank.rank: expected a number from 0 to 0"));
  CHECK(has(refused("\"state\":", "\"same_as\":0,\"state\":"), "5: rank 0 is said to do what rank 0 does"));
  CHECK(has(refused("{\"table\":\"modules\"", "{\"table\":\"parts\""), "4: modules.table: expected modules"));
  CHECK(has(refused("\"rank\":0", "\"rank\":00"), "5: expected an object of JSON"));
}
