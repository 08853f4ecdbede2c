#pragma once

#include "base/error.hpp"
#include "block/compile.hpp"
#include "block/file.hpp"
#include "support/source_root.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

namespace mirfak::test {

// A file of blocks with this text, whose first line is line 3 of the file.
inline std::string block_file(const std::string& text) {
  std::string out = "description: of a test\ntext: |\n";
  std::string line;
  for (const char c : text + "\n") {
    line += c;
    if (c != '\n') continue;
    out += "  " + line;
    line.clear();
  }
  return out;
}

inline block::Library library() { return block::Library(std::filesystem::path(source_root()) / "models" / "blocks"); }

inline block::DefinitionPointer definition(const std::string& text) {
  return library().find_in(block::BlockFile::from_text(block_file(text), "test.yaml"), "", {});
}

// The graph of a text, with 2 sequences of 8 tokens where `sizes` do not say otherwise.
inline OperatorGraph compiled(const std::string& text, block::Sizes sizes = {},
                              const block::CompileOptions& options = {}) {
  const block::DefinitionPointer found = definition(text);
  sizes.try_emplace("batch", 2);
  sizes.try_emplace("sequence", 8);
  return block::compile(*found, block::complete_sizes(*found, sizes, {}), options);
}

inline OperatorGraph built_in(const std::string& name, const block::Sizes& sizes,
                              const block::CompileOptions& options = {}) {
  const block::DefinitionPointer found = library().find(name, {});
  return block::compile(*found, block::complete_sizes(*found, sizes, {}), options);
}

inline const Operator* find(const OperatorGraph& graph, const std::string& name) {
  const auto found =
      std::find_if(graph.operators.begin(), graph.operators.end(), [&](const Operator& op) { return op.name == name; });
  return found == graph.operators.end() ? nullptr : &*found;
}

}  // namespace mirfak::test
