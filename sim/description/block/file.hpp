#pragma once

#include "block/syntax.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak::block {

// Sizes by name. Shares (dropout) are sizes, too.
using Sizes = std::map<std::string, double, std::less<>>;

// Facts that follow from the text of a block alone.
struct BlockFacts {
  std::vector<const Expression*> uses;  // in the order of the text, also those inside other expressions
  std::vector<std::string> axis_sizes;  // Definition::axis_sizes, for this text without the blocks that it uses
};

// A file of blocks (README.md, "The file"): the first block is the file's own, the others are the blocks that it uses.
class BlockFile {
 public:
  // Throws Error(input) at file:line:column. Files with the path and the text of a file that was loaded before are
  // parsed once; usable from many threads.
  static std::shared_ptr<const BlockFile> load(const std::filesystem::path& path);
  static std::shared_ptr<const BlockFile> from_text(std::string text, std::string name);

  const std::string& name() const { return document_.name(); }
  const std::string& description() const { return description_; }
  const Sizes& sizes() const { return sizes_; }  // sizes of an example, which `mirfak block` shows
  const Node& source() const { return *source_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  const Block* find(std::string_view block) const;    // nullptr: no block has the name
  const BlockFacts& facts(const Block& block) const;  // of a block of this file
  std::vector<std::string> names() const;

 private:
  explicit BlockFile(Document document);
  void read();

  Document document_;
  std::string description_;
  Sizes sizes_;
  std::optional<Node> source_;  // the text of the blocks
  std::vector<Block> blocks_;
  std::vector<BlockFacts> facts_;  // of each block; they point into blocks_
};

// A block with all blocks that it uses.
struct Definition {
  std::shared_ptr<const BlockFile> file;
  const Block* block = nullptr;                                   // a block of the file
  std::map<std::string, std::shared_ptr<const Definition>> uses;  // by the name that the block's text uses
  // Names, sorted, of the sizes that the block or a block used by it takes. The block hands sizes on to the blocks that
  // it uses, also those that it does not take itself.
  std::vector<std::string> sizes;
  // Sizes that only define an axis of the same name, among the sizes that vary most (batch, sequence, vocab). Graphs
  // for other values of these sizes differ only in the extents of these axes (and of their primes).
  std::vector<std::string> axis_sizes;

  const Node& source() const { return file->source(); }
};
using DefinitionPointer = std::shared_ptr<const Definition>;
using Definitions = std::map<std::string, DefinitionPointer, std::less<>>;

// True if a model's name for a block is a path.
bool is_block_path(std::string_view name);

// Finds blocks and the blocks that they use. A name is a block of the same file or of a file in the folder: "llama" is
// the first block of llama.yaml, "t5.decoder" another block of t5.yaml. A name that contains '/' or ends in .yaml is a
// path, relative to the folder of the file that states it.
class Library {
 public:
  explicit Library(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Returns a block with all blocks that it uses. `given`: replacements for blocks that the block takes ("block
  // mlp=..."). Throws Error(input) at `asked_at` if there is no such block, and in a block's file if the file is wrong,
  // a block uses itself, or a block is given a block that it does not take.
  DefinitionPointer find(std::string_view name_or_path, const Location& asked_at, const Definitions& given = {});
  // Returns a block of a file that was read already; "": its first block.
  DefinitionPointer find_in(const std::shared_ptr<const BlockFile>& file, std::string_view name,
                            const Location& asked_at, const Definitions& given = {});
  // The names of the files in the folder, sorted.
  std::vector<std::string> names() const;

 private:
  std::shared_ptr<const BlockFile> file_of(const std::filesystem::path& path);
  DefinitionPointer define(const std::shared_ptr<const BlockFile>& file, const Block& block, const Definitions& given,
                           std::vector<const Block*>& inside);
  DefinitionPointer make_definition(const std::shared_ptr<const BlockFile>& file, const Block& block,
                                    const Definitions& given, std::vector<const Block*>& inside);
  DefinitionPointer used_by(const std::shared_ptr<const BlockFile>& file, const std::string& name, Place at,
                            std::vector<const Block*>& inside);

  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<const BlockFile>> files_;
  // Definitions that were given no blocks: a model names the same block once for each of its layers. They hold the
  // files of their blocks, so no other block has the address.
  std::map<const Block*, DefinitionPointer> definitions_;
};

// Returns the names of the sizes that the block itself takes.
std::vector<std::string> size_names(const Block& block);

}  // namespace mirfak::block
