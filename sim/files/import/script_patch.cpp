#include "import/script_patch.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "import/script_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace mirfak {

namespace {

// The values of all options, of which the last of a name counts.
using Meanings = std::map<std::string, std::vector<std::string>>;

Meanings meanings_of(const std::vector<StatedOption>& options) {
  Meanings out;
  for (const StatedOption& option : options) out[option.name] = option.values;
  return out;
}

const std::vector<std::string>* find(const Meanings& meanings, const std::string& name) {
  const auto found = meanings.find(name);
  return found == meanings.end() ? nullptr : &found->second;
}

bool same(const std::vector<std::string>* a, const std::vector<std::string>* b) {
  return a == nullptr || b == nullptr ? a == b : *a == *b;
}

bool is_quote(char sign) { return sign == '"' || sign == '\''; }

// Adds quotes that stand around a whole word to its range.
TextRange with_quotes(std::string_view text, TextRange range) {
  const bool inside = range.begin > 0 && range.end < text.size() && is_quote(text[range.begin - 1]) &&
                      text[range.end] == text[range.begin - 1];
  return inside ? TextRange{range.begin - 1, range.end + 1} : range;
}

std::string spelled(const std::string& name, const std::vector<std::string>& values) {
  std::string out = name;
  for (const std::string& value : values) out += " " + value;
  return out;
}

class ScriptPatcher {
 public:
  ScriptPatcher(const ImportFile& file, const CommandPromise& promise, const OptionNames& names,
                const std::function<CommandReading(const std::string&)>& read)
      : file_(file), promise_(promise), names_(names), read_(read), text_(file.text) {
    for (const CommandPromise::Option& one : promise.options) {
      if (one.option) promised_[one.name] = names.stated(*one.option).values;
    }
    take(read(text_));
  }

  ScriptPatch patch() {
    // A change may need another: a script that states a flag where TP is above 1 states it once TP is changed.
    for (int round = 0; round < 2; ++round) each_pending([&](const auto& one) { return change_values(one); });
    each_pending([&](const auto& one) { return change_option(one) || remove(one) || insert(one) || append(one); });
    for (const Option& one : promise_.options) {
      if (pending(one)) fail_at(one);
    }
    for (const auto& [name, value] : promise_.environment) set_variable(name, value);
    for (const std::string& name : promise_.unset) unset_variable(name);
    std::sort(told_.begin(), told_.end(), [](const Told& a, const Told& b) { return a.at < b.at; });
    ScriptPatch out{text_, {}};
    for (const Told& one : told_)
      out.edits.push_back(fmt::format("{}:{}: {}", file_.name, line_at(text_, one.at), one.what));
    return out;
  }

 private:
  using Option = CommandPromise::Option;

  // A change that was made, at an offset of the text.
  struct Told {
    std::size_t at;
    std::string what;
  };

  void take(CommandReading reading) {
    now_ = std::move(reading);
    stated_ = names_.stated(now_.arguments);
    meanings_ = meanings_of(stated_);
  }

  bool pending(const Option& one) const {
    return !same(find(meanings_, one.name), one.option ? find(promised_, one.name) : nullptr);
  }

  template <typename Change>
  void each_pending(const Change& change) {
    for (const Option& one : promise_.options) {
      if (pending(one)) change(one);
    }
  }

  // Returns an option that a reading changes against the promise; "": none.
  std::string broken_option(const Meanings& meanings) const {
    Meanings all = meanings_;
    all.insert(meanings.begin(), meanings.end());
    for (const auto& meaning : all) {
      const std::string& name = meaning.first;
      const std::vector<std::string>* now = find(meanings, name);
      if (same(now, find(meanings_, name))) continue;
      const auto option = std::find_if(promise_.options.begin(), promise_.options.end(),
                                       [&](const Option& candidate) { return candidate.name == name; });
      const bool free = option != promise_.options.end();
      if (!free || !same(now, option->option ? find(promised_, name) : nullptr)) return name;
    }
    return {};
  }

  // Takes a new text if the option then is as promised, and nothing else has changed but as promised.
  bool accept(std::string text, const Option& one) {
    try {
      CommandReading reading = read_(text);
      const Meanings meanings = meanings_of(names_.stated(reading.arguments));
      const std::string broken = broken_option(meanings);
      if (!broken.empty() && broken != one.name) blocked_[one.name] = "--" + broken;
      if (reading.others != now_.others) blocked_[one.name] = "other words that the script starts programs with";
      if (!broken.empty() || reading.others != now_.others) return false;
      if (!same(find(meanings, one.name), one.option ? find(promised_, one.name) : nullptr)) return false;
      text_ = std::move(text);
      take(std::move(reading));
      return true;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      return false;
    }
  }

  bool accept_edits(std::vector<TextEdit> edits, const Option& one) {
    std::sort(edits.begin(), edits.end(),
              [](const TextEdit& a, const TextEdit& b) { return a.range.begin > b.range.begin; });
    std::string text = text_;
    std::size_t before = text.size() + 1;
    for (const TextEdit& edit : edits) {
      if (edit.range.end > before) return false;  // ranges that overlap
      text = edited(text, edit);
      before = edit.range.begin;
    }
    const std::size_t first = edits.empty() ? 0 : edits.back().range.begin;
    const std::vector<std::string>* old = find(meanings_, one.name);
    const std::string was = old == nullptr ? "" : spelled("--" + one.name, *old);
    if (!accept(std::move(text), one)) return false;
    for (const TextEdit& edit : edits) move_told(edit);
    tell(one, was, first);
    return true;
  }

  void tell(const Option& one, const std::string& was, std::size_t at) {
    const std::string now = one.option ? shell_text(*one.option) : "";
    const std::string what = was.empty()   ? now + " is new"
                             : now.empty() ? was + " is removed"
                                           : fmt::format("{} was {}", now, was);
    const auto why = blocked_.find(one.name);
    const bool written_out = why != blocked_.end() && !was.empty() && !now.empty();
    told_.push_back(
        {at, excerpt(what, 200) +
                 (written_out ? fmt::format("; written out, as the old value also decides {}", why->second) : "")});
  }

  // Moves the places of earlier changes behind an edit.
  void move_told(const TextEdit& edit) {
    for (Told& one : told_) {
      if (one.at > edit.range.begin) one.at += edit.text.size() - (edit.range.end - edit.range.begin);
    }
  }

  const StatedOption* said(const Option& one) const {
    const auto last = std::find_if(stated_.rbegin(), stated_.rend(),
                                   [&](const StatedOption& option) { return option.name == one.name; });
    return last == stated_.rend() ? nullptr : &*last;
  }

  std::optional<TextRange> written(std::size_t word, std::size_t begin) const {
    return written_range(now_.arguments[word], begin, text_, file_.name);
  }

  // Changes the values where the file writes them, or the name of a flag that is negated by its name.
  bool change_values(const Option& one) {
    const StatedOption* option = said(one);
    if (option == nullptr || !one.option) return false;
    std::vector<std::string> values = one.option->words;
    std::vector<TextRange> ranges;
    if (values.empty()) {
      const auto range = option->count == 1 && !option->joined ? written(option->first, 0) : std::nullopt;
      if (!range) return false;
      values = {one.option->name};
      ranges = {*range};
    } else if (option->joined) {
      const std::size_t value = now_.arguments[option->first].text.find('=') + 1;
      const auto range = values.size() == 1 && option->count == 1 ? written(option->first, value) : std::nullopt;
      if (!range) return false;
      ranges = {*range};
    } else {
      if (option->count != values.size() + 1) return false;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto range = written(option->first + 1 + i, 0);
        if (!range) return false;
        ranges.push_back(*range);
      }
    }
    const char before = ranges.front().begin > 0 ? text_[ranges.front().begin - 1] : ' ';
    for (const bool plain : {is_quote(before), !is_quote(before)}) {
      std::vector<TextEdit> edits;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const bool differs = text_.substr(ranges[i].begin, ranges[i].end - ranges[i].begin) != values[i];
        if (differs) edits.push_back({ranges[i], plain ? values[i] : shell_word(values[i])});
      }
      if (accept_edits(std::move(edits), one)) return true;
    }
    return false;
  }

  // Returns the range in which the file writes an option with its values, however they are made.
  std::optional<TextRange> option_range(const StatedOption& option, bool in_string) const {
    const ArgumentWord& word = now_.arguments[option.first];
    if (option.joined) {
      if (word.parts.empty() || word.parts.front().where.file != file_.name) return std::nullopt;
      std::size_t begin = offset_of(text_, word.parts.front().where);
      if (!std::string_view(text_).substr(begin).starts_with(word.text.substr(0, word.parts.front().size)))
        return std::nullopt;
      if (!in_string && begin > 0 && is_quote(text_[begin - 1])) --begin;
      return word_at(text_, begin, in_string);
    }
    const std::optional<TextRange> name = written(option.first, 0);
    if (!name) return std::nullopt;
    TextRange out = in_string ? *name : with_quotes(text_, *name);
    for (std::size_t i = 1; i < option.count; ++i) {
      const TextRange value = word_at(text_, next_word(text_, out.end), in_string);
      if (value.begin == value.end) return std::nullopt;
      out.end = value.end;
    }
    return out;
  }

  // Writes the option out in place of its name and its values.
  bool change_option(const Option& one) {
    const StatedOption* option = said(one);
    if (option == nullptr || !one.option) return false;
    LaunchOption fresh = *one.option;
    const bool named = !fresh.words.empty() && !option->joined;
    if (named) fresh.name = now_.arguments[option->first].text;  // as the script spells it
    for (const bool in_string : {true, false}) {
      const std::optional<TextRange> range = option_range(*option, in_string);
      if (!range) continue;
      if (accept_edits({{*range, shell_text(fresh)}}, one)) return true;
      if (accept_edits({{*range, spelled(fresh.name, fresh.words)}}, one)) return true;
    }
    return false;
  }

  bool remove(const Option& one) {
    if (one.option) return false;
    for (const bool in_string : {true, false}) {
      std::vector<TextEdit> edits;
      bool all = true;
      for (const StatedOption& option : stated_) {
        if (option.name != one.name) continue;
        const std::optional<TextRange> range = option_range(option, in_string);
        all = all && range;
        if (range) edits.push_back(removal(text_, *range));
      }
      if (all && accept_edits(std::move(edits), one)) return true;
    }
    return remove_part(one);
  }

  // Removes a flag whose name is put together: --$flag.
  bool remove_part(const Option& one) {
    const StatedOption* option = said(one);
    if (option == nullptr || option->count > 1) return false;
    for (const WrittenPart& part : now_.arguments[option->first].parts) {
      if (part.where.file != file_.name) continue;
      for (const bool in_string : {true, false}) {
        const TextRange range = word_at(text_, offset_of(text_, part.where), in_string);
        if (range.begin < range.end && accept_edits({removal(text_, range)}, one)) return true;
      }
    }
    return false;
  }

  // Returns the options that the file writes itself, those nearest to an option first.
  std::vector<const StatedOption*> neighbours(const std::string& name) const {
    const auto distance = [&](const StatedOption* option) {
      return std::abs(static_cast<std::int64_t>(names_.place(option->name)) -
                      static_cast<std::int64_t>(names_.place(name)));
    };
    std::vector<const StatedOption*> out;
    for (const StatedOption& option : stated_) {
      if (written(option.first, 0)) out.push_back(&option);
    }
    std::stable_sort(out.begin(), out.end(), [&](const auto* a, const auto* b) { return distance(a) < distance(b); });
    constexpr std::size_t most = 12;
    out.resize(std::min(out.size(), most));
    return out;
  }

  bool insert(const Option& one) {
    if (said(one) != nullptr || !one.option) return false;
    const bool comes_last = !one.option->joined && !one.option->name.starts_with('-');  // a subcommand
    if (comes_last) return append(one);
    const std::string added = shell_text(*one.option);
    for (const StatedOption* neighbour : neighbours(one.name)) {
      const Side side = names_.place(neighbour->name) < names_.place(one.name) ? Side::after : Side::before;
      for (const bool in_string : {true, false}) {
        const std::optional<TextRange> range = option_range(*neighbour, in_string);
        if (range && accept_edits({insertion_beside(text_, *range, added, side)}, one)) return true;
      }
    }
    if (now_.program.known() && now_.program.file == file_.name) {
      const TextRange program = word_at(text_, offset_of(text_, now_.program), false);
      if (accept_edits({{{program.end, program.end}, " " + added}}, one)) return true;
    }
    return false;
  }

  // Adds an option at the end of the command, where it counts instead of what was stated before.
  bool append(const Option& one) {
    if (!one.option) return false;
    const std::string added = shell_text(*one.option);
    if (!now_.last.known()) {
      const std::string line = (text_.empty() || text_.ends_with('\n') ? "" : "\n") + added + "\n";
      return accept_edits({{{text_.size(), text_.size()}, line}}, one);
    }
    if (now_.last.file != file_.name) return false;
    return accept_edits({insertion_after(text_, offset_of(text_, now_.last) + 1, added)}, one);
  }

  [[noreturn]] void fail_at(const Option& one) const {
    const StatedOption* option = said(one);
    const Location where = option == nullptr ? now_.program : now_.arguments[option->first].where;
    const std::string what =
        one.option ? "--" + one.name + " shall be " + shell_text(*one.option) : "--" + one.name + " shall go";
    const auto blocked = blocked_.find(one.name);
    const std::string why = blocked != blocked_.end() ? fmt::format("its place also decides {}", blocked->second)
                            : where.file != file_.name
                                ? fmt::format("{} is another file, which is not changed", where.file)
                                : std::string("no place of the script decides this option alone");
    fail_input(where, fmt::format("{}: {}", excerpt(what, 160), why),
               "change this place by hand, or let --emit write a new script: --emit TARGET --launcher slurm");
  }

  bool has_variable(const CommandReading& reading, const std::string& name, const std::string& value) const {
    const auto found = reading.environment.find(name);
    return found != reading.environment.end() && found->second.value == value;
  }

  // Takes a text in which a variable is as promised and the command has the same arguments.
  template <typename Holds>
  bool accept_variable(const TextEdit& edit, const Holds& holds) {
    std::string text = edited(text_, edit);
    CommandReading reading = read_(text);
    const bool same_rest = reading.others == now_.others && meanings_of(names_.stated(reading.arguments)) == meanings_;
    if (!same_rest || !holds(reading)) return false;
    text_ = std::move(text);
    move_told(edit);
    take(std::move(reading));
    return true;
  }

  void set_variable(const std::string& name, const std::string& value) {
    if (has_variable(now_, name, value)) return;
    const auto holds = [&](const CommandReading& reading) { return has_variable(reading, name, value); };
    const auto old = now_.environment.find(name);
    if (old != now_.environment.end()) {
      const auto range = written_range({old->second.value, {}, {}, false, old->second.parts}, 0, text_, file_.name);
      if (range && accept_variable({*range, value}, holds)) return tell_variable(range->begin, name + "=" + value);
    }
    write_line(name, fmt::format("export {}={}", name, shell_word(value)), holds);
  }

  void unset_variable(const std::string& name) {
    if (!now_.environment.contains(name)) return;
    write_line(name, "unset " + name,
               [&](const CommandReading& reading) { return !reading.environment.contains(name); });
  }

  template <typename Holds>
  void write_line(const std::string& name, const std::string& line, const Holds& holds) {
    if (now_.last.known() && now_.last.file == file_.name) {
      const TextEdit edit = line_before(text_, offset_of(text_, now_.last), line);
      if (accept_variable(edit, holds)) return tell_variable(edit.range.begin, line);
    }
    // A list of arguments has no variables.
    if (!now_.last.known()) return told_.push_back({0, "the program needs: " + line});
    fail_input(now_.last, fmt::format("the program needs {}, and no line before the command sets it", line),
               fmt::format("write it before the command, by hand, or say --env {}=VALUE", name));
  }

  void tell_variable(std::size_t at, const std::string& what) { told_.push_back({at, what}); }

  const ImportFile& file_;
  const CommandPromise& promise_;
  const OptionNames& names_;
  const std::function<CommandReading(const std::string&)>& read_;
  std::string text_;
  Meanings promised_;
  CommandReading now_;
  std::vector<StatedOption> stated_;
  Meanings meanings_;
  std::map<std::string, std::string> blocked_;  // by option: what else its place decides
  std::vector<Told> told_;
};

}  // namespace

ScriptPatch patch_script(const ImportFile& file, const CommandPromise& promise, const OptionNames& names,
                         const std::function<CommandReading(const std::string& text)>& read) {
  return ScriptPatcher(file, promise, names, read).patch();
}

}  // namespace mirfak
