// Reads the output of `nvidia-smi topo -m`: a line with the names of GPUs and network ports, then for each device its
// links to the others: X the device itself, NV# the number of NVLinks, else PCI Express (PIX, PXB, PHB, NODE, SYS).

#include "base/text.hpp"
#include "import/cluster_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kMostDevices = 512;

// Replaces the escape sequences that underline the first line in terminals by blanks, so that columns stay.
std::string without_escapes(std::string text) {
  for (std::size_t at = text.find('\x1b'); at != std::string::npos; at = text.find('\x1b', at)) {
    const std::size_t end = std::min(text.find_first_of("m\n", at), text.size());
    const std::size_t last = end < text.size() && text[end] == 'm' ? end + 1 : end;
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(last), ' ');
  }
  return text;
}

bool is_gpu_name(std::string_view word) {
  return word.size() > 3 && word.size() < 8 && word.starts_with("GPU") &&
         std::all_of(word.begin() + 3, word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Returns the number of NVLinks in a cell; -1: no such word.
std::int64_t nvlinks_of(std::string_view cell) {
  if (!cell.starts_with("NV")) return 0;
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(cell.data() + 2, cell.data() + cell.size(), out);
  return error != std::errc{} || end != cell.data() + cell.size() || out < 1 || out > 1024 ? -1 : out;
}

bool is_cell(std::string_view word) {
  constexpr std::array<std::string_view, 9> words = {"X", "PIX", "PXB", "PHB", "PSB", "NODE", "SYS", "SOC", "N/A"};
  return std::find(words.begin(), words.end(), word) != words.end() || nvlinks_of(word) > 0;
}

// Returns the devices of the line of names, up to the first other word; empty: no line of names.
std::vector<PlacedWord> devices_of(std::string_view line, const std::string& file, int number) {
  std::vector<PlacedWord> words = placed_words(line, file, number);
  if (words.empty() || words.front().text != "GPU0") return {};
  if (words.size() > 1 && is_cell(words[1].text)) return {};
  const auto end = std::find_if(words.begin(), words.end(), [](const PlacedWord& word) { return word.text == "CPU"; });
  words.erase(end, words.end());
  return words;
}

class MatrixReading {
 public:
  MatrixReading(const std::string& file, std::vector<PlacedWord> devices) : file_(file), devices_(std::move(devices)) {
    while (gpus_ < devices_.size() && is_gpu_name(devices_[gpus_].text)) ++gpus_;
    if (devices_.size() > kMostDevices)
      fail_input(devices_.front().where, fmt::format("more than {} devices", kMostDevices));
  }

  GpuMatrix read(const std::vector<std::string_view>& lines, std::size_t first) {
    for (std::size_t i = first; i < lines.size() && rows_.size() < gpus_; ++i)
      read_row(lines[i], static_cast<int>(i) + 1);
    if (rows_.size() < gpus_) {
      fail_input(devices_[rows_.size()].where, fmt::format("no line of {}", devices_[rows_.size()].text),
                 "give all that nvidia-smi topo -m prints");
    }
    return result();
  }

 private:
  void read_row(std::string_view line, int number) {
    const std::vector<PlacedWord> words = placed_words(line, file_, number);
    if (words.empty()) return;
    const PlacedWord& name = words.front();
    if (name.text != devices_[rows_.size()].text) {
      fail_input(name.where,
                 fmt::format("'{}': expected the line of {}", excerpt(name.text), devices_[rows_.size()].text),
                 "give all that nvidia-smi topo -m prints");
    }
    if (words.size() <= devices_.size()) {
      fail_input(name.where, fmt::format("{} of {} devices", words.size() - 1, devices_.size()),
                 "expected a word for each column");
    }
    std::vector<std::int64_t> row;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const PlacedWord& cell = words[i + 1];
      const bool self = i == rows_.size();
      if (!is_cell(cell.text) || (cell.text == "X") != self) {
        fail_input(cell.where, fmt::format("'{}' for {} and {}", excerpt(cell.text), name.text, devices_[i].text),
                   self ? "expected X" : "expected NV and a number, PIX, PXB, PHB, NODE or SYS");
      }
      if (i < gpus_) row.push_back(nvlinks_of(cell.text));
      const bool other = i < rows_.size() && rows_[i][rows_.size()] != row[i];
      if (i < gpus_ && other)
        fail_input(cell.where, fmt::format("{} and {} are joined otherwise above", name.text, devices_[i].text));
    }
    rows_.push_back(std::move(row));
  }

  GpuMatrix result() const {
    GpuMatrix out;
    out.gpus = static_cast<std::int64_t>(gpus_);
    out.ports = static_cast<std::int64_t>(devices_.size() - gpus_);
    out.where = devices_.front().where;
    out.ports_where = gpus_ < devices_.size() ? devices_[gpus_].where : out.where;
    std::size_t joined = 0;
    for (std::size_t i = 0; i < gpus_; ++i) {
      for (std::size_t k = 0; k < gpus_; ++k) joined += rows_[i][k] > 0 ? 1 : 0;
      out.links_of_gpu += rows_[0][i];
      if (out.links_of_pair == 0) out.links_of_pair = rows_[0][i];
    }
    if (joined > 0) out.joined = joined == gpus_ * (gpus_ - 1) ? GpuMatrix::Joined::all : GpuMatrix::Joined::some;
    return out;
  }

  const std::string& file_;
  std::vector<PlacedWord> devices_;
  std::size_t gpus_ = 0;
  std::vector<std::vector<std::int64_t>> rows_;
};

struct FoundDevices {
  std::vector<PlacedWord> devices;
  std::size_t line = 0;
};

FoundDevices find_devices(const std::vector<std::string_view>& lines, const std::string& file) {
  constexpr std::size_t most = 12;
  for (std::size_t i = 0; i < std::min(lines.size(), most); ++i) {
    std::vector<PlacedWord> devices = devices_of(lines[i], file, static_cast<int>(i) + 1);
    if (!devices.empty()) return {std::move(devices), i};
  }
  return {};
}

bool is_gpu_matrix(const ImportFile& file) {
  const std::string start = without_escapes(file.text.substr(0, 65'536));
  return !find_devices(lines_of(start), file.name).devices.empty();
}

void read_gpu_matrix(const ImportFile& file, ClusterFacts& out) {
  const std::string text = without_escapes(file.text);
  const std::vector<std::string_view> lines = lines_of(text);
  FoundDevices found = find_devices(lines, file.name);
  if (found.devices.empty()) {
    fail_input({file.name, 1, 1}, "no line with the names of GPUs, GPU0 first",
               "give all that nvidia-smi topo -m prints");
  }
  if (out.matrix) {
    fail_input(found.devices.front().where, "a second node's matrix, in addition to " + out.matrix->where.text(),
               "give that of one node: all are taken to be alike");
  }
  out.matrix = MatrixReading(file.name, std::move(found.devices)).read(lines, found.line + 1);
}

}  // namespace

const ClusterFormat kGpuMatrix = {"nvidia-topology", "the matrix of nvidia-smi topo -m", is_gpu_matrix,
                                  read_gpu_matrix};

}  // namespace mirfak
