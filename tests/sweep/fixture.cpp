#include "fixture.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include <stdlib.h>

namespace mirfak::test {

namespace fs = std::filesystem;

DataFolders data_folders() {
  const std::string source = source_root();
  return {source + "/models", source + "/hw_profiles"};
}

Folder::Folder() {
  std::string pattern = (fs::temp_directory_path() / "mirfak-sweep-XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

SweepFile sweep_of(const std::string& text) { return parse_sweep(Document::from_text(text, "sweep.yaml")); }

SweepFile mixed_sweep() {
  return sweep_of(
      "scenario:\n"
      "  model: gpt3-1.3b\n"
      "  cluster: {nodes: [{type: dgx-a100-80g, count: 1}]}\n"
      "  training: {global_batch: 64}\n"
      "  strategy: {}\n"
      "axes:\n"
      "  - grid: {model: [gpt3-1.3b, gpt3-13b, no-such-model]}\n"
      "  - grid: {strategy.tensor: [1, 2, 3, 8], training.global_batch: [8, 64]}\n"
      "  - zip: {strategy.recompute: [none, full], strategy.overlap_grad_reduce: [true, false]}\n"
      "  - grid: {training.sequence_length: [1024, 2048]}\n");
}

}  // namespace mirfak::test
