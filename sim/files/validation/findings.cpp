#include "validation/findings.hpp"

#include "base/document.hpp"

#include <limits>

namespace mirfak {

namespace {

constexpr int kLastLine = std::numeric_limits<int>::max();
constexpr double kLargestError = 1e6;

Findings::Reason read_reason(const Node& node) {
  Mapping in(node);
  Findings::Reason reason{in.require("table").as_string(), 1, kLastLine, in.require("reason").as_string()};
  if (const auto line = in.find("line")) {
    reason.first_line = reason.last_line = static_cast<int>(line->as_integer(1, kLastLine));
  }
  if (const auto lines = in.find("lines")) {
    const std::vector<Node> ends = lines->as_items();
    if (ends.size() != 2) lines->fail("expected [first, last]");
    reason.first_line = static_cast<int>(ends[0].as_integer(1, kLastLine));
    reason.last_line = static_cast<int>(ends[1].as_integer(reason.first_line, kLastLine));
  }
  in.finish();
  return reason;
}

Findings::FirstContact read_first_contact(const Node& node) {
  Mapping in(node);
  Findings::FirstContact out{in.require("table").as_string(), in.require("by").as_string()};
  out.rows = static_cast<int>(in.require("rows").as_integer(1, kLastLine));
  out.mape = in.require("mape").as_number(0, kLargestError);
  out.median_ape = in.require("median_ape").as_number(0, kLargestError);
  out.mean_error = in.require("mean_error").as_number(-1, kLargestError);
  out.coverage = in.require("coverage").as_number(0, 1);
  in.finish();
  return out;
}

}  // namespace

std::string Findings::reason_of(const std::string& table, const Location& where) const {
  const Reason* best = nullptr;
  for (const Reason& reason : reasons) {
    if (reason.table != table || where.line < reason.first_line || where.line > reason.last_line) continue;
    const bool smaller = best == nullptr || reason.last_line - reason.first_line < best->last_line - best->first_line;
    if (smaller) best = &reason;
  }
  return best != nullptr ? best->text : "";
}

Findings load_findings(const std::filesystem::path& path) {
  const Document document = Document::from_file(path);
  Mapping in{Node(document)};
  Findings findings;
  findings.tried = in.string_or("tried", "");
  if (const auto reasons = in.find("reasons")) {
    for (const Node& item : reasons->as_items()) findings.reasons.push_back(read_reason(item));
  }
  if (const auto first = in.find("first_contacts")) {
    for (const Node& item : first->as_items()) findings.first_contacts.push_back(read_first_contact(item));
  }
  in.finish();
  return findings;
}

}  // namespace mirfak
