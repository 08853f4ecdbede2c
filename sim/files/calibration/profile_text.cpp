#include "calibration/profile_text.hpp"

#include "base/error.hpp"
#include "base/yaml.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

namespace mirfak {

namespace {

using Lines = std::vector<std::string>;

Lines lines_of(std::string_view text) {
  Lines out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

bool is_inside(const std::string& line, std::size_t indentation) {
  return line.find_first_not_of(' ') >= indentation;  // also true of a blank line
}

// Lines [key, end) of `key` within [first, last), all of them indented by `indentation`; key == end: not found.
struct Block {
  std::size_t key = 0;
  std::size_t end = 0;
};
Block find_block(const Lines& lines, Block within, std::size_t indentation, std::string_view key) {
  const std::string start = std::string(indentation, ' ') + std::string(key) + ":";
  for (std::size_t i = within.key; i < within.end; ++i) {
    if (!lines[i].starts_with(start)) continue;
    std::size_t end = i + 1;
    while (end < within.end && is_inside(lines[end], indentation + 1)) ++end;
    return {i, end};
  }
  return {within.end, within.end};
}

void replace(Lines& lines, Block block, const Lines& by) {
  const auto at = lines.begin() + static_cast<std::ptrdiff_t>(block.key);
  const auto after = lines.erase(at, lines.begin() + static_cast<std::ptrdiff_t>(block.end));
  lines.insert(after, by.begin(), by.end());
}

// Returns the block of a path of keys; all levels must be block mappings.
Block find_path(const Lines& lines, std::span<const std::string> path) {
  Block block{0, lines.size()};
  for (std::size_t level = 0; level < path.size(); ++level) {
    if (level > 0) ++block.key;
    block = find_block(lines, block, 2 * level, path[level]);
    if (block.key == block.end) break;
  }
  return block;
}

// Puts `body` under the keys of `path`, and adds the missing keys.
void set_mapping(Lines& lines, std::span<const std::string> path, const Lines& body) {
  Block within{0, lines.size()};
  std::size_t indentation = 0;
  for (std::size_t level = 0; level < path.size(); ++level, indentation += 2) {
    const Block block = find_block(lines, within, indentation, path[level]);
    const std::string key = std::string(indentation, ' ') + path[level] + ":";
    if (level + 1 == path.size()) {
      Lines text = {key};
      for (const std::string& line : body) text.push_back(std::string(indentation + 2, ' ') + line);
      return replace(lines, block, text);
    }
    if (block.key == block.end) {
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(block.key), key);
      within = {block.key + 1, block.key + 1};
    } else {
      within = {block.key + 1, block.end};
    }
  }
}

// Replaces a section of a profile, and keeps the keys that the new section does not replace.
void set_section(Lines& lines, const FittedSection& section, const Lines& body) {
  std::vector<std::pair<std::vector<std::string>, Lines>> kept;
  for (const std::vector<std::string>& keys : section.kept) {
    std::vector<std::string> path = section.path;
    path.insert(path.end(), keys.begin(), keys.end());
    const Block block = find_path(lines, path);
    path.pop_back();
    kept.emplace_back(std::move(path), Lines(lines.begin() + static_cast<std::ptrdiff_t>(block.key),
                                             lines.begin() + static_cast<std::ptrdiff_t>(block.end)));
  }
  set_mapping(lines, section.path, body);
  for (const auto& [path, text] : kept) {
    const std::size_t end = find_path(lines, path).end;
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(end), text.begin(), text.end());
  }
}

bool is_named(const Lines& lines, const std::string& source) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(", " + source + "]") != std::string::npos; });
}

// Removes the sources that figures named before, and that no figure names any more.
void drop_sources(Lines& lines, const Lines& before) {
  const Block sources = find_block(before, {0, before.size()}, 0, "sources");
  for (std::size_t i = sources.key + 1; i < sources.end; ++i) {
    const std::size_t colon = before[i].find(':');
    if (colon == std::string::npos || colon <= 2) continue;
    const std::string key = before[i].substr(2, colon - 2);
    if (!is_named(before, key) || is_named(lines, key)) continue;
    const Block now = find_block(lines, {0, lines.size()}, 0, "sources");
    replace(lines, find_block(lines, {now.key + 1, now.end}, 2, key), {});
  }
}

void set_source(Lines& lines, const std::string& key, const std::string& text) {
  Block sources = find_block(lines, {0, lines.size()}, 0, "sources");
  if (sources.key == sources.end) {
    lines.insert(lines.begin(), "sources:");
    sources = {0, 1};
  }
  const Block entry = find_block(lines, {sources.key + 1, sources.end}, 2, key);
  replace(lines, entry, {fmt::format("  {}: {}", key, quoted_yaml(text))});
}

// Puts figures of the profile itself at their old places, or at the end.
void set_figures(Lines& lines, const FittedSection& section) {
  for (const FittedConstant& constant : section.constants) {
    const Block block = find_block(lines, {0, lines.size()}, 0, constant.name);
    replace(lines, block, {fmt::format("{}: [{:.4g}, {}]", constant.name, constant.value, section.source_key)});
  }
}

// Returns the lines of a section: constants under the same keys stand together.
Lines body_of(const FittedSection& section) {
  Lines out;
  std::string_view above;  // "head_dims.64."
  for (const FittedConstant& constant : section.constants) {
    const std::string_view name = constant.name;
    const std::string_view prefix = name.substr(0, name.rfind('.') + 1);
    std::size_t indentation = 0;
    for (std::size_t at = 0, dot = 0; (dot = prefix.find('.', at)) != std::string_view::npos; at = dot + 1) {
      const std::string_view key = prefix.substr(at, dot - at);
      if (!above.starts_with(prefix.substr(0, dot + 1))) out.push_back(fmt::format("{:{}}{}:", "", indentation, key));
      indentation += 2;
    }
    above = prefix;
    out.push_back(fmt::format("{:{}}{}: [{:.4g}, {}]", "", indentation, name.substr(prefix.size()), constant.value,
                              section.source_key));
  }
  const FitScore& score = section.scores.back();
  const auto count = score.fitted.count + score.held_out.count;
  if (count == 0) {
    fail_input({},
               fmt::format("{}: no row with {} was measured, which fits are judged by", fmt::join(section.path, "."),
                           score.name),
               "measure the sizes that training runs, or score the tables alone with --score");
  }
  out.push_back(fmt::format("measurements: {}", count));
  out.push_back(fmt::format("median_error: {:.4f}", score.fitted.median_ape));
  out.push_back(fmt::format("p90_error: {:.4f}", score.fitted.p90_ape));
  out.push_back(fmt::format("held_out_median_error: {:.4f}", score.held_out.median_ape));
  out.push_back(fmt::format("held_out_p90_error: {:.4f}", score.held_out.p90_ape));
  return out;
}

}  // namespace

std::string with_sections(std::string_view profile, const std::vector<FittedSection>& sections) {
  const Lines before = lines_of(profile);
  Lines lines = before;
  for (const FittedSection& section : sections) {
    if (section.path.empty())
      set_figures(lines, section);
    else
      set_section(lines, section, body_of(section));
    set_source(lines, section.source_key, section.source);
  }
  drop_sources(lines, before);
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

}  // namespace mirfak
