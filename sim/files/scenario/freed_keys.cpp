#include "scenario/freed_keys.hpp"

#include "scenario/search_dimensions.hpp"
#include "strategy/strategy_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

constexpr std::string_view kAll = "all";
// Sizes of groups that divide the GPUs.
constexpr std::array kSizes = {std::string_view("tensor"), std::string_view("context"), std::string_view("pipeline"),
                               std::string_view("data")};
// Keys that fit only the sizes that are stated with them; a search leaves such keys at their defaults.
constexpr std::array kOfSizes = {std::string_view("microbatch_group"), std::string_view("max_in_flight"),
                                 std::string_view("zero_group"), std::string_view("zero_second_group")};

template <typename List>
bool contains(const List& list, std::string_view key) {
  return std::find(list.begin(), list.end(), key) != list.end();
}

bool is_dimension(std::string_view key) {
  const auto dimensions = search_dimensions();
  return std::any_of(dimensions.begin(), dimensions.end(), [&](const auto& one) { return one.key == key; });
}

// True for what a search chooses with the sizes: the layers of each chunk, the microbatches of each replica.
bool follows_from_sizes(std::string_view key) {
  const auto keys = strategy_keys();
  return key == "data" || contains(kOfSizes, key) || std::any_of(keys.begin(), keys.end(), [&](const StrategyKey& one) {
           return one.key == key && !one.chosen.message.empty();
         });
}

bool is_freed_by_all(std::string_view key) { return is_dimension(key) || follows_from_sizes(key); }

const std::vector<std::string>& free_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const StrategyKey& one : strategy_keys()) {
      if (is_freed_by_all(one.key)) out.emplace_back(one.key);
    }
    return out;
  }();
  return names;
}

std::vector<std::string> read_keys(const Node& node) {
  std::vector<std::string> out;
  for (const Node& item : node.as_items()) {
    const std::string& key = free_names()[item.as_choice(free_names())];
    if (contains(out, key)) item.fail("this key is named twice");
    out.push_back(key);
  }
  if (out.empty()) node.fail("expected at least one key of `strategy`, found an empty list");
  return out;
}

bool is_all(const Node& node) { return node.is_scalar() && node.value().scalar == kAll; }

}  // namespace

bool FreedKeys::frees(std::string_view key) const {
  if (contains(keep, key)) return false;
  const bool everything = all || (free.empty() && !keep.empty());
  if (everything) return is_freed_by_all(key);
  const bool sized =
      std::any_of(kSizes.begin(), kSizes.end(), [&](std::string_view size) { return contains(free, size); });
  return contains(free, key) || (sized && follows_from_sizes(key));
}

void read_free(const Node& node, FreedKeys& out) {
  out.all = is_all(node);
  if (!out.all) out.free = read_keys(node);
}

void read_keep(const Node& node, FreedKeys& out) { out.keep = read_keys(node); }

FreedKeys freed_keys(const Document& document) {
  FreedKeys out;
  const Value* section = document.root().find("search");
  if (section == nullptr || section->kind != Value::Kind::mapping) return out;
  const Node search = Node(document).child(*section, "search");
  if (const Value* free = section->find("free")) read_free(search.child(*free, "free"), out);
  if (const Value* keep = section->find("keep")) read_keep(search.child(*keep, "keep"), out);
  return out;
}

Document without_freed(const Document& document, const FreedKeys& freed, std::vector<std::string>& notes) {
  Value root = document.root();
  for (Value::Field& section : root.fields) {
    if (section.key != "strategy") continue;
    std::erase_if(section.value.fields, [&](const Value::Field& field) {
      const bool frees = freed.frees(field.key);
      if (frees && contains(kOfSizes, std::string_view(field.key))) {
        notes.push_back(fmt::format(
            "strategy.{} is left out: it fits the stated sizes, and a search does not choose it", field.key));
      }
      return frees;
    });
  }
  return document.with_root(std::move(root));
}

}  // namespace mirfak
