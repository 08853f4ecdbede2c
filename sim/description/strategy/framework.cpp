#include "strategy/framework.hpp"

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

// True if a chain, whose words marked "?" may be missing ("bias?"), consists of exactly these words.
bool covers(std::span<const std::string> chain, std::span<const std::string_view> words) {
  if (chain.empty()) return words.empty();
  std::string_view word = chain.front();
  const bool optional = word.ends_with('?');
  if (optional) word.remove_suffix(1);
  if (!words.empty() && words.front() == word && covers(chain.subspan(1), words.subspan(1))) return true;
  return optional && covers(chain.subspan(1), words);
}

}  // namespace

bool FusionHabits::fuses(std::span<const std::string_view> words) const {
  return std::any_of(rules.chains.begin(), rules.chains.end(),
                     [&](const FusedChain& chain) { return covers(chain.words, words); });
}

bool Framework::is_like(const std::string& other) const {
  return name == other || std::find(likes.begin(), likes.end(), other) != likes.end();
}

std::vector<HabitNote>& HabitNotes::own() {
  if (!notes_ || notes_.use_count() > 1) notes_ = std::make_shared<std::vector<HabitNote>>(begin(), end());
  return *notes_;
}

void HabitNotes::add(HabitNote note) { own().push_back(std::move(note)); }

void HabitNotes::remove(const std::string& habit) {
  std::erase_if(own(), [&](const HabitNote& note) { return note.habit == habit; });
}

bool operator==(const HabitNotes& a, const HabitNotes& b) {
  return a.notes_ == b.notes_ || std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace mirfak
