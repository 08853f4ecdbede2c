#include "scenario/stated_notes.hpp"

namespace mirfak {

namespace {

constexpr std::size_t kMostNotes = 1000;

std::optional<Node> notes_node(const Document& scenario) {
  const Value& root = scenario.root();
  const Value* const notes = root.kind == Value::Kind::mapping ? root.find("notes") : nullptr;
  if (notes == nullptr || notes->kind == Value::Kind::null) return std::nullopt;
  return Node(scenario, *notes, "notes");
}

}  // namespace

std::vector<std::string> read_notes(const std::optional<Node>& notes) {
  std::vector<std::string> out;
  if (!notes) return out;
  const std::vector<Node> items = notes->as_items();
  if (items.size() > kMostNotes) notes->fail("more than 1000 notes", "keep those that matter");
  for (const Node& item : items) out.push_back(item.as_string());
  return out;
}

std::vector<std::string> stated_notes(const Document& scenario) { return read_notes(notes_node(scenario)); }

}  // namespace mirfak
