// The law of --emit-into: once a script is changed, bash starts the program with the promised options, with all other
// options as before, and mirfak import reads the promised strategy. Bash runs the scripts of patched/ with programs in
// place of torchrun, python and srun that print their arguments.

#include "import/emit_into.hpp"
#include "base/error.hpp"
#include "base/key_path.hpp"
#include "import/imported_job.hpp"
#include "import/script_text.hpp"
#include "launch/launch_program.hpp"
#include "launch/launch_targets.hpp"
#include "launch_files.hpp"
#include "round_trip.hpp"
#include "scenario/scenario.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace mirfak::emit_into_test {

namespace {

namespace fs = std::filesystem;

// Options with the words after them; of an option that is stated twice the last counts.
using Options = std::map<std::string, std::vector<std::string>>;

const fs::path& hardware() {
  static const fs::path path = fs::path(source_root()) / "hw_profiles";
  return path;
}

bool has_bash() { return std::system("bash -c 'exit 0' >/dev/null 2>&1") == 0; }

void write_program(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
  fs::permissions(path, fs::perms::owner_all);
}

// A folder with the scripts, and with programs that print their arguments.
struct Workplace {
  ScratchFolder folder;

  Workplace() {
    fs::create_directory(folder / "bin");
    const std::string prints = "#!/bin/bash\nprintf '%s\\n' \"$0\" \"$@\" >>\"$PRINTED\"\n";
    write_program(folder / "bin/torchrun", prints);
    write_program(folder / "bin/python", prints);
    write_program(folder / "bin/srun", "#!/bin/bash\nwhile [[ $1 == -* ]]; do shift; done\nexec \"$@\"\n");
    for (const auto& entry : fs::directory_iterator(fs::path(source_root()) / "tests/import/patched")) {
      fs::copy_file(entry.path(), folder.path() / entry.path().filename());
    }
  }

  // Returns the options with which bash starts the program of a script.
  Options printed(const std::string& script) const {
    const fs::path out = folder / "printed";
    fs::remove(out);
    const std::string command =
        fmt::format("cd '{}' && env -i PATH=\"{}:$PATH\" PRINTED='{}' timeout 60 bash ./{} >/dev/null 2>errors",
                    folder.path().string(), (folder / "bin").string(), out.string(), script);
    const int status = std::system(command.c_str());
    REQUIRE_MESSAGE(status == 0, script, read_text_file(folder / "errors"));
    std::ifstream in(out);
    Options options;
    std::string last;
    bool inside = false;
    for (std::string word; std::getline(in, word);) {
      if (inside && word.starts_with("--")) {
        const std::size_t equals = word.find('=');
        last = word.substr(2, equals - 2);
        std::replace(last.begin(), last.end(), '_', '-');
        if (last == "model-parallel-size") last = "tensor-model-parallel-size";  // its older name
        options[last] = {};
        if (equals != std::string::npos) options[last].push_back(word.substr(equals + 1));
      } else if (inside) {
        options[last].push_back(word);
      }
      inside = inside || word.ends_with(".py");
    }
    REQUIRE(!options.empty());
    return options;
  }

  ImportFile file(const std::string& name) const { return import_file(folder.path() / name); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder.path() / name) << text; }
};

std::vector<std::string> script_names() {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(fs::path(source_root()) / "tests/import/patched")) {
    if (entry.path().extension() == ".sh") out.push_back(entry.path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Returns the job of a script on 32 GPUs with other values of some keys; nullopt: it cannot run.
std::optional<Job> job_of(const ImportFile& file, const std::vector<std::string>& overrides) {
  ImportRequest request;
  request.nodes = {node_choice("hgx-h100:4")};
  const ImportedJob read = import_job(std::vector{file}, request, ImportContext{import_sources()});
  REQUIRE_MESSAGE(read.draft.obstacles().empty(), file.name);
  Document document = read.scenario;
  for (const std::string& assignment : overrides) document.override_value(assignment);
  try {
    return parse_scenario(document, import_sources()).job;
  } catch (const Error& error) {
    REQUIRE(error.kind() != ErrorKind::internal);
    return std::nullopt;
  }
}

std::optional<Options> written(const Job& job) {
  Options out;
  try {
    const LaunchProgram program = megatron_program(job, hardware());
    for (const LaunchOption& option : program.options.all()) out[option.name.substr(2)] = option.words;
  } catch (const Error& error) {
    REQUIRE(error.kind() == ErrorKind::infeasible);
    return std::nullopt;
  }
  return out;
}

std::vector<std::string> drawn_overrides(std::mt19937& random) {
  std::vector<std::string> out;
  const auto sometimes = [&](const char* key, std::initializer_list<const char*> values) {
    if (random() % 2 == 0) out.push_back(fmt::format("strategy.{}={}", key, drawn(random, values)));
  };
  sometimes("tensor", {"1", "2", "4", "8"});
  sometimes("pipeline", {"1", "2", "4"});
  sometimes("micro_batch", {"1", "2", "4"});
  sometimes("sequence_parallel", {"true", "false"});
  sometimes("virtual_pipeline", {"1", "2", "4"});
  sometimes("recompute", {"none", "full", "selective"});
  sometimes("zero", {"0", "1"});
  sometimes("overlap_grad_reduce", {"true", "false"});
  if (random() % 4 == 0) out.push_back(fmt::format("training.global_batch={}", drawn(random, {64, 128, 256, 512})));
  return out;
}

std::vector<std::string> words_under(const Options& options, const std::string& name, bool& stated) {
  const auto found = options.find(name);
  stated = found != options.end();
  return stated ? found->second : std::vector<std::string>{};
}

struct Tally {
  int changed = 0;
  int refused = 0;
};

// Changes a script for a job, and compares what bash and mirfak import make of the new script.
void check_change(const Workplace& place, const std::string& script, const Job& before, const Job& job, Tally& tally) {
  const std::optional<Options> old = written(before);
  const std::optional<Options> fresh = written(job);
  REQUIRE(old);
  if (!fresh) return;
  EmittedInto changed;
  try {
    changed = emit_into(job, std::vector{place.file(script)}, ImportContext{import_sources()});
  } catch (const Error& error) {
    CAPTURE(error.message());
    CHECK(error.kind() != ErrorKind::internal);
    CHECK(error.where().line > 0);
    CHECK(!error.hint().empty());
    ++tally.refused;
    return;
  }
  ++tally.changed;
  CAPTURE(changed.text);
  const std::string fresh_name = "new-" + script;
  place.write(fresh_name, changed.text);
  const Options were = place.printed(script);
  const Options are = place.printed(fresh_name);
  std::set<std::string> names;
  for (const Options* options : {&were, &are, &*old, &*fresh}) {
    for (const auto& option : *options) names.insert(option.first);
  }
  for (const std::string& name : names) {
    CAPTURE(name);
    bool promised = false;
    bool now = false;
    bool then = false;
    bool planned = false;
    const std::vector<std::string> was = words_under(were, name, then);
    const std::vector<std::string> is = words_under(are, name, now);
    const std::vector<std::string> shall = words_under(*fresh, name, promised);
    const std::vector<std::string> had = words_under(*old, name, planned);
    const bool kept = then == now && was == is;
    const bool as_promised = promised == now && shall == is;
    CHECK((kept || as_promised));
    if (then && (promised != planned || shall != had)) CHECK(as_promised);  // stated, and to be changed
  }
  const std::optional<Job> after = job_of(place.file(fresh_name), {});
  REQUIRE(after);
  Job expected = job;
  if (job.strategy.tensor == 1)
    expected.strategy.sequence_parallel = after->strategy.sequence_parallel;  // means nothing
  check_same_strategy(expected, *after);
}

// Changes a file of this text for a job with other values of some keys.
EmittedInto changed(const std::string& name, const std::string& text, const std::vector<std::string>& overrides,
                    const ImportContext& context = {import_sources()}) {
  const ImportFile file{name, text};
  const std::optional<Job> job = job_of(file, overrides);
  REQUIRE(job);
  return emit_into(*job, std::vector{file}, context);
}

std::string text_of(const char* script) {
  return read_text_file(fs::path(source_root()) / "tests/import/patched" / script);
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a value is changed where the script writes it, and nothing else is") {
  const std::string text = text_of("defaults.sh");
  const EmittedInto out = changed("defaults.sh", text, {"strategy.tensor=2", "strategy.micro_batch=4"});
  std::string expected = text;
  expected.replace(expected.find("TP=${TP:-4}"), 11, "TP=${TP:-2}");
  expected.replace(expected.find("MBS:=2"), 6, "MBS:=4");
  CHECK(out.text == expected);
  CHECK(out.edits ==
        std::vector<std::string>{"defaults.sh:2: --tensor-model-parallel-size 2 was --tensor-model-parallel-size 4",
                                 "defaults.sh:4: --micro-batch-size 4 was --micro-batch-size 2"});
}

TEST_CASE("a variable that decides more than what changes stays, and the option is written out") {
  const EmittedInto out = changed("shared-variable.sh", text_of("shared-variable.sh"), {"strategy.tensor=4"});
  CHECK(contains(out.text, "SIZE=2 "));
  CHECK(contains(out.text,
                 "--tensor-model-parallel-size 4 --pipeline-model-parallel-size ${SIZE} --micro-batch-size $SIZE"));
  REQUIRE(!out.edits.empty());
  CHECK(contains(out.edits.front(), "written out, as the old value also decides --"));
}

TEST_CASE("a value that is computed, or that another file states, is written out at the command") {
  CHECK(contains(changed("arithmetic.sh", text_of("arithmetic.sh"), {"strategy.tensor=4"}).text,
                 "--tensor-model-parallel-size 4 --pipeline-model-parallel-size $(( PP ))"));
  const Workplace place;
  const ImportFile sourced = place.file("sourced-array.sh");
  const std::optional<Job> job = job_of(sourced, {"strategy.tensor=4"});
  REQUIRE(job);
  const EmittedInto out = emit_into(*job, std::vector{sourced}, ImportContext{import_sources()});
  CHECK(contains(out.text, "--lr 1e-4 --train-iters 5 --tensor-model-parallel-size 4"));
}

TEST_CASE("flags and their comments go, and lines of a command and of an array keep their form") {
  const EmittedInto array =
      changed("arrays.sh", text_of("arrays.sh"), {"strategy.sequence_parallel=false", "strategy.recompute=full"});
  CHECK(!contains(array.text, "sequence-parallel"));
  CHECK(contains(array.text, "\t--tensor-model-parallel-size 2\n\t--pipeline-model-parallel-size 1\n"));
  CHECK(contains(array.text, " --recompute-granularity full"));
  const EmittedInto command =
      changed("plain.sh", text_of("plain.sh"), {"strategy.zero=0", "strategy.sequence_parallel=true"});
  CHECK(command.text.ends_with("    --bf16\n"));
  CHECK(contains(command.text, "    --tensor-model-parallel-size 2 \\\n    --sequence-parallel \\\n"));
  const EmittedInto string = changed("strings.sh", text_of("strings.sh"), {"strategy.sequence_parallel=false"});
  CHECK(contains(string.text, "    --use-distributed-optimizer\"\n"));
}

TEST_CASE("an option that has to go and stands in another file is refused at its place") {
  const Workplace place;
  place.write("sourced-arguments.env",
              read_text_file(place.folder / "sourced-arguments.env") + "ARGUMENTS+=(--sequence-parallel)\n");
  const ImportFile script = place.file("sourced-array.sh");
  const std::optional<Job> job = job_of(script, {"strategy.sequence_parallel=false"});
  REQUIRE(job);
  try {
    emit_into(*job, std::vector{script}, ImportContext{import_sources()});
    FAIL("not refused");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(error.where().file.ends_with("sourced-arguments.env"));
    CHECK(error.where().line == 9);
    CHECK(contains(error.message(), "--sequence-parallel shall go: "));
  }
}

TEST_CASE("values of the environment and of parameters are written out") {
  ImportContext context{import_sources()};
  context.environment["TP"] = "8";
  const EmittedInto out = changed("defaults.sh", text_of("defaults.sh"), {"strategy.tensor=2"}, context);
  CHECK(contains(out.text, "TP=${TP:-4}"));
  CHECK(contains(out.text, "--tensor-model-parallel-size 2 --pipeline"));
}

TEST_CASE("lists of arguments, torchtitan's commands and overrides of Megatron-Bridge are changed too") {
  const std::string list =
      "--num-layers 16\n--hidden-size 2048\n--num-attention-heads 16\n--seq-length 2048\n--max-position-embeddings "
      "2048\n"
      "--tokenizer-type NullTokenizer\n--vocab-size 50304\n--micro-batch-size 1  # small\n--global-batch-size "
      "128\n--bf16\n";
  CHECK(contains(changed("arguments.txt", list, {"strategy.micro_batch=2"}).text, "--micro-batch-size 2  # small\n"));
  CHECK(contains(changed("arguments.txt", list, {"strategy.tensor=4"}).text, "--tensor-model-parallel-size 4\n"));

  const std::string titan =
      "#!/bin/bash\nTP=2\ntorchrun --nproc_per_node 8 --nnodes 4 -m torchtitan.train --module llama3 --config "
      "llama3_8b \\\n"
      "  --training.local_batch_size 2 --parallelism.tensor_parallel_degree $TP --compile.enable --training.steps 10\n";
  const EmittedInto out =
      changed("titan.sh", titan, {"strategy.tensor=4", "strategy.data=8", "strategy.micro_batch=1"});
  CHECK(contains(out.text, "\nTP=4\n"));
  CHECK(contains(out.text, "--training.local_batch_size 1 "));
  CHECK(contains(out.text, "--training.steps 10\n"));
}

TEST_CASE("files whose options are not changed in place are refused with what to do") {
  const auto refusal = [](const std::string& name, const std::string& text) {
    try {
      target_of_files(std::vector{ImportFile{name, text}}, ImportContext{import_sources()});
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      CHECK(error.where().line == 1);
      return error.message() + " " + error.hint();
    }
    return std::string("not refused");
  };
  CHECK(contains(refusal("t.toml", "[model]\nname = \"llama3\"\n[training]\nlocal_batch_size = 1\n[parallelism]\n"),
                 "--job.config_file"));
  CHECK(contains(refusal("x.txt", "words"), "not changed in place"));
}

TEST_CASE("scripts that are changed for drawn strategies: bash prints what was promised, and import reads it") {
  if (!has_bash()) {
    MESSAGE("skipped: bash is not here");
    return;
  }
  const Workplace place;
  const std::vector<std::string> scripts = script_names();
  CHECK(scripts.size() >= 20);
  std::mt19937 random(40);
  for (const std::string& script : scripts) {
    CAPTURE(script);
    const std::optional<Job> before = job_of(place.file(script), {});
    REQUIRE(before);
    Tally tally;
    constexpr int kChanges = 8;
    for (int i = 0; i < 20 * kChanges && tally.changed < kChanges; ++i) {
      const std::vector<std::string> overrides = drawn_overrides(random);
      CAPTURE(fmt::format("{}", fmt::join(overrides, " ")));
      if (const std::optional<Job> job = job_of(place.file(script), overrides))
        check_change(place, script, *before, *job, tally);
    }
    CAPTURE(tally.refused);
    CHECK(tally.changed == kChanges);
    CHECK(tally.refused <= tally.changed);
  }
}

}  // namespace mirfak::emit_into_test
