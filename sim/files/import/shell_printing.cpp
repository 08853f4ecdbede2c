// echo and printf.

#include "import/shell_interpreter.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace mirfak {

namespace {

constexpr std::size_t kMostWritten = 1U << 20;

std::vector<ShellField> words_there(const std::vector<ShellField>& fields) {
  std::vector<ShellField> out;
  for (const ShellField& field : fields) {
    if (!field.vanishes) out.push_back(field);
  }
  return out;
}

// Reads at most `most` digits of a base at `at`.
int escaped_number(std::string_view text, std::size_t& at, int base, std::size_t most) {
  int out = 0;
  for (std::size_t count = 0; count < most && at < text.size(); ++count, ++at) {
    const char sign = text[at];
    const int digit = sign >= '0' && sign <= '9'   ? sign - '0'
                      : sign >= 'a' && sign <= 'f' ? sign - 'a' + 10
                      : sign >= 'A' && sign <= 'F' ? sign - 'A' + 10
                                                   : 99;
    if (digit >= base) break;
    out = out * base + digit;
  }
  return out;
}

}  // namespace

// Replaces backslashes as echo -e reads them (\0101), or as printf reads those of its format (\101).
ShellText unescaped_text(const ShellText& text, bool of_format, bool& ends) {
  ShellText out;
  constexpr std::string_view signs = "ntr\\abfvEe";
  constexpr std::string_view meant = "\n\t\r\\\a\b\f\v\x1b\x1b";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text.chars[i + 1] : '\0';
    const std::uint32_t from = text.at(i);
    if (text.chars[i] != '\\' || next == '\0') {
      out.add(text.chars[i], from);
      continue;
    }
    const std::size_t which = signs.find(next);
    std::size_t at = i + 2;
    const bool octal = next >= '0' && next <= '7' && (of_format || next == '0');
    const bool hexadecimal =
        next == 'x' && std::isxdigit(static_cast<unsigned char>(at < text.size() ? text.chars[at] : ' ')) != 0;
    if (next == 'c' && !of_format) {
      ends = true;
      return out;
    }
    if (which != std::string_view::npos) {
      out.add(meant[which], from);
    } else if (octal) {
      at = of_format ? i + 1 : i + 2;
      out.add(static_cast<char>(escaped_number(text.chars, at, 8, 3)), from);
    } else if (hexadecimal) {
      out.add(static_cast<char>(escaped_number(text.chars, at, 16, 2)), from);
    } else if (of_format && (next == '"' || next == '\'')) {
      out.add(next, from);
    } else {
      out.add('\\', from);
      at = i + 1;
    }
    i = at - 1;
  }
  for (const ShellMissing& one : text.missing) out.lack(one.name, one.unset);
  return out;
}

void ShellInterpreter::write(const ShellText& text) {
  if (outputs_.empty() || outputs_.back() == nullptr) return;
  spend(text.size(), here_);
  outputs_.back()->append(text);
  if (outputs_.back()->size() > kMostWritten) fail(here_, "commands that print more than 1 MiB");
}

ShellTruth ShellInterpreter::echo(const std::vector<ShellField>& fields) {
  bool newline = true;
  bool escapes = false;
  std::size_t first = 1;
  for (; first < fields.size(); ++first) {
    const std::string& word = fields[first].text.chars;
    if (word.size() < 2 || word[0] != '-' || word.find_first_not_of("neE", 1) != std::string::npos) break;
    for (const char sign : word.substr(1)) {
      newline = newline && sign != 'n';
      if (sign != 'n') escapes = sign == 'e';
    }
  }
  ShellText out;
  bool begun = false;
  bool ends = false;
  for (std::size_t i = first; i < fields.size() && !ends; ++i) {
    if (begun && !fields[i].vanishes) out.append(" ", fields[i].at);
    begun = begun || !fields[i].vanishes;
    out.append(escapes ? unescaped_text(fields[i].text, false, ends) : fields[i].text);
  }
  if (newline && !ends) out.append("\n", here_);
  write(out);
  return ShellTruth::yes;
}

namespace {

// One conversion of a format: %-5.2f.
struct Conversion {
  std::string flags;
  int width = 0;
  int precision = -1;
  char kind = '\0';
};

std::string padded_text(const std::string& text, const Conversion& conversion) {
  const bool left = conversion.flags.find('-') != std::string::npos;
  const auto width = static_cast<std::size_t>(conversion.width);
  if (text.size() >= width) return text;
  return left ? text + std::string(width - text.size(), ' ') : std::string(width - text.size(), ' ') + text;
}

// Reads 12, 0x1f, 017, 'A; nullopt if bash prints an error.
std::optional<std::int64_t> printf_number(const std::string& text) {
  if (text.empty()) return 0;
  if (text.size() > 1 && (text[0] == '\'' || text[0] == '"')) return static_cast<unsigned char>(text[1]);
  errno = 0;
  char* end = nullptr;
  const long long out = std::strtoll(text.c_str(), &end, 0);
  if (errno != 0 || *end != '\0') return std::nullopt;
  return out;
}

template <typename Number>
std::string converted(const Conversion& conversion, const char* size, Number number) {
  std::string format = "%" + conversion.flags + "*" + (conversion.precision >= 0 ? ".*" : "") + size + conversion.kind;
  std::array<char, 1024> out{};
  const int count =
      conversion.precision >= 0
          ? std::snprintf(out.data(), out.size(), format.c_str(), conversion.width, conversion.precision, number)
          : std::snprintf(out.data(), out.size(), format.c_str(), conversion.width, number);
  return {out.data(), static_cast<std::size_t>(std::clamp(count, 0, 1023))};
}

}  // namespace

ShellTruth ShellInterpreter::print_formatted(const std::vector<ShellField>& fields) {
  const std::vector<ShellField> words = words_there(fields);
  std::size_t first = 1;
  std::string variable;
  if (words.size() > 2 && words[1].text.chars == "-v") {
    variable = words[2].text.chars;
    first = 3;
  }
  if (words.size() > first && words[first].text.chars == "--") ++first;
  if (words.size() <= first) return failed(2);
  bool ends = false;
  const ShellText format = words[first].text;
  const std::uint32_t at = words[first].at;
  std::size_t next = first + 1;
  ShellText out;
  const auto argument = [&] { return next < words.size() ? words[next++].text : ShellText{}; };
  const auto number_of_argument = [&]() -> int {
    const ShellText text = argument();
    const auto number = printf_number(text.chars);
    if (!text.known() || !number || std::abs(*number) > 200) fail(at, "printf: a width that is not understood");
    return static_cast<int>(*number);
  };
  do {
    const std::size_t before = next;
    step(at);
    for (std::size_t i = 0; i < format.size() && !ends;) {
      if (format.chars[i] != '%') {
        const std::size_t end = std::min(format.chars.find('%', i), format.size());
        bool ignored = false;
        out.append(unescaped_text(format.part(i, end - i), true, ignored));
        i = end;
        continue;
      }
      Conversion conversion;
      const std::uint32_t from = format.at(i);
      ++i;
      while (i < format.size() && std::string_view("-+ #0'").find(format.chars[i]) != std::string_view::npos)
        conversion.flags += format.chars[i++];
      const auto size = [&](int otherwise) {
        if (i < format.size() && format.chars[i] == '*') return ++i, number_of_argument();
        int out_of_digits = otherwise;
        for (; i < format.size() && format.chars[i] >= '0' && format.chars[i] <= '9'; ++i)
          out_of_digits = std::min(10'000, std::max(0, out_of_digits) * 10 + (format.chars[i] - '0'));
        return out_of_digits;
      };
      conversion.width = size(0);
      if (conversion.width < 0) {
        conversion.flags += '-';
        conversion.width = -conversion.width;
      }
      if (i < format.size() && format.chars[i] == '.') {
        ++i;
        conversion.precision = size(0);
      }
      while (i < format.size() && std::string_view("hlLjzt").find(format.chars[i]) != std::string_view::npos) ++i;
      conversion.kind = i < format.size() ? format.chars[i] : '\0';
      ++i;
      if (conversion.width > 200 || conversion.precision > 200) fail(at, "printf: a width of more than 200");
      if (conversion.kind == '%') {
        out.add('%', from);
        continue;
      }
      if (conversion.kind == '(') {
        i = std::min(format.chars.find(')', i) + 2, format.size());
        argument();
        out.lack("$(printf ...)", false);
        continue;
      }
      const ShellText text = argument();
      if (!text.known() &&
          !(std::string_view("sb").find(conversion.kind) != std::string_view::npos && conversion.width == 0)) {
        for (const ShellMissing& one : text.missing) out.lack(one.name, one.unset);
        continue;
      }
      switch (conversion.kind) {
        case 's':
        case 'b': {
          ShellText shown = conversion.kind == 'b' ? unescaped_text(text, false, ends) : text;
          if (conversion.precision >= 0) shown = shown.part(0, static_cast<std::size_t>(conversion.precision));
          const std::string all = padded_text(shown.chars, conversion);
          const std::size_t blanks = all.size() - shown.size();
          const bool left = conversion.flags.find('-') != std::string::npos;
          if (!left) out.append(std::string(blanks, ' '), from);
          out.append(shown);
          if (left) out.append(std::string(blanks, ' '), from);
          break;
        }
        case 'c':
          out.append(padded_text(text.chars.substr(0, 1), conversion), from);
          break;
        case 'q': {
          constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=+@%,";
          std::string shown = text.empty() ? "''" : "";
          for (std::size_t k = 0; k < text.size(); ++k) {
            const char sign = text.chars[k];
            if (static_cast<unsigned char>(sign) < ' ' || static_cast<unsigned char>(sign) > '~')
              fail(at, "printf %q: a text with control characters is not quoted");
            // A comma is quoted too.
            if (plain.find(sign) == std::string_view::npos || sign == ',') shown += '\\';
            shown += sign;
          }
          out.append(padded_text(shown, conversion), from);
          break;
        }
        case 'd':
        case 'i':
        case 'u':
        case 'o':
        case 'x':
        case 'X': {
          const auto number = printf_number(text.chars);
          if (!number) fail(at, fmt::format("printf: '{}' is not a number", excerpt(text.chars, 40)));
          out.append(converted(conversion, "ll", static_cast<long long>(*number)), text.empty() ? from : text.at(0));
          break;
        }
        case 'e':
        case 'E':
        case 'f':
        case 'F':
        case 'g':
        case 'G': {
          char* end = nullptr;
          const long double number = std::strtold(text.chars.c_str(), &end);
          if (*end != '\0') fail(at, fmt::format("printf: '{}' is not a number", excerpt(text.chars, 40)));
          if (number > 1e200L || number < -1e200L) fail(at, "printf: a number that is too large");
          out.append(converted(conversion, "L", number), text.empty() ? from : text.at(0));
          break;
        }
        default:
          fail(at, fmt::format("printf: '%{}' is not read", conversion.kind));
      }
      if (out.size() > kMostWritten) fail(at, "commands that print more than 1 MiB");
    }
    if (next == before) break;
  } while (next < words.size() && !ends);
  here_ = words.front().at;
  if (variable.empty()) {
    write(out);
  } else {
    assign_named(variable, std::move(out));
  }
  return ShellTruth::yes;
}

}  // namespace mirfak
