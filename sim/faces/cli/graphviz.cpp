#include "cli/graphviz.hpp"

#include "base/error.hpp"
#include "base/markup.hpp"
#include "base/text.hpp"
#include "base/unfinished_file.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

namespace mirfak {

namespace {

std::optional<std::filesystem::path> program_named(const char* name) {
  const char* const path = std::getenv("PATH");
  if (path == nullptr) return std::nullopt;
  const std::string_view folders = path;
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const std::filesystem::path candidate = std::filesystem::path(folders.substr(begin, end - begin)) / name;
    if (end > begin && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  return std::nullopt;
}

// A file that exists as long as the object.
class ScratchFile {
 public:
  explicit ScratchFile(std::string_view text) {
    std::string name = (std::filesystem::temp_directory_path() / "mirfak-XXXXXX").string();
    const int descriptor = ::mkstemp(name.data());
    if (descriptor < 0) fail_internal("no file can be made in " + name);
    file_.emplace(name, name);
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t wrote = ::write(descriptor, text.data() + done, text.size() - done);
      if (wrote <= 0) break;
      done += static_cast<std::size_t>(wrote);
    }
    ::close(descriptor);
  }
  ~ScratchFile() { std::remove(path().c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::string& path() const { return file_->path().native(); }

 private:
  std::optional<UnfinishedFile> file_;
};

// Gives what Graphviz draws the look of the other pictures, in light and dark.
constexpr std::string_view kGraphStyle =
    R"(.graph > polygon { fill: #ffffff; } .graph > text { font-size: 14px; font-weight: bold; }
.node text { font-size: 12px; } .edge path { stroke: #5a6775; } .edge polygon { fill: #5a6775; stroke: #5a6775; } .edge text { fill: #5a6775; }
.node path, .node polygon, .node ellipse { stroke: #c3ccd6; }
@media (prefers-color-scheme: dark) {
  .graph > polygon { fill: #14191f; }
  .edge path { stroke: #9daab7; } .edge polygon { fill: #9daab7; stroke: #9daab7; } .edge text { fill: #9daab7; }
  .node path, .node polygon, .node ellipse { fill: #242c35; stroke: #465362; }
  .device path { fill: #234030; } .inside path { fill: #403a24; } .switch path { fill: #24344a; } .collective ellipse { fill: #553c1c; }
}
)";

std::string with_style(std::string svg) {
  const std::size_t begin = svg.find("<svg");
  const std::size_t end = begin == std::string::npos ? begin : svg.find('>', begin);
  if (end == std::string::npos) fail_internal("dot drew no SVG");
  std::string style("\n<style>\n");
  style.append(kPictureStyle).append(kGraphStyle).append("</style>");
  return svg.insert(end + 1, style);
}

}  // namespace

std::string drawn_by_graphviz(std::string_view dot_text) {
  const auto program = program_named("dot");
  if (!program) {
    fail_input({"--svg", 0, 0}, "Graphviz' program dot is not among the programs of PATH",
               "install Graphviz (Debian: apt install graphviz), or print the graph with --format dot");
  }
  const ScratchFile file(dot_text);
  FILE* const pipe = ::popen((shell_quoted(program->string()) + " -Tsvg " + shell_quoted(file.path())).c_str(), "r");
  if (pipe == nullptr) fail_internal("dot cannot be started");
  std::string svg;
  std::array<char, 65536> piece{};
  for (std::size_t read = 0; (read = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;)
    svg.append(piece.data(), read);
  if (::pclose(pipe) != 0 || svg.empty()) fail_internal("dot failed to draw the graph");
  return with_style(std::move(svg));
}

}  // namespace mirfak
