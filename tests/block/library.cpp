// Files and definitions of blocks are read once, and again only if they change.
#include "block/file.hpp"

#include "block_fixture.hpp"
#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

using namespace mirfak;

namespace {

void write_block(const std::filesystem::path& path, const std::string& operation) {
  std::ofstream(path) << test::block_file(
      "block one(hidden):\n  axes b=batch h=hidden\n  input x[b h]\n  out[b h] = " + operation + "(x)\n");
}

}  // namespace

TEST_CASE("files of blocks are parsed once for all libraries, until their text changes") {
  const ScratchFolder folder;
  write_block(folder / "one.yaml", "relu");
  const block::DefinitionPointer first = block::Library(folder.path()).find("one", {});
  CHECK(block::Library(folder.path()).find("one", {})->file == first->file);
  write_block(folder / "one.yaml", "gelu");
  const block::DefinitionPointer changed = block::Library(folder.path()).find("one", {});
  CHECK(changed->file != first->file);
  CHECK(changed->block->body.back().expression.name == "gelu");
  CHECK(first->block->body.back().expression.name == "relu");
}

TEST_CASE("a library defines a block once, unless blocks are given to it") {
  block::Library library = test::library();
  const block::DefinitionPointer llama = library.find("llama", {});
  CHECK(library.find("llama", {}) == llama);
  CHECK(library.find("llama", {}, {{"mlp", llama->uses.at("mlp")}}) != llama);
  CHECK(library.find("llama", {}) == llama);
}
