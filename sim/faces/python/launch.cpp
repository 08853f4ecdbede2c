#include "python/launch.hpp"

#include "import/read_back.hpp"
#include "python/inputs.hpp"

namespace mirfak::python {

std::string launch_text_of(const Job& job, const std::string& target, const std::string& launcher,
                           const ScenarioSources& sources) {
  LaunchRequest request;
  request.target = static_cast<LaunchTarget>(choice_of("target", target, launch_target_names()));
  if (!launcher.empty()) {
    request.launcher = static_cast<Launcher>(1 + choice_of("launcher", launcher, launcher_names()));
  }
  request.hardware = sources.folders.hardware;
  return launch_text(noted_launch_files(job, request, sources));
}

}  // namespace mirfak::python
