#include "base/error.hpp"
#include "base/interrupt_watch.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/options.hpp"
#include "import/imported_job.hpp"
#include "serve/service.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

namespace {

namespace po = boost::program_options;

constexpr int kUsualPort = 8137;
constexpr int kMostPort = 65535;

}  // namespace

CommandOutput run_serve(std::span<const std::string> arguments, const Surroundings& surroundings) {
  int port = kUsualPort;
  std::string data;
  CommandSyntax syntax(
      "mirfak serve [FILE] [OPTION]...",
      "Serves a page on this machine, for its own browsers alone, where model, cluster and strategy are\n"
      "chosen and every change is simulated at once. Prints its address; Ctrl-C ends it. FILE is what the page begins\n"
      "with: a scenario, a launch script or a configuration of a training program, or the config.json of a model.");
  std::string file;
  syntax.operand = &file;
  syntax.operand_optional = true;
  auto add = syntax.options.add_options();
  add("port", po::value(&port)->default_value(kUsualPort)->value_name("N"), "port of 127.0.0.1; 0: a free port");
  add("data", data_folder_option(data), "holds models/, hw_profiles/ and scenarios/");
  if (const auto help = read_arguments(syntax, arguments)) return {*help, {}};
  if (port < 0 || port > kMostPort) {
    fail_input({}, fmt::format("--port: expected a number from 0 to {}, found {}", kMostPort, port));
  }
  std::vector<ImportFile> start;
  if (!file.empty()) start.push_back(read_import_file(file));
  const serve::Service service(data, {}, start);
  const InterruptWatch watch;
  serve::HttpServer server(static_cast<std::uint16_t>(port), service.handlers());
  surroundings.say(fmt::format("http://127.0.0.1:{}/\n", server.port()));
  server.run(InterruptWatch::interrupted);
  return {};
}

}  // namespace mirfak
