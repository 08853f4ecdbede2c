// A log is read line by line, by the texts of one program's format. A line belongs to a rank by the mark in front of
// it. Settings (a table of arguments, or JSON over several lines) are gathered first, facts and times as they come.

#include "import/training_log.hpp"

#include "base/cancellation.hpp"
#include "base/text.hpp"
#include "import/json_file.hpp"
#include "import/number_words.hpp"
#include "import/option_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::size_t kMostJsonLines = 20'000;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool has_any(std::string_view text, const std::vector<std::string>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) { return has(text, part); });
}

// A line without colours and the mark of its rank.
struct LogLine {
  std::string text;
  std::string rank;          // "3"; "": the line has no mark
  std::vector<int> columns;  // column in the file, by the index in `text`
  int number = 0;

  Location at(const std::string& file, std::size_t index) const {
    return {file, number, columns.empty() ? 1 : columns[std::min(index, columns.size() - 1)]};
  }
};

// Returns the index behind an escape sequence of a terminal that begins at `at`.
std::size_t behind_escape(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  if (end >= text.size() || text[end] != '[') return std::min(end + 1, text.size());
  ++end;
  while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
  return std::min(end + 1, text.size());
}

// Matches the mark "[rank{n}]:" at the beginning of a line. Returns its length, 0 if the line has another beginning.
std::size_t mark_length(std::string_view line, std::string_view mark, std::string& rank) {
  const std::size_t hole = mark.find("{n}");
  const std::string_view head = mark.substr(0, hole);
  const std::string_view tail = mark.substr(hole + 3);
  if (hole == std::string_view::npos || !line.starts_with(head)) return 0;
  std::size_t end = head.size();
  while (end < line.size() && line[end] >= '0' && line[end] <= '9') ++end;
  if (end == head.size() || !line.substr(end).starts_with(tail)) return 0;
  rank = line.substr(head.size(), end - head.size());
  return end + tail.size();
}

LogLine clean_line(std::string_view raw, int number, const std::vector<std::string>& ranks) {
  LogLine out;
  out.number = number;
  raw = raw.substr(0, kLongestLine);
  std::size_t begin = 0;
  for (const std::string& mark : ranks) {
    begin = mark_length(raw, mark, out.rank);
    if (begin > 0) break;
  }
  for (std::size_t i = begin; i < raw.size();) {
    if (raw[i] == '\x1b') {
      i = behind_escape(raw, i);
      continue;
    }
    out.text += raw[i];
    out.columns.push_back(static_cast<int>(i) + 1);
    ++i;
  }
  return out;
}

// Reads Python's list of plain items, "[1, 'a']"; other values are one word.
Value python_value(std::string_view text, const Location& where) {
  const auto plain = [](std::string_view word) {
    word = trimmed(word);
    const bool quoted = word.size() > 1 && (word.front() == '\'' || word.front() == '"') && word.back() == word.front();
    return std::string(quoted ? word.substr(1, word.size() - 2) : word);
  };
  if (text.size() < 2 || text.front() != '[' || text.back() != ']' || has(text.substr(1), "[") || has(text, "(")) {
    return scalar_value(plain(text), where);
  }
  std::vector<std::string> items;
  std::string_view rest = text.substr(1, text.size() - 2);
  while (!trimmed(rest).empty()) {
    const std::size_t comma = rest.find(',');
    items.push_back(plain(rest.substr(0, comma)));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return list_value(items, where);
}

// Reads "name ..... value", whatever stands in front of the name; nullopt for another line.
std::optional<Setting> table_entry(const LogLine& line, const std::string& file) {
  const std::size_t dots = line.text.find(" .");
  if (dots == std::string::npos || dots == 0) return std::nullopt;
  std::size_t end = dots + 1;
  while (end < line.text.size() && line.text[end] == '.') ++end;
  if (end >= line.text.size() || line.text[end] != ' ') return std::nullopt;
  const std::size_t blank = line.text.find_last_of(" \t", dots - 1);
  const std::size_t begin = blank == std::string::npos ? 0 : blank + 1;
  const std::string name = line.text.substr(begin, dots - begin);
  const std::string_view value = trimmed(std::string_view(line.text).substr(end));
  if (name.empty()) return std::nullopt;
  const Location where = line.at(file, begin);
  return Setting{name, python_value(value, where), where, fmt::format("{}: {}", name, value)};
}

// Reads a progress bar, "120/500 [10:02<31:46, 5.02s/it]".
std::optional<LoggedTime> bar_of(std::string_view line, std::size_t& at) {
  const std::size_t open = line.find(" [");
  const std::size_t until = open == std::string_view::npos ? open : line.find('<', open);
  if (until == std::string_view::npos || open == 0) return std::nullopt;
  double elapsed = 0;
  std::string_view clock = line.substr(open + 2, until - open - 2);
  for (;;) {
    const std::size_t colon = clock.find(':');
    const auto part = whole_number_of(clock.substr(0, colon));
    if (!part || *part < 0) return std::nullopt;
    elapsed = elapsed * 60 + static_cast<double>(*part);
    if (colon == std::string_view::npos) break;
    clock.remove_prefix(colon + 1);
  }
  const std::size_t blank = line.find_last_of(" |", open - 1);
  at = blank == std::string_view::npos ? 0 : blank + 1;
  const std::string_view count = line.substr(at, open - at);
  const std::size_t slash = count.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto step = whole_number_of(count.substr(0, slash));
  const auto total = whole_number_of(count.substr(slash + 1));
  if (!step || !total || *step < 0 || *total < *step) return std::nullopt;
  LoggedTime out;
  out.step = static_cast<double>(*step);
  out.batch = static_cast<double>(*total);  // tells the bar of training from the bars of evaluations
  out.unit = LogUnit::elapsed;
  out.value = elapsed;
  return out;
}

std::optional<LoggedTime> time_of(const LogLine& line, const LogTime& rule, const std::string& file) {
  std::size_t at = 0;
  std::optional<LoggedTime> out;
  if (rule.unit == LogUnit::elapsed) {
    out = bar_of(line.text, at);
  } else {
    const bool fits =
        std::all_of(rule.in.begin(), rule.in.end(), [&](const std::string& text) { return has(line.text, text); });
    if (!fits || (!rule.without.empty() && has(line.text, rule.without))) return std::nullopt;
    const std::optional<double> value = number_behind(line.text, rule.value, &at);
    if (!value || *value <= 0) return std::nullopt;
    out = LoggedTime{{}, {}, rule.unit, *value, {}};
    if (!rule.step.empty()) out->step = number_behind(line.text, rule.step);
    if (!rule.batch.empty()) out->batch = number_behind(line.text, rule.batch);
  }
  if (out) out->where = line.at(file, at);
  return out;
}

// Returns the number as people write it: "64".
std::string number_text(double number) { return fmt::format("{:.15g}", number); }

std::string in_words(const LogFact& fact, const std::string& word) {
  const auto found = fact.words.find(word);
  return found == fact.words.end() ? word : found->second;
}

std::optional<LoggedFact> fact_of(const LogLine& line, const LogFact& fact, const std::string& file) {
  const std::size_t begin = fact.in.empty() ? std::string::npos : line.text.find(fact.in);
  if (begin == std::string::npos) return std::nullopt;
  const std::string_view rest = std::string_view(line.text).substr(begin);
  std::size_t at = 0;
  std::string word;
  if (!fact.product.empty()) {
    double product = 1;
    for (const std::string& text : fact.product) {
      const std::optional<double> factor = number_behind(rest, text, &at);
      if (!factor) return std::nullopt;
      product *= *factor;
    }
    word = number_text(product);
  } else if (fact.until.empty()) {
    const std::optional<double> number = number_behind(rest, fact.after, &at);
    if (!number) return std::nullopt;
    word = number_text(*number);
  } else {
    at = rest.find(fact.after);
    if (at == std::string_view::npos) return std::nullopt;
    at += fact.after.size();
    const std::size_t end = rest.find(fact.until, at);
    if (end == std::string_view::npos) return std::nullopt;
    word = in_words(fact, std::string(trimmed(rest.substr(at, end - at))));
  }
  return LoggedFact{fact.key, word, line.at(file, begin + at), std::string(trimmed(excerpt(rest, 100)))};
}

// Moves places of a text of gathered lines to the lines of the log.
void move_places(Value& value, const std::vector<LogLine>& lines, std::size_t first_column) {
  for (Location* where : {&value.where, &value.key_where}) {
    if (where->line < 1 || where->line > static_cast<int>(lines.size())) continue;
    const LogLine& line = lines[static_cast<std::size_t>(where->line) - 1];
    const auto index = static_cast<std::size_t>(std::max(0, where->column - 1)) + (where->line == 1 ? first_column : 0);
    *where = line.at(where->file, index);
  }
  for (Value& item : value.items) move_places(item, lines, first_column);
  for (Value::Field& field : value.fields) move_places(field.value, lines, first_column);
}

// Braces of JSON that are still open after a text; braces within strings do not count.
class OpenBraces {
 public:
  // Returns the index behind the brace that closes the first one; npos: it is still open.
  std::size_t read(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char sign = text[i];
      if (quoted_) {
        if (sign == '\\') ++i;
        if (sign == '"') quoted_ = false;
      } else if (sign == '"') {
        quoted_ = true;
      } else if (sign == '{' || sign == '[') {
        ++open_;
      } else if ((sign == '}' || sign == ']') && --open_ == 0) {
        return i + 1;
      }
    }
    return std::string_view::npos;
  }

 private:
  bool quoted_ = false;
  int open_ = 0;
};

bool states_something(const TrainingLog& log) {
  return std::any_of(log.starts.begin(), log.starts.end(),
                     [](const LoggedStart& start) { return start.timed() || !start.settings.empty(); });
}

class LogReader {
 public:
  LogReader(const ImportFile& file, const LogFormats& formats, const LogFormat& format)
      : file_(file), ranks_(formats.ranks) {
    log_.format = format;
    log_.starts.push_back({{file.name, 1, 1}, {}, {}, {}});
  }

  // Reads the log, or its beginning up to the first statement that tells a log from other files.
  TrainingLog read(bool whole) {
    const std::string_view text = file_.text;
    std::size_t begin = 0;
    int number = 1;
    while (begin < text.size()) {
      if (number % 4096 == 0) check_cancelled();
      const std::size_t end = text.find_first_of("\n\r", begin);
      if (end == std::string_view::npos) {
        note({file_.name, number, 1}, "the last line has no end: it may be cut off, and is not read");
        break;
      }
      read_line(clean_line(text.substr(begin, end - begin), number, ranks_));
      if (text[end] == '\n') ++number;
      begin = end + 1;
      if (!whole && json_.empty() && !table_ && states_something(log_)) break;
    }
    finish();
    return std::move(log_);
  }

 private:
  LoggedStart& start() { return log_.starts.back(); }
  void note(const Location& where, std::string reason) { log_.notes.push_back({where, std::move(reason)}); }

  void read_line(LogLine line) {
    if (!json_.empty()) return gather_json(std::move(line));
    const LogFormat& format = log_.format;
    if (has_any(line.text, format.begins)) begin_again(line);
    if (!format.table_begin.empty() && has(line.text, format.table_begin)) {
      table_ = line;
      return;
    }
    if (table_) return read_table(line);
    if (!format.json.empty() && begins_json(line)) return;
    for (const LogFact& rule : format.facts) {
      if (std::optional<LoggedFact> fact = fact_of(line, rule, file_.name)) add_fact(std::move(*fact));
    }
    for (const LogTime& rule : format.times) {
      const std::optional<LoggedTime> time = time_of(line, rule, file_.name);
      if (!time) continue;
      add_time(line, *time);
      break;
    }
  }

  // Begins another start, unless the last one has nothing so far, or another rank begins it as well.
  void begin_again(const LogLine& line) {
    const bool other_rank = !begun_by_.empty() && line.rank != begun_by_ && !start().timed();
    if (other_rank) return;
    begun_by_ = line.rank;
    if (start().timed()) {
      log_.starts.push_back({{file_.name, line.number, 1}, {}, {}, {}});
    } else if (start().settings.empty() && start().facts.empty()) {
      start().where = {file_.name, line.number, 1};
    }
  }

  void read_table(const LogLine& line) {
    if (has(line.text, log_.format.table_end)) {
      table_.reset();
      take_facts_of_table();
      return;
    }
    if (line.rank != table_->rank) return;
    if (start().settings.size() >= kMaxSettings) return;
    if (std::optional<Setting> setting = table_entry(line, file_.name)) start().settings.push_back(std::move(*setting));
  }

  void take_facts_of_table() {
    for (const LogFact& rule : log_.format.facts) {
      for (const Setting& setting : start().settings) {
        if (rule.setting.empty() || setting.name != rule.setting) continue;
        add_fact({rule.key, in_words(rule, setting.value.scalar), setting.where, setting.text});
      }
    }
  }

  bool begins_json(const LogLine& line) {
    const std::size_t text = line.text.find(log_.format.json);
    if (text == std::string::npos) return false;
    const std::size_t brace = line.text.find_first_not_of(" \t", text + log_.format.json.size());
    if (brace == std::string::npos || line.text[brace] != '{') return false;
    first_column_ = brace;
    braces_ = {};
    json_text_.clear();
    gather_json(line);
    return true;
  }

  void gather_json(LogLine line) {
    if (!json_.empty() && line.rank != json_.front().rank) return;
    const std::string_view text = std::string_view(line.text).substr(json_.empty() ? first_column_ : 0);
    const std::size_t end = braces_.read(text);
    json_text_ += std::string(text.substr(0, end)) + "\n";
    json_.push_back(std::move(line));
    if (end != std::string_view::npos) return take_json();
    if (json_.size() < kMostJsonLines) return;
    note(json_.front().at(file_.name, first_column_), "settings as JSON that do not end: they are not read");
    json_.clear();
  }

  void take_json() {
    try {
      Value root = parse_json_file(json_text_, file_.name, {});
      move_places(root, json_, first_column_);
      start().settings = settings_of(root);
    } catch (const Error& error) {
      note(json_.front().at(file_.name, first_column_),
           fmt::format("settings as JSON that cannot be read ({}): lines of other processes may stand among them",
                       error.message()));
    }
    json_.clear();
  }

  void add_fact(LoggedFact fact) {
    for (const LoggedFact& known : start().facts) {
      if (known.key != fact.key) continue;
      if (known.word != fact.word && differing_.insert(fact.key).second) {
        note(fact.where,
             fmt::format("{} is {}, and {} at {}, which counts", fact.key, fact.word, known.word, known.where.text()));
      }
      return;
    }
    start().facts.push_back(std::move(fact));
  }

  void add_time(const LogLine& line, const LoggedTime& time) {
    if (!timing_rank_) timing_rank_ = line.rank;
    if (line.rank != *timing_rank_) {
      ++other_ranks_[line.rank];
      return;
    }
    std::vector<std::vector<LoggedTime>>& parts = start().parts;
    if (time.unit == LogUnit::elapsed && !parts.empty() && !same_bar(parts.back().front(), time)) return;
    const bool back = !parts.empty() && goes_back(parts.back().back(), time);
    if (parts.empty() || back) parts.emplace_back();
    parts.back().push_back(time);
  }

  static bool same_bar(const LoggedTime& a, const LoggedTime& b) {
    return a.unit != LogUnit::elapsed || a.batch == b.batch;
  }

  static bool goes_back(const LoggedTime& last, const LoggedTime& next) {
    if (last.unit == LogUnit::elapsed && next.unit == LogUnit::elapsed && next.value < last.value) return true;
    return last.step && next.step && *next.step < *last.step;
  }

  void finish() {
    if (table_) {
      take_facts_of_table();
      note({file_.name, table_->number, 1},
           "the table of settings has no end, as the log is cut off: it is not known to be whole, and is not read");
      start().settings.clear();
    }
    if (!json_.empty())
      note(json_.front().at(file_.name, first_column_),
           "the settings have no end, as the log is cut off: they are not read");
    if (!other_ranks_.empty())
      note({file_.name, 0, 0}, fmt::format("times of {} other rank{} are not read: rank {} stated one first",
                                           other_ranks_.size(), other_ranks_.size() == 1 ? "" : "s", *timing_rank_));
    std::vector<LoggedStart>& starts = log_.starts;
    const bool any = std::any_of(starts.begin(), starts.end(), [](const LoggedStart& one) { return one.timed(); });
    if (!any) return;
    for (const LoggedStart& one : starts) {
      if (!one.timed()) note(one.where, "a start without the time of a step: it is not read");
    }
    std::erase_if(starts, [](const LoggedStart& one) { return !one.timed(); });
  }

  const ImportFile& file_;
  const std::vector<std::string>& ranks_;
  TrainingLog log_;
  std::string begun_by_;
  std::optional<LogLine> table_;
  std::vector<LogLine> json_;  // lines of the JSON that is being read
  std::string json_text_;
  std::size_t first_column_ = 0;
  OpenBraces braces_;
  std::optional<std::string> timing_rank_;
  std::map<std::string, int> other_ranks_;
  std::set<std::string> differing_;
};

// True if the text may hold lines of a program: a line is read only where one of these texts stands.
bool may_be_of(const std::string& text, const LogFormat& format) {
  if (!format.tells.empty() && !has_any(text, format.tells)) return false;
  if (!format.table_begin.empty() && has(text, format.table_begin)) return true;
  if (!format.json.empty() && has(text, format.json)) return true;
  return std::any_of(format.times.begin(), format.times.end(), [&](const LogTime& time) {
    return time.unit == LogUnit::elapsed ||
           std::all_of(time.in.begin(), time.in.end(), [&](const std::string& part) { return has(text, part); });
  });
}

std::optional<TrainingLog> log_in(const ImportFile& file, const std::filesystem::path& hardware) {
  const LogFormats formats = log_formats(hardware);
  std::optional<TrainingLog> out;
  for (const LogFormat& format : formats.programs) {
    if (!may_be_of(file.text, format)) continue;
    TrainingLog log = LogReader(file, formats, format).read(true);
    const bool timed = log.starts.front().timed();
    if (!states_something(log)) continue;
    if (!out || (timed && !out->starts.front().timed())) out = std::move(log);
    if (timed) break;
  }
  return out;
}

}  // namespace

bool is_training_log(const ImportFile& file, const std::filesystem::path& hardware) {
  const LogFormats formats = log_formats(hardware);
  return std::any_of(formats.programs.begin(), formats.programs.end(), [&](const LogFormat& format) {
    return may_be_of(file.text, format) && states_something(LogReader(file, formats, format).read(false));
  });
}

TrainingLog read_training_log(const ImportFile& file, const std::filesystem::path& hardware) {
  std::optional<TrainingLog> out = log_in(file, hardware);
  if (out) return std::move(*out);
  std::vector<std::string> names;
  for (const LogFormat& format : log_formats(hardware).programs) names.push_back(format.program);
  fail_input({file.name, 0, 0}, "no line states the time of a step",
             fmt::format("expected what {} print while they train", join_or(names)));
}

}  // namespace mirfak
