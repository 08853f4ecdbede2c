// Schemas of files follow from what their readers ask of examples: every file of scenarios/, and those of examples/
// here, which have what these lack. Sentences are those of the tables in sim/files/scenario/README.md.

#include "base/error.hpp"
#include "capture/captured_scenario.hpp"
#include "scenario/comparison_file.hpp"
#include "scenario/jobs_file.hpp"
#include "scenario/scenario.hpp"
#include "scenario/search_scenario.hpp"
#include "scenario/sweep_file.hpp"
#include "schema_files.hpp"
#include "schema_recorder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

using namespace mirfak;

namespace {

namespace fs = std::filesystem;

const fs::path kSource = source_root();

std::vector<fs::path> yaml_files(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (entry.path().extension() == ".yaml" && path.find("/templates/") == std::string::npos) out.push_back(path);
  }
  std::sort(out.begin(), out.end());
  return out;
}

enum class Kind { scenario, sweep, comparison, other };

Kind kind_of(const Document& document) {
  const Value& root = document.root();
  if (root.find("axes") != nullptr) return Kind::sweep;
  if (root.find("options") != nullptr) return Kind::comparison;
  const bool scenario = root.find("cluster") != nullptr &&
                        (root.find("model") != nullptr || root.find("jobs") != nullptr || names_capture(document));
  return scenario ? Kind::scenario : Kind::other;
}

// Listens while a document is read. A job that cannot run was read all the same.
template <class Read>
void listen(schema::Place& place, const Document& document, const Read& read) {
  const schema::Recorder recorder(place, document.name());
  try {
    read();
    schema::add_words_of(place, document.root());
  } catch (const Error& error) {
    CHECK_MESSAGE(error.kind() == ErrorKind::infeasible, document.name(), ": ", std::string(error.what()));
  }
}

// A scenario of a capture as programs write it: with the hash that the capture has today.
Document resolved_capture(const CaptureSources& sources) {
  const Document document = Document::from_file(kSource / "scenarios" / "capture" / "fsdp.yaml");
  return Document::from_text(read_captured_scenario(document, sources).resolved, "resolved");
}

struct Schemas {
  schema::Place scenario, sweep, comparison;
};

Schemas recorded() {
  Schemas out;
  const DataFolders folders{kSource / "models", kSource / "hw_profiles"};
  const ScenarioSources sources(folders);
  const CaptureSources captures(sources);
  std::vector<fs::path> files = yaml_files(kSource / "scenarios");
  const std::vector<fs::path> own = yaml_files(kSource / "tests" / "schema" / "examples");
  files.insert(files.end(), own.begin(), own.end());
  for (const fs::path& file : files) {
    const Document document = Document::from_file(file);
    switch (kind_of(document)) {
      case Kind::scenario:
        if (names_capture(document)) {
          listen(out.scenario, document, [&] { read_captured_scenario(document, captures); });
        } else if (has_jobs(document)) {
          listen(out.scenario, document, [&] { read_jobs(document, sources); });
        } else {
          listen(out.scenario, document, [&] { parse_scenario(document, sources); });
          if (document.root().find("search") == nullptr) break;
          listen(out.scenario, document, [&] { parse_search(document, folders); });
        }
        break;
      case Kind::sweep:
        listen(out.sweep, document, [&] { parse_sweep(document); });
        break;
      case Kind::comparison:
        listen(out.comparison, document, [&] { parse_comparison(document); });
        break;
      case Kind::other:
        break;
    }
  }
  const Document resolved = resolved_capture(captures);
  listen(out.scenario, resolved, [&] { read_captured_scenario(resolved, captures); });
  return out;
}

// "| `cluster.nodes[].network`, `.ports` | the type's | another network ... |"
schema::Descriptions described() {
  schema::Descriptions out;
  std::ifstream in(kSource / "sim" / "files" / "scenario" / "README.md");
  const std::regex name("`([^`]*)`");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| `")) continue;
    const std::vector<std::string> cells = schema::cells_of(line);
    if (cells.size() != 3) continue;
    std::string parent;
    for (std::sregex_iterator word(cells[0].begin(), cells[0].end(), name), end; word != end; ++word) {
      std::string key = (*word)[1];
      if (key.starts_with(".")) key = parent + key;
      parent = key.substr(0, key.rfind('.'));
      std::string sentence = schema::plain(cells[2]);
      const std::string fallback = schema::plain(cells[1]);
      if (!fallback.empty() && fallback != "required") sentence += fmt::format(" [default: {}]", fallback);
      out[key] = sentence;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("schemas are what readers ask for") {
  Schemas all = recorded();
  // Files of several jobs have other sections than those of one.
  for (schema::Place* root : {&all.scenario, &all.sweep, &all.comparison}) root->varies = true;
  const schema::Descriptions sentences = described();
  schema::check_file("scenario",
                     schema::json_schema(all.scenario, "mirfak scenario", sentences, schema::SchemaOf::file));
  schema::check_file("sweep", schema::json_schema(all.sweep, "mirfak sweep", sentences, schema::SchemaOf::file));
  schema::check_file("comparison",
                     schema::json_schema(all.comparison, "mirfak comparison", sentences, schema::SchemaOf::file));
  // Every key has an example, so that its type is known.
  std::vector<std::string> untyped = schema::untyped(all.scenario);
  std::erase_if(untyped, [](const std::string& key) {
    // A job's perturbations are the cluster's; its scenario may be any.
    return key.starts_with("jobs[].perturbations") || key == "jobs[].scenario";
  });
  CHECK(fmt::format("{}", fmt::join(untyped, " ")) == "");
}
