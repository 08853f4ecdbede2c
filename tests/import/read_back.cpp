// A job that is written for a program and read again is the same iteration, or the file says what is lost.

#include "import/read_back.hpp"

#include "emitted.hpp"
#include "import/imported_job.hpp"
#include "simulation/iteration.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <string>

using namespace mirfak;

namespace {

constexpr const char* kSays = "# What these options do not say of the scenario";

std::optional<std::vector<LaunchFile>> noted(const Job& job, LaunchTarget target) {
  try {
    return noted_launch_files(job, {target, Launcher::none, std::filesystem::path(source_root()) / "hw_profiles"},
                              import_sources());
  } catch (const Error& error) {
    REQUIRE_MESSAGE(error.kind() == ErrorKind::infeasible, error.message());
    return std::nullopt;
  }
}

// Returns the time of the job that the files are read as from a folder.
double time_read_again(const std::vector<LaunchFile>& files) {
  const ScratchFolder folder;
  std::vector<ImportFile> stored;
  for (const LaunchFile& file : files) {
    const std::filesystem::path path = folder.path() / file.name;
    std::ofstream(path) << file.text;
    if (!file.name.ends_with(".csv")) stored.push_back({path.string(), file.text});
  }
  ImportRequest request;
  request.nodes = {node_choice("hgx-h100:4")};
  const ImportedJob read = import_job(stored, request, ImportContext{import_sources()});
  return simulate(parse_scenario(read.scenario, import_sources()).job).result.iteration_time_s;
}

// Adds habits and options that few programs have words for.
std::string with_more(std::string text, std::mt19937& random) {
  const std::size_t at = text.find("training: {") + 11;
  if (random() % 4 == 0) text.insert(at, "blocking_launches: true, ");
  const std::size_t name = text.find("framework: ") + 11;
  const std::size_t end = text.find_first_of(",}", name);
  if (random() % 4 == 0) {
    text.replace(name, end - name,
                 fmt::format("{{like: {}, fusion: {{cross_entropy: true}}}}", text.substr(name, end - name)));
  }
  return text;
}

Job job_of(const std::string& text) {
  return parse_scenario(Document::from_text(text, "job.yaml"), import_sources()).job;
}

}  // namespace

TEST_CASE("drawn jobs, written and read again, take the same time, or their files say what is lost") {
  struct Program {
    LaunchTarget target;
    std::string (*draw)(std::mt19937&);
  };
  for (const Program& program :
       {Program{LaunchTarget::megatron, drawn_megatron_job}, Program{LaunchTarget::megatron_yaml, drawn_megatron_job},
        Program{LaunchTarget::megatron_bridge, drawn_megatron_job},
        Program{LaunchTarget::torchtitan, drawn_torchtitan_job},
        Program{LaunchTarget::torchtitan_toml, drawn_torchtitan_job},
        Program{LaunchTarget::deepspeed, drawn_deepspeed_job},
        Program{LaunchTarget::accelerate, drawn_accelerate_job}}) {
    CAPTURE(launch_targets()[static_cast<std::size_t>(program.target)].name);
    std::mt19937 random(35);
    int same = 0;
    int said = 0;
    for (int i = 0; i < 800 && same + said < 30; ++i) {
      const std::optional<Scenario> before = drawn_scenario(with_more(program.draw(random), random));
      if (!before) continue;
      const auto files = noted(before->job, program.target);
      if (!files) continue;
      CAPTURE(launch_text(*files));
      CAPTURE(before->resolved);
      if (files->front().text.find(kSays) != std::string::npos) {
        ++said;
        continue;
      }
      ++same;
      const double time = simulate(before->job).result.iteration_time_s;
      CHECK(time_read_again(*files) == doctest::Approx(time).epsilon(1e-9));
    }
    CHECK(same + said == 30);
    // DeepSpeed's arguments say no vocabulary.
    CHECK((same >= 5 || program.target == LaunchTarget::deepspeed));
  }
}

TEST_CASE("a key that a program has no option for is named with what it was") {
  const Job job = job_of(
      "model: llama3-8b\ncluster: {nodes: [{type: hgx-h100, count: 4}]}\n"
      "training: {global_batch: 64, framework: megatron-core, blocking_launches: true}\nstrategy: {tensor: 2}\n");
  const std::string text = noted(job, LaunchTarget::megatron)->front().text;
  CHECK(text.find(kSays) != std::string::npos);
  CHECK(text.find("\n#   training.blocking_launches: true, read again not stated\n") != std::string::npos);
}

TEST_CASE("a fused loss is written for Megatron Core, and read back") {
  const std::string before =
      "model: llama3-8b\ncluster: {nodes: [{type: hgx-h100, count: 4}]}\n"
      "training: {global_batch: 64, framework: {like: megatron-core, fusion: {cross_entropy: true}}}\n"
      "strategy: {tensor: 2}\n";
  const auto files = noted(job_of(before), LaunchTarget::megatron);
  CHECK(files->front().text.find("\n--cross-entropy-loss-fusion\n") != std::string::npos);
  CHECK(files->front().text.find(kSays) == std::string::npos);
  CHECK(time_read_again(*files) == doctest::Approx(simulate(job_of(before)).result.iteration_time_s).epsilon(1e-9));
}
