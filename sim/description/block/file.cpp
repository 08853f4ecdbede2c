#include "block/file.hpp"

#include "base/named_files.hpp"
#include "base/text.hpp"
#include "block/mentions.hpp"
#include "block/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <system_error>

namespace mirfak::block {

namespace {

using Visit = std::function<void(const Expression&)>;

void visit_uses(const Expression& expression, const Visit& visit) {
  if (expression.kind == Expression::Kind::use) visit(expression);
  for (const Expression& part : expression.parts) visit_uses(part, visit);
}

void visit_uses(std::span<const Statement> body, const Visit& visit) {
  for (const Statement& statement : body) {
    visit_uses(statement.expression, visit);
    visit_uses(statement.body, visit);
    visit_uses(statement.otherwise, visit);
  }
}

}  // namespace

bool is_block_path(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".yaml") || name.ends_with(".yml");
}

BlockFile::BlockFile(Document document) : document_(std::move(document)) {}

void BlockFile::read() {
  Mapping in{Node(document_)};
  description_ = in.require("description").as_string();
  cited_ = in.string_or("source", "");
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
}

std::shared_ptr<const BlockFile> BlockFile::load(const std::filesystem::path& path) {
  std::shared_ptr<BlockFile> file(new BlockFile(Document::from_file(path)));
  file->read();
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
  auto out = std::make_shared<Definition>();
  out->file = file;
  out->block = &block;
  inside.push_back(&block);
  for (const Given& one : block.given) {
    if (one.block.empty()) continue;
    const auto stated = given.find(one.name);
    out->uses[one.name] = stated != given.end() ? stated->second : used_by(file, one.block, one.place, inside);
  }
  visit_uses(block.body, [&](const Expression& use) {
    if (!out->uses.contains(use.name)) out->uses[use.name] = used_by(file, use.name, use.place, inside);
  });
  inside.pop_back();
  out->sizes = size_names(block);
  for (const char* size : {"batch", "sequence", "vocab"}) {
    if (!mentions_beyond_axes(block, size)) out->axis_sizes.emplace_back(size);
  }
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
