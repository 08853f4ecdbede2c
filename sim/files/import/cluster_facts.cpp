#include "import/cluster_facts.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace mirfak {

void ClusterFacts::add(ListedNode node) {
  constexpr std::size_t most = 100'000;
  const auto [at, is_new] = index_.emplace(node.name, listed_.size());
  if (is_new) {
    if (listed_.size() >= most) fail_input(node.where, fmt::format("more than {} nodes", most), "give a part of them");
    return listed_.push_back(std::move(node));
  }
  ListedNode& known = listed_[at->second];
  known.partitions.merge(node.partitions);
  if (!node.instance.empty()) known.instance = std::move(node.instance);
  if (!node.features.empty()) known.features = std::move(node.features);
  if (!node.state.empty() && (known.state.empty() || !node.usable)) {
    known.state = std::move(node.state);
    known.usable = node.usable;
  }
  if (!node.gpus) return;
  if (known.gpus && (*known.gpus != *node.gpus || known.gpu != node.gpu)) {
    fail_input(node.where, fmt::format("{} has other GPUs at {}", excerpt(node.name), known.where.text()),
               "give what was printed at one time");
  }
  if (known.gpus) return;
  known.gpus = node.gpus;
  known.gpu = std::move(node.gpu);
  known.where = std::move(node.where);
  known.text = std::move(node.text);
}

// A new format is a file and a line here.
std::span<const ClusterFormat> cluster_formats() {
  static const std::array formats = {kSinfoTable, kScontrolNodes, kSkypilotTask, kGpuMatrix};
  return formats;
}

const ClusterFormat* cluster_format_of(const ImportFile& file) {
  for (const ClusterFormat& format : cluster_formats()) {
    if (format.recognises(file)) return &format;
  }
  return nullptr;
}

ClusterFacts read_cluster_files(std::span<const ImportFile> files, std::string_view format) {
  ClusterFacts out;
  std::vector<std::string> names;
  const ClusterFormat* named = nullptr;
  for (const ClusterFormat& one : cluster_formats()) {
    names.emplace_back(one.name);
    if (one.name == format) named = &one;
  }
  for (const ImportFile& file : files) {
    const ClusterFormat* found = cluster_format_of(file);
    if (found == nullptr) found = named;
    if (found == nullptr) {
      fail_input({file.name, 1, 1}, "not a file that says what a cluster is made of",
                 "expected one of " + join_or(names) + "; --from says which");
    }
    found->read(file, out);
  }
  if (out.listed().empty() && !out.rented && !out.matrix)
    fail_input({files.front().name, 1, 1}, "no node stands there", "give what is printed of the nodes themselves");
  return out;
}

std::vector<PlacedWord> placed_words(std::string_view line, const std::string& file, int number) {
  std::vector<PlacedWord> out;
  constexpr std::string_view blanks = " \t\r";
  std::size_t at = line.find_first_not_of(blanks);
  while (at != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
    out.push_back({std::string(line.substr(at, end - at)), {file, number, static_cast<int>(at) + 1}});
    at = line.find_first_not_of(blanks, end);
  }
  return out;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace mirfak
