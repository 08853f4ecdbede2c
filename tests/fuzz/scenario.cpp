// Any bytes are either a scenario, which passes the checks of all scenarios, or an error that says where.

#include "scenario_checks.hpp"

#include "scenario/jobs_file.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

namespace {

using namespace mirfak;

// A file of several jobs is read, or refused.
bool are_jobs(const std::string& text) {
  try {
    const Document document = Document::from_text(text, "none/s.yaml");
    if (!has_jobs(document)) return false;
    for (const NamedJob& job : read_jobs(document, ScenarioSources(shipped_folders())).jobs) {
      const Job& of = job.job();
      require(of.part != nullptr && std::ssize(of.part->devices) == of.cluster.gpus());
    }
  } catch (const Error& error) {
    require(error.kind() != ErrorKind::internal && error.where().known(), error.what());
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(bytes, bytes + size);
  if (!are_jobs(text)) check_scenario(text);
  return 0;
}
