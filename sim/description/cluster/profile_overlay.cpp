// A profile of one's own that differs from a known one in a few figures:
//
//   like: b300
//   memory_bytes: 400e9
//   tdp_w: [1400, announced]
//   sources: {announced: "the vendor's announcement"}

#include "cluster/profile_overlay.hpp"

#include "base/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kOwnSource = "this file";

std::string stem_of(const Document& document) { return std::filesystem::path(document.name()).stem().string(); }

bool is_figure(const Value& value) {
  return value.kind == Value::Kind::sequence && value.items.size() == 2 && value.items[0].kind == Value::Kind::scalar &&
         value.items[1].kind == Value::Kind::scalar;
}

// Renames the sources of figures; `sources`: those that may be named. Collects the new names that are used.
void rename_sources(Value& value, const Value& sources, const std::string& owner, std::set<std::string>& used) {
  if (is_figure(value) && sources.find(value.items[1].scalar) != nullptr) {
    used.insert(value.items[1].scalar);
    value.items[1].scalar = fmt::format("{}: {}", owner, value.items[1].scalar);
    return;
  }
  for (Value& item : value.items) rename_sources(item, sources, owner, used);
  for (Value::Field& field : value.fields) rename_sources(field.value, sources, owner, used);
}

// Makes a figure of a plain number that stands in the place of one.
bool made_figure(Value& /*profile*/, Value::Field& known, const Value& own) {
  if (!is_figure(known.value) || own.kind != Value::Kind::scalar) return false;
  known.value.items = {own, quoted_value(std::string(kOwnSource))};
  known.value.where = known.value.items[1].where = own.where;
  known.value.key_where = own.key_where;
  return true;
}

bool uses_own_source(const Value& value) {
  if (is_figure(value)) return value.items[1].scalar == kOwnSource;
  return std::any_of(value.fields.begin(), value.fields.end(),
                     [](const Value::Field& field) { return uses_own_source(field.value); });
}

// Returns the sources of both: those of `other` only as far as figures that `own` leaves in place use them.
Value joined_sources(const Document& own, const Value& of_other, const std::string& owner, const Value& completed) {
  Value out = mapping_value();
  if (const Value* sources = own.root().find("sources")) out = *sources;
  const Location where = out.where.known() ? out.where : own.root().where;
  Value copy = completed;
  std::set<std::string> used;
  Value renamed = mapping_value();
  for (const Value::Field& field : of_other.fields)
    renamed.fields.push_back({fmt::format("{}: {}", owner, field.key), field.value});
  rename_sources(copy, renamed, "", used);
  for (Value::Field& field : renamed.fields) {
    if (!used.contains(field.key)) continue;
    field.value.scalar = fmt::format("as {}: {}", owner, field.value.scalar);
    out.fields.push_back(std::move(field));
  }
  if (uses_own_source(completed)) {
    Value text = quoted_value(fmt::format("stated in {}", own.name()));
    text.where = text.key_where = where;
    out.fields.push_back({std::string(kOwnSource), std::move(text)});
  }
  out.where = out.key_where = where;
  return out;
}

}  // namespace

Document completed_profile(const Document& own, const std::string& name, const Document& other) {
  const std::string owner = stem_of(other);
  if (other.root().find("like") != nullptr) {
    const Value& like = *own.root().find("like");
    Node(own, like, "like").fail(fmt::format("{} is like another profile itself", owner));
  }
  Value root = other.root();
  const Value* sources = other.root().find("sources");
  const Value of_other = sources == nullptr ? mapping_value() : *sources;
  std::erase_if(root.fields, [](const Value::Field& field) { return field.key == "sources"; });
  std::set<std::string> ignored;
  rename_sources(root, of_other, owner, ignored);
  const Value* title = root.find("title");
  Value stated = own.root();
  std::erase_if(stated.fields, [](const Value::Field& field) { return field.key == "sources" || field.key == "like"; });
  if (stated.find("title") == nullptr && title != nullptr) {
    Value named = *title;
    named.scalar = fmt::format("{}, like {}", name, title->scalar);
    stated.fields.push_back({"title", std::move(named)});
  }
  put_over(root, stated, made_figure);
  root.where = own.root().where;
  root.fields.push_back({"sources", joined_sources(own, of_other, owner, root)});
  return own.with_root(std::move(root));
}

}  // namespace mirfak
