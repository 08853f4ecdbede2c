#include "block/file.hpp"

#include "base/document_text.hpp"
#include "base/named_files.hpp"
#include "base/text.hpp"
#include "block/mentions.hpp"
#include "block/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <system_error>

namespace mirfak::block {

namespace {

using Uses = std::vector<const Expression*>;

void add_uses(const Expression& expression, Uses& uses) {
  if (expression.kind == Expression::Kind::use) uses.push_back(&expression);
  for (const Expression& part : expression.parts) add_uses(part, uses);
}

void add_uses(std::span<const Statement> body, Uses& uses) {
  for (const Statement& statement : body) {
    add_uses(statement.expression, uses);
    add_uses(statement.body, uses);
    add_uses(statement.otherwise, uses);
  }
}

BlockFacts facts_of(const Block& block) {
  BlockFacts facts;
  add_uses(block.body, facts.uses);
  for (const char* size : {"batch", "sequence", "vocab"}) {
    if (!mentions_beyond_axes(block, size)) facts.axis_sizes.emplace_back(size);
  }
  return facts;
}

// The files of blocks that this process parsed, by path, each as long as its text stays the same: hundreds of models
// are made of the same few files.
class ParsedFiles {
 public:
  // Returns the file that was parsed from this text before; nullptr: none was.
  std::shared_ptr<const BlockFile> find(const std::string& path, const std::string& text) {
    const std::scoped_lock lock(mutex_);
    const auto found = files_.find(path);
    return found != files_.end() && found->second.text == text ? found->second.file : nullptr;
  }
  void keep(const std::string& path, std::string text, const std::shared_ptr<const BlockFile>& file) {
    const std::scoped_lock lock(mutex_);
    files_.insert_or_assign(path, Parsed{std::move(text), file});
  }

 private:
  struct Parsed {
    std::string text;
    std::shared_ptr<const BlockFile> file;
  };
  std::mutex mutex_;
  std::map<std::string, Parsed> files_;
};

}  // namespace

bool is_block_path(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".yaml") || name.ends_with(".yml");
}

BlockFile::BlockFile(Document document) : document_(std::move(document)) {}

void BlockFile::read() {
  Mapping in{Node(document_)};
  description_ = in.require("description").as_string();
  in.string_or("source", "");  // who wrote the figures, for readers of the file
  if (const std::optional<Node> sizes = in.find("sizes")) {
    const Mapping mapping(*sizes);
    for (const std::string& name : mapping.keys()) {
      sizes_[name] = sizes->child(*sizes->value().find(name), name).as_number(0, 1e12);
    }
  }
  source_ = in.require("text");
  if (!source_->is_scalar()) source_->fail("expected the text of a block, found " + source_->described());
  in.finish();
  blocks_ = parse(*source_);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    for (std::size_t before = 0; before < i; ++before) {
      if (blocks_[before].name != blocks_[i].name) continue;
      source_->fail_at(blocks_[i].place.offset, fmt::format("this file has a block '{}' already", blocks_[i].name));
    }
  }
  for (const Block& block : blocks_) facts_.push_back(facts_of(block));
}

std::shared_ptr<const BlockFile> BlockFile::load(const std::filesystem::path& path) {
  static ParsedFiles parsed;
  const std::string name = path.string();
  std::string text = document_text(path);
  if (std::shared_ptr<const BlockFile> known = parsed.find(name, text)) return known;
  std::shared_ptr<const BlockFile> file = from_text(text, name);
  parsed.keep(name, std::move(text), file);
  return file;
}

std::shared_ptr<const BlockFile> BlockFile::from_text(std::string text, std::string name) {
  std::shared_ptr<BlockFile> file(new BlockFile(Document::from_text(std::move(text), std::move(name))));
  file->read();
  return file;
}

const Block* BlockFile::find(std::string_view block) const {
  const auto found = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& one) { return one.name == block; });
  return found == blocks_.end() ? nullptr : &*found;
}

const BlockFacts& BlockFile::facts(const Block& block) const {
  return facts_[static_cast<std::size_t>(&block - blocks_.data())];
}

std::vector<std::string> BlockFile::names() const {
  std::vector<std::string> out;
  for (const Block& block : blocks_) out.push_back(block.name);
  return out;
}

std::shared_ptr<const BlockFile> Library::file_of(const std::filesystem::path& path) {
  std::shared_ptr<const BlockFile>& file = files_[path.lexically_normal().string()];
  if (!file) file = BlockFile::load(path);
  return file;
}

std::vector<std::string> Library::names() const {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".yaml") out.push_back(at->path().stem().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

DefinitionPointer Library::find(std::string_view name_or_path, const Location& asked_at, const Definitions& given) {
  std::error_code ignored;
  if (is_block_path(name_or_path)) {
    refuse_named_file(asked_at, name_or_path);
    const std::filesystem::path stated(name_or_path);
    const bool beside = stated.is_relative() && asked_at.line > 0;
    const std::filesystem::path path = beside ? std::filesystem::path(asked_at.file).parent_path() / stated : stated;
    if (!std::filesystem::exists(path, ignored)) {
      fail_input(asked_at, fmt::format("there is no block file '{}'", path.string()),
                 beside ? "a relative path counts from the folder of the file that states it" : "");
    }
    return find_in(file_of(path), {}, asked_at, given);
  }
  const std::size_t dot = name_or_path.find('.');
  const std::string stem(name_or_path.substr(0, dot));
  const std::filesystem::path path = folder_ / (stem + ".yaml");
  if (stem.empty() || !std::filesystem::exists(path, ignored)) {
    fail_input(asked_at, fmt::format("there is no block '{}'", excerpt(name_or_path)),
               did_you_mean(stem, names(), "expected a name that 'mirfak list blocks' shows, or the path of a file"));
  }
  return find_in(file_of(path), dot == std::string_view::npos ? "" : name_or_path.substr(dot + 1), asked_at, given);
}

DefinitionPointer Library::find_in(const std::shared_ptr<const BlockFile>& file, std::string_view name,
                                   const Location& asked_at, const Definitions& given) {
  const Block* block = name.empty() ? &file->blocks().front() : file->find(name);
  if (block == nullptr) {
    fail_input(asked_at, fmt::format("{} has no block '{}'", file->name(), excerpt(name)),
               did_you_mean(name, file->names(), "it has " + join_or(file->names())));
  }
  for (const auto& [slot, definition] : given) {
    std::vector<std::string> slots;
    for (const Given& one : block->given) {
      if (!one.block.empty()) slots.push_back(one.name);
    }
    if (std::find(slots.begin(), slots.end(), slot) != slots.end()) continue;
    fail_input(
        asked_at, fmt::format("the block {} is given no block '{}'", block->name, excerpt(slot)),
        did_you_mean(slot, slots, slots.empty() ? "it uses the same blocks always" : "it is given " + join_or(slots)));
  }
  std::vector<const Block*> inside;
  return define(file, *block, given, inside);
}

DefinitionPointer Library::define(const std::shared_ptr<const BlockFile>& file, const Block& block,
                                  const Definitions& given, std::vector<const Block*>& inside) {
  if (!given.empty()) return make_definition(file, block, given, inside);
  if (const auto known = definitions_.find(&block); known != definitions_.end()) return known->second;
  return definitions_[&block] = make_definition(file, block, given, inside);
}

DefinitionPointer Library::make_definition(const std::shared_ptr<const BlockFile>& file, const Block& block,
                                           const Definitions& given, std::vector<const Block*>& inside) {
  auto out = std::make_shared<Definition>();
  out->file = file;
  out->block = &block;
  inside.push_back(&block);
  for (const Given& one : block.given) {
    if (one.block.empty()) continue;
    const auto stated = given.find(one.name);
    out->uses[one.name] = stated != given.end() ? stated->second : used_by(file, one.block, one.place, inside);
  }
  const BlockFacts& facts = file->facts(block);
  for (const Expression* use : facts.uses) {
    if (!out->uses.contains(use->name)) out->uses[use->name] = used_by(file, use->name, use->place, inside);
  }
  inside.pop_back();
  out->sizes = size_names(block);
  out->axis_sizes = facts.axis_sizes;
  for (const auto& [name, used] : out->uses) {
    out->sizes.insert(out->sizes.end(), used->sizes.begin(), used->sizes.end());
    const std::vector<std::string>& plain = used->axis_sizes;
    std::erase_if(out->axis_sizes, [&plain](const std::string& size) {
      return std::find(plain.begin(), plain.end(), size) == plain.end();
    });
  }
  std::sort(out->sizes.begin(), out->sizes.end());
  out->sizes.erase(std::unique(out->sizes.begin(), out->sizes.end()), out->sizes.end());
  return out;
}

DefinitionPointer Library::used_by(const std::shared_ptr<const BlockFile>& file, const std::string& name, Place at,
                                   std::vector<const Block*>& inside) {
  std::shared_ptr<const BlockFile> holder = file;
  const Block* block = file->find(name);
  if (block == nullptr) {
    const std::size_t dot = name.find('.');
    const std::string stem = name.substr(0, dot);
    const std::filesystem::path path = folder_ / (stem + ".yaml");
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
      std::vector<std::string> known = file->names();
      const std::vector<std::string> built_in = names();
      known.insert(known.end(), built_in.begin(), built_in.end());
      file->source().fail_at(at.offset, fmt::format("there is no block '{}'", name),
                             did_you_mean(name, known, "expected a block of this file or " + join_or(built_in)));
    }
    holder = file_of(path);
    block = dot == std::string::npos ? &holder->blocks().front() : holder->find(name.substr(dot + 1));
    if (block == nullptr) {
      file->source().fail_at(at.offset, fmt::format("{} has no block '{}'", holder->name(), name.substr(dot + 1)),
                             did_you_mean(name.substr(dot + 1), holder->names(), "it has " + join_or(holder->names())));
    }
  }
  if (std::find(inside.begin(), inside.end(), block) != inside.end()) {
    file->source().fail_at(at.offset, fmt::format("the block '{}' uses itself", name),
                           "repeat says how often something is done");
  }
  return define(holder, *block, {}, inside);
}

std::vector<std::string> size_names(const Block& block) {
  std::vector<std::string> out;
  for (const Given& given : block.given) {
    if (given.block.empty()) out.push_back(given.name);
  }
  return out;
}

}  // namespace mirfak::block
