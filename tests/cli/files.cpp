// Files are safe: no output replaces an input or another output, by whatever path; what cannot be written shows before
// the work; what fails leaves neither half a file nor less than was there. One table of all commands' files: a
// file option that is missing in it fails the last case.

#include "program.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

namespace files_test {

using namespace mirfak::test;
namespace fs = std::filesystem;

namespace {

struct Writer {
  std::vector<std::string> words;    // the command and its other arguments
  std::vector<std::string> inputs;   // options with the names of files, "" for arguments
  std::vector<std::string> outputs;  // options
};

// Inputs are read in no case here: they may hold anything.
const std::vector<Writer> kWriters = {
    {{"simulate"},
     {" s.yaml", "--cluster c.txt", "--emit-into e.sh"},
     {"--trace", "--timeline", "--links", "--memory-snapshot", "--power", "--report", "--out"}},
    {{"train"}, {" s.yaml", "--cluster c.txt"}, {"--trace", "--power", "--report"}},
    {{"compare"}, {" options.yaml"}, {"--report"}},
    {{"search"}, {" s.yaml", "--cluster c.txt", "--emit-into e.sh"}, {"--out", "--report"}},
    {{"import"}, {" launch.sh", "--cluster c.txt", "--with s.yaml"}, {"--out", "--runs"}},
    {{"frontier", "--stages", "2", "--microbatches", "4"},
     {"--profile p.csv", "--schedule order.csv", "--cluster c.txt"},
     {"--plan", "--out", "--report"}},
    {{"schedule"}, {" order.csv"}, {"--out"}},
    {{"sweep"}, {" sweep.yaml", "--cluster c.txt"}, {"--out", "--report"}},
    {{"sweep"}, {" 1.h5", " 2.h5"}, {"--merge", "--report"}},
    {{"validate"},
     {" runs.csv", "--map runs.map.yaml", "--first-contact first.csv", "--with s.yaml", "--cluster c.txt"},
     {"--out", "--report", "--ranges"}},
    {{"validate"}, {" a.h5", " b.h5"}, {"--out"}},
    {{"replay"}, {" t.csv", "--dependencies d.csv", "--groups g.csv", "--ideal i.csv"}, {"--timeline"}},
    {{"calibrate", "--gpu", "h100"}, {" t.csv", " u.csv"}, {"--out"}},
    {{"calibrate"}, {"--runs runs.csv", "--map runs.map.yaml"}, {"--out"}},
    {{"calibrate"}, {"--trace t.json", "--scenario s.yaml"}, {"--out", "--framework"}},
};
// A writer whose --out is a folder for files of other names.
const Writer kMachine = {{"calibrate", "--name", "here"}, {" t.csv", "--machine m.csv"}, {}};

std::string option_of(const std::string& input) { return input.substr(0, input.find(' ')); }
std::string file_of(const std::string& input) { return input.substr(input.find(' ') + 1); }

std::vector<std::string> words_of(const Writer& writer) {
  std::vector<std::string> out = writer.words;
  for (const std::string& input : writer.inputs) {
    if (!option_of(input).empty()) out.push_back(option_of(input));
    out.push_back(file_of(input));
  }
  return out;
}

Finished run_with(const ScratchFolder& folder, const Writer& writer, const std::vector<std::string>& more) {
  std::vector<std::string> words = words_of(writer);
  words.insert(words.end(), more.begin(), more.end());
  return run({words, folder.path()});
}

const std::string kContent = "not to be lost";

void write_inputs(const ScratchFolder& folder, const Writer& writer) {
  for (const std::string& input : writer.inputs) folder.write(file_of(input), kContent);
}

void check_refused(const Finished& finished, const std::string& message) {
  CHECK(finished.status == 2);
  CHECK(finished.out.empty());
  CHECK_MESSAGE(finished.err.find(message) != std::string::npos, finished.err);
}

// The same file by other names; what is made for them lies in `folder`.
std::vector<std::string> names_of(const ScratchFolder& folder, const std::string& file) {
  fs::create_directory(folder.path() / "sub");
  fs::create_symlink(file, folder.path() / "symbolic");
  fs::create_hard_link(folder.path() / file, folder.path() / "hard");
  fs::create_directory_symlink(".", folder.path() / "here");
  return {file, "./" + file, "sub/../" + file, "here/" + file, "symbolic", "hard", (folder.path() / file).string()};
}

void for_each_output(const std::function<void(const Writer&, const std::string&)>& each) {
  for (const Writer& writer : kWriters) {
    for (const std::string& output : writer.outputs) {
      CAPTURE(writer.words);
      CAPTURE(output);
      each(writer, output);
    }
  }
}

constexpr const char* kScenario =
    "model: gpt3-1.3b\n"
    "cluster: {nodes: [{type: dgx-a100-80g, count: 1}]}\n"
    "training: {global_batch: 64}\n"
    "strategy: {tensor: 2, pipeline: 4}\n";

bool is_file_name(const std::string& value) {
  return value.find('.') != std::string::npos || value.ends_with("FILE") || value == "FOLDER";
}

}  // namespace

TEST_CASE("an output that is an input is refused before anything is read") {
  for_each_output([](const Writer& writer, const std::string& output) {
    for (const std::string& input : writer.inputs) {
      const ScratchFolder folder;
      write_inputs(folder, writer);
      const std::vector<std::string> names = names_of(folder, file_of(input));
      const std::vector<std::string> before = folder.names();
      for (const std::string& name : names) {
        CAPTURE(name);
        check_refused(run_with(folder, writer, {output, name}), "would replace this file, and it is an input");
        CHECK(read_text(folder.path() / file_of(input)) == kContent);
      }
      CHECK(folder.names() == before);
    }
  });
}

TEST_CASE("two outputs are two files") {
  for (const Writer& writer : kWriters) {
    for (const std::string& one : writer.outputs) {
      for (const std::string& other : writer.outputs) {
        if (one == other) continue;
        CAPTURE(writer.words);
        const ScratchFolder folder;
        write_inputs(folder, writer);
        fs::create_symlink("./x", folder.path() / "dangling");
        for (const char* name : {"x", "./x", "dangling"}) {
          check_refused(run_with(folder, writer, {one, "x", other, name}), "this is the file of both");
        }
        CHECK_FALSE(fs::exists(folder.path() / "x"));
      }
    }
  }
}

TEST_CASE("files that follow from an option are outputs and inputs too") {
  const auto refused = [](const Writer& writer, const std::string& file, const std::vector<std::string>& options) {
    CAPTURE(file);
    const ScratchFolder folder;
    write_inputs(folder, writer);
    folder.write(file, kContent);
    check_refused(run_with(folder, writer, options), "would replace this file");
    CHECK(read_text(folder.path() / file) == kContent);
  };
  refused({{"sweep"}, {" r.h5.part"}, {}}, "r.h5.part", {"--out", "r.h5"});
  refused({{"validate"}, {" runs.svg"}, {}}, "runs.svg", {"--report", "runs.md"});
  refused({{"validate"}, {" runs.csv"}, {}}, "findings.yaml", {"--report", "findings.yaml"});
  for (const char* name : {"here.yaml", "here-core.yaml", "here-link.yaml"}) {
    refused({kMachine.words, {std::string(" ") + name, "--machine m.csv"}, {}}, name, {"--out", "."});
  }
}

TEST_CASE("files of --emit-dir replace no input, and all of them are written or none") {
  const ScratchFolder folder;
  folder.write("s.yaml", kScenario);
  folder.write("arguments.txt", kScenario);
  check_refused(run({{"simulate", "arguments.txt", "--emit", "megatron", "--emit-dir", "."}, folder.path()}),
                "would replace this file, and it is an input");
  const Finished missing = run({{"simulate", "s.yaml", "--emit", "megatron", "--emit-dir", "nowhere"}, folder.path()});
  CHECK(missing.status == 2);
  fs::create_directory(folder.path() / "out");
  fs::create_directory(folder.path() / "out" / "ds_config.json");
  const std::vector<std::string> set = {"--set", "training.framework=megatron-deepspeed", "--set",
                                        "training.gradient_precision=bf16"};
  std::vector<std::string> words = {"simulate", "s.yaml", "--emit", "deepspeed", "--emit-dir", "out"};
  words.insert(words.end(), set.begin(), set.end());
  CHECK(run({words, folder.path()}).status == 2);
  CHECK_FALSE(fs::exists(folder.path() / "out" / "arguments.txt"));
  fs::remove(folder.path() / "out" / "ds_config.json");
  const Finished written = run({words, folder.path()});
  CHECK_MESSAGE(written.status == 0, written.err);
  CHECK(written.out == "out/arguments.txt\nout/ds_config.json\n");
  CHECK(read_text(folder.path() / "out" / "ds_config.json").starts_with("{"));
}

TEST_CASE("a file that only a scenario names is no output either") {
  const ScratchFolder folder;
  const std::string model = read_text(fs::path(mirfak::source_root()) / "models" / "gpt3-1.3b.yaml");
  folder.write("own.model", model);
  folder.write("s.yaml",
               std::string(kScenario).replace(0, std::string("model: gpt3-1.3b").size(), "model: ./own.model"));
  for (const char* option : {"--trace", "--timeline", "--links", "--memory-snapshot"}) {
    check_refused(run({{"simulate", "s.yaml", option, "sub/../own.model"}, folder.path()}), "cannot be written");
    check_refused(
        run({{"simulate", "s.yaml", option, "own.model", "--set", "cluster.nodes[0].count=2"}, folder.path()}),
        "was read as an input");
    CHECK(read_text(folder.path() / "own.model") == model);
  }
  CHECK(folder.names() == std::vector<std::string>{"own.model", "s.yaml"});
}

TEST_CASE("what cannot be written shows before anything is read, with one status and the reason") {
  for_each_output([](const Writer& writer, const std::string& output) {
    const ScratchFolder folder;
    write_inputs(folder, writer);
    const std::vector<std::string> before = folder.names();
    check_refused(run_with(folder, writer, {output, "none/x"}), "cannot be written: there is no folder 'none'");
    check_refused(run_with(folder, writer, {output, "."}), "it is a folder");
    check_refused(run_with(folder, writer, {output, "/dev/full"}), "it is not a regular file");
    if (fs::exists("/sys/kernel")) {  // nobody may make files there
      const Finished finished = run_with(folder, writer, {output, "/sys/kernel/x"});
      CHECK(finished.status == 2);
      const bool named = finished.err.find("no permission to write in the folder '/sys/kernel'") != std::string::npos ||
                         finished.err.find("'/sys/kernel' is on a read-only file system") != std::string::npos;
      CHECK_MESSAGE(named, finished.err);
    }
    if (::geteuid() != 0) {
      fs::create_directory(folder.path() / "closed");
      fs::permissions(folder.path() / "closed", fs::perms::owner_read | fs::perms::owner_exec);
      check_refused(run_with(folder, writer, {output, "closed/x"}), "no permission to write in the folder 'closed'");
      fs::remove(folder.path() / "closed");
    }
    CHECK(folder.names() == before);
  });
}

// A limit of the size of files acts as a full disk does: a write begins and fails.
TEST_CASE("a write that fails on the way leaves what was there, and no half file") {
  const ScratchFolder folder;
  folder.write("s.yaml", kScenario);
  folder.write("old", kContent);
  const std::vector<std::string> before = folder.names();
  const auto limited = [&](int blocks, const std::string& command) {
    CAPTURE(command);
    const Finished finished = run_shell(fmt::format("trap '' XFSZ; ulimit -f {}; {}", blocks, command), folder.path());
    CHECK(finished.status == 1);
    CHECK(finished.out.empty());
    CHECK_MESSAGE(finished.err.find("old: cannot be written: it grows beyond the limit on the size of files") !=
                      std::string::npos,
                  finished.err);
    CHECK(read_text(folder.path() / "old") == kContent);
    CHECK(folder.names() == before);
  };
  // Blocks of 512 bytes: the first are too few for the trial before the work, the second for the file.
  for (const int blocks : {4, 10}) {
    limited(blocks, "mirfak simulate s.yaml --trace old");
    limited(blocks, "mirfak simulate s.yaml --timeline old --unfolded");
    limited(blocks, "mirfak schedule 1f1b --stages 64 --microbatches 64 --out old");
    limited(blocks, "mirfak frontier s.yaml --report old");
  }
}

TEST_CASE("every option that names a file is in the table above") {
  std::set<std::string> known = {"sweep --resume"};
  for (const Writer& writer : kWriters) {
    for (const std::string& output : writer.outputs) known.insert(writer.words.front() + " " + output);
    for (const std::string& input : writer.inputs) known.insert(writer.words.front() + " " + option_of(input));
  }
  known.insert("calibrate --machine");
  for (const char* command : {"simulate", "search"}) known.insert(std::string(command) + " --emit-dir");  // below
  known.insert("compare --out");   // tests/cli/compare.cpp
  known.insert("diff --cluster");  // diff writes no file
  known.insert("init --out");      // made from a template: it reads no file of the user's
  known.insert("shard --svg");     // needs Graphviz
  known.insert("topology --svg");
  const std::string all = run({"--help"}).out;
  const std::regex command_line("\n  ([a-z]+) +");
  const std::regex option_line("\n +(--[a-z-]+) ([^ \n]+)");
  int options = 0;
  for (std::sregex_iterator command(all.begin(), all.end(), command_line), end; command != end; ++command) {
    const std::string help = run({(*command)[1].str(), "--help"}).out;
    for (std::sregex_iterator option(help.begin(), help.end(), option_line); option != end; ++option) {
      const std::string name = (*option)[1].str();
      if (!is_file_name((*option)[2].str()) || name == "--data") continue;
      ++options;
      CHECK_MESSAGE(known.contains((*command)[1].str() + " " + name), (*command)[1].str(), " ", name);
    }
  }
  CHECK(options >= 14);
}

}  // namespace files_test
