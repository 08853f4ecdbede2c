// Any bytes are either a file of blocks, of which every block that states the sizes of an example has a graph and its
// backward graph, or an input error that says where.

#include "base/error.hpp"
#include "block/compile.hpp"
#include "graph/backward.hpp"
#include "require.hpp"
#include "support/source_root.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace {

using namespace mirfak;

const std::filesystem::path kBlocks = source_root() + "/models/blocks";

void check_block(block::Library& library, const std::shared_ptr<const block::BlockFile>& file,
                 const std::string& name) {
  const block::DefinitionPointer definition = library.find_in(file, name, {});
  block::Sizes sizes = file->sizes();
  std::erase_if(sizes, [&](const auto& size) {
    return std::find(definition->sizes.begin(), definition->sizes.end(), size.first) == definition->sizes.end();
  });
  sizes.try_emplace("batch", 1);
  sizes.try_emplace("sequence", 256);
  const auto complete = block::complete_sizes(*definition, sizes, {file->name(), 0, 0});
  with_backward(block::compile(*definition, complete, {}), {.fused_accumulation = true});
}

template <typename Check>
void expect_value_or_place(const Check& check) {
  try {
    check();
  } catch (const Error& error) {
    require_refusal(error);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  expect_value_or_place([&] {
    const auto file = block::BlockFile::from_text(std::string(bytes, bytes + size), "none/input.yaml");
    block::Library library(kBlocks);
    for (const std::string& name : file->names()) expect_value_or_place([&] { check_block(library, file, name); });
  });
  return 0;
}
