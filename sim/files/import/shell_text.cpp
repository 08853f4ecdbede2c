#include "import/shell_text.hpp"

#include <algorithm>

namespace mirfak {

namespace {

constexpr std::uint32_t kMostText = 4U << 20;
constexpr std::size_t kMostMissing = 1000;

}  // namespace

bool ShellText::known() const {
  return std::all_of(missing.begin(), missing.end(), [](const ShellMissing& one) { return one.unset; });
}

void ShellText::add(char sign, std::uint32_t from) {
  chars += sign;
  origin.push_back(from);
}

void ShellText::append(const ShellText& other) {
  const std::size_t before = size();
  chars += other.chars;
  origin.insert(origin.end(), other.origin.begin(), other.origin.end());
  for (const ShellMissing& one : other.missing) {
    if (missing.size() < kMostMissing) missing.push_back({one.name, one.unset, before + one.at});
  }
}

void ShellText::append(std::string_view text, std::uint32_t from) {
  chars += text;
  origin.resize(chars.size(), from);
}

ShellText ShellText::part(std::size_t begin, std::size_t count) const {
  begin = std::min(begin, size());
  count = std::min(count, size() - begin);
  ShellText out;
  out.chars = chars.substr(begin, count);
  const auto first = origin.begin() + static_cast<std::ptrdiff_t>(begin);
  out.origin.assign(first, first + static_cast<std::ptrdiff_t>(count));
  const bool to_end = begin + count == size();
  for (const ShellMissing& one : missing) {
    const bool inside = one.at >= begin && (one.at < begin + count || (to_end && one.at == size()));
    if (inside) out.missing.push_back({one.name, one.unset, one.at - begin});
  }
  return out;
}

void ShellText::lack(const std::string& name, bool unset) {
  const auto same = std::find_if(missing.begin(), missing.end(),
                                 [&](const ShellMissing& one) { return one.name == name && one.at == size(); });
  if (same != missing.end()) {
    same->unset = same->unset && unset;
  } else if (missing.size() < kMostMissing) {
    missing.push_back({name, unset, size()});
  }
}

ShellText shell_text(std::string_view text, std::uint32_t from) {
  ShellText out;
  out.append(text, from);
  return out;
}

ShellText ShellSources::add(const std::string& name, const std::string& text) {
  if (text.size() > kMostText - std::min(next_, kMostText))
    fail_input({name, 0, 0}, "scripts of more than 4 MiB", "give fewer files");
  Source source{name, next_, {next_}, next_ + static_cast<std::uint32_t>(text.size())};
  ShellText out;
  out.chars = text;
  out.origin.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto place = static_cast<std::uint32_t>(next_ + i);
    out.origin.push_back(place);
    if (text[i] == '\n') source.lines.push_back(place + 1);
  }
  next_ = source.end + 1;
  sources_.push_back(std::move(source));
  return out;
}

Location ShellSources::where(std::uint32_t origin) const {
  for (const Source& source : sources_) {
    if (origin < source.begin || origin > source.end) continue;
    const auto line = std::upper_bound(source.lines.begin(), source.lines.end(), origin) - 1;
    return {source.name, static_cast<int>(line - source.lines.begin()) + 1, static_cast<int>(origin - *line) + 1};
  }
  return {};
}

std::vector<WrittenPart> ShellSources::parts(const ShellText& text) const {
  std::vector<WrittenPart> out;
  std::uint32_t next = 0;  // origin that continues the last part
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint32_t at = text.at(i);
    const bool joins = !out.empty() && (at == next || (at == 0 && !out.back().where.known()));
    if (joins) {
      ++out.back().size;
    } else {
      out.push_back({where(at), 1});
    }
    next = at == 0 ? 0 : at + 1;
  }
  return out;
}

}  // namespace mirfak
