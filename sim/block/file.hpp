#pragma once

#include "block/syntax.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak::block {

// Sizes by name. Shares (dropout) are sizes as well.
using Sizes = std::map<std::string, double, std::less<>>;

// A file of blocks (README.md, "The file"): the first block is the file's own, the others are those it uses.
class BlockFile {
 public:
  // Throw Error(input) at file:line:column.
  static std::shared_ptr<const BlockFile> load(const std::filesystem::path& path);
  static std::shared_ptr<const BlockFile> from_text(std::string text, std::string name);

  const std::string& name() const { return document_.name(); }
  const std::string& description() const { return description_; }
  const std::string& source_of_figures() const { return cited_; }
  const Sizes& sizes() const { return sizes_; }  // of an example, which `mirfak block` shows
  const Source& source() const { return *source_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  const Block* find(std::string_view block) const;  // nullptr: none of that name
  std::vector<std::string> names() const;

 private:
  explicit BlockFile(Document document);
  void read();

  Document document_;
  std::string description_;
  std::string cited_;
  Sizes sizes_;
  std::unique_ptr<Source> source_;
  std::vector<Block> blocks_;
};

// A block with all blocks that it uses.
struct Definition {
  std::shared_ptr<const BlockFile> file;
  const Block* block = nullptr;                                   // of the file
  std::map<std::string, std::shared_ptr<const Definition>> uses;  // by the word that its text says
  // Sizes that it, or a block that it uses, is given, sorted: what it is not given itself it hands on.
  std::vector<std::string> sizes;
  // Of the sizes that vary most (batch, sequence, vocab) those that are nothing but axes of that name: graphs for other
  // values differ by the extents of these axes (and of their primes) alone.
  std::vector<std::string> axis_sizes;

  const Source& source() const { return file->source(); }
};
using DefinitionPointer = std::shared_ptr<const Definition>;
using Definitions = std::map<std::string, DefinitionPointer, std::less<>>;

// True if what a model calls a block is a path, not a name.
bool is_block_path(std::string_view name);

// Finds blocks and what they use. A name is a block of the same file or of a file in the folder: "llama" is the first
// block of llama.yaml, "t5.decoder" another one of t5.yaml. What contains '/' or ends in .yaml is a path, which counts
// from the folder of the file that states it.
class Library {
 public:
  explicit Library(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // `given`: the blocks that stand for those the block is given ("block mlp=..."). Throws Error(input): at `asked_at`
  // where there is no such block, in a block's file where that is wrong, a block uses itself, or a block is given that
  // it does not take.
  DefinitionPointer find(std::string_view name_or_path, const Location& asked_at, const Definitions& given = {});
  // A block of a file that was read already; "": its first.
  DefinitionPointer find_in(const std::shared_ptr<const BlockFile>& file, std::string_view name,
                            const Location& asked_at, const Definitions& given = {});
  // The names of the files in the folder, sorted.
  std::vector<std::string> names() const;

 private:
  std::shared_ptr<const BlockFile> file_of(const std::filesystem::path& path);
  DefinitionPointer define(const std::shared_ptr<const BlockFile>& file, const Block& block, const Definitions& given,
                           std::vector<const Block*>& inside);
  DefinitionPointer used_by(const std::shared_ptr<const BlockFile>& file, const std::string& name, Place at,
                            std::vector<const Block*>& inside);

  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<const BlockFile>> files_;
};

// The sizes that a block is given itself.
std::vector<std::string> size_names(const Block& block);

}  // namespace mirfak::block
