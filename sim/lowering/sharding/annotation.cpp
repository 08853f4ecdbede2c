// annotation = [block "."] tensor ":" "(" entry {"," entry} ")"
// entry      = axis | axis "@" mesh axis | axis "@" "(" mesh axis {"," mesh axis} ")" | axis "@" "?" | "..."

#include "sharding/annotation.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace mirfak {

namespace {

constexpr int kMostDevices = 1'000'000;  // devices along one mesh axis

bool is_part_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '\'' || c == '-';
}

class AnnotationReader {
 public:
  AnnotationReader(std::string_view text, std::string option) : text_(text), option_(std::move(option)) {}

  AnnotationText read() {
    AnnotationText out;
    out.text = std::string(trimmed(text_));
    out.tensor = name("the name of a tensor");
    expect(':');
    expect('(');
    if (!take(')')) {
      do entry(out);
      while (take(','));
      expect(')');
    }
    skip_blanks();
    if (at_ < text_.size()) fail("expected nothing after the last ')'");
    return out;
  }

  [[noreturn]] void fail(const std::string& message) const {
    fail_input(
        {option_, 1, static_cast<int>(at_) + 1}, message,
        "for example 'w1: (hidden, ffn@tensor)'; ffn@(data,tensor) for two mesh axes, ffn@? to leave an axis open, "
        "... for all that are not named");
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(char wanted) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) fail(fmt::format("expected '{}'", wanted));
  }
  std::string name(const char* what) {
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_part_of_name(text_[at_])) ++at_;
    if (at_ == begin) fail(fmt::format("expected {}", what));
    return std::string(text_.substr(begin, at_ - begin));
  }
  void entry(AnnotationText& out) {
    skip_blanks();
    if (text_.substr(at_, 3) == "...") {
      at_ += 3;
      out.rest_open = true;
      return;
    }
    AnnotationText::Entry added;
    added.axis = name("an axis");
    if (take('@')) {
      if (take('?')) {
        added.open = true;
      } else if (take('(')) {
        do added.divided.push_back(name("an axis of the mesh"));
        while (take(','));
        expect(')');
      } else {
        added.divided.push_back(name("an axis of the mesh"));
      }
    }
    out.entries.push_back(std::move(added));
  }

  std::string_view text_;
  std::string option_;
  std::size_t at_ = 0;
};

std::vector<std::string> axis_names(const OperatorGraph& graph, TensorId tensor) {
  std::vector<std::string> out;
  for (const Axis axis : graph.tensor(tensor).axes) out.push_back(graph.info(axis).name);
  return out;
}

MeshAxis mesh_axis_named(const std::string& name, const DeviceMesh& mesh, const Location& at) {
  if (const auto found = mesh.find(name)) return *found;
  std::vector<std::string> names;
  for (const MeshAxis axis : mesh.axes()) names.emplace_back(mesh.name_of(axis));
  fail_input(at, fmt::format("the mesh has no axis '{}'", excerpt(name)),
             did_you_mean(name, names, fmt::format("its axes are {}", fmt::join(names, ", "))));
}

}  // namespace

AnnotationText parse_annotation(std::string_view text) {
  return AnnotationReader(text, fmt::format("--annotate '{}'", excerpt(text))).read();
}

Annotation annotation_of(const AnnotationText& text, const OperatorGraph& graph, TensorId tensor,
                         const DeviceMesh& mesh) {
  Annotation out;
  out.tensor = tensor;
  out.text = text.text;
  out.at = {fmt::format("--annotate '{}'", excerpt(text.text)), 0, 0};
  const std::vector<std::string> names = axis_names(graph, tensor);
  const std::string& tensor_name = graph.tensor(tensor).name;
  out.axes.resize(names.size());
  std::vector<bool> named(names.size(), false);
  MeshAxisSet used;
  for (const AnnotationText::Entry& entry : text.entries) {
    const auto found = std::find(names.begin(), names.end(), entry.axis);
    if (found == names.end()) {
      fail_input(out.at, fmt::format("{} has no axis '{}'", tensor_name, excerpt(entry.axis)),
                 did_you_mean(entry.axis, names, fmt::format("its axes are {}", fmt::join(names, ", "))));
    }
    const auto axis = static_cast<std::size_t>(found - names.begin());
    if (named[axis]) fail_input(out.at, fmt::format("axis {} is named twice", entry.axis), "name each axis once");
    named[axis] = true;
    if (entry.open) continue;
    MeshAxisSet axes;
    for (const std::string& name : entry.divided) {
      const MeshAxis mesh_axis = mesh_axis_named(name, mesh, out.at);
      if (used.contains(mesh_axis)) {
        fail_input(out.at, fmt::format("mesh axis {} divides {} twice", name, tensor_name),
                   "a mesh axis divides one axis of a tensor at most");
      }
      used.insert(mesh_axis);
      axes.insert(mesh_axis);
    }
    out.axes[axis] = axes;
  }
  const auto missing = std::find(named.begin(), named.end(), false);
  if (missing != named.end() && !text.rest_open) {
    const std::string& axis = names[static_cast<std::size_t>(missing - named.begin())];
    fail_input(out.at, fmt::format("axis {} of {} is not named", axis, tensor_name),
               fmt::format("write {0} where it is not to be divided, {0}@? or ... to leave it open; its axes are {1}",
                           axis, fmt::join(names, ", ")));
  }
  return out;
}

std::string sharding_text(const OperatorGraph& graph, TensorId tensor, const Sharding& sharding,
                          const DeviceMesh& mesh) {
  const auto mesh_names = [&](MeshAxisSet axes) {
    std::vector<std::string_view> names;
    for (const MeshAxis axis : axes) names.push_back(mesh.name_of(axis));
    return names.size() == 1 ? std::string(names.front()) : fmt::format("({})", fmt::join(names, ","));
  };
  std::vector<std::string> entries = axis_names(graph, tensor);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!sharding.axes[i].empty()) entries[i] += "@" + mesh_names(sharding.axes[i]);
  }
  std::string out = fmt::format("({})", fmt::join(entries, ", "));
  if (!sharding.partial.empty()) out += " sum over " + mesh_names(sharding.partial);
  return out;
}

DeviceMesh parse_mesh(std::string_view text, const std::string& option) {
  DeviceMesh mesh;
  const Location at{fmt::format("{} {}", option, excerpt(text)), 0, 0};
  const std::string hint = "expected names and sizes, for example data=8,tensor=4";
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = trimmed(text.substr(begin, end - begin));
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string name(trimmed(item.substr(0, equals)));
    if (name.empty() || equals == item.size() || !std::all_of(name.begin(), name.end(), is_part_of_name)) {
      fail_input(at, fmt::format("'{}' is no axis of a mesh", excerpt(item)), hint);
    }
    const std::string_view digits = trimmed(item.substr(equals + 1));
    int size = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (error != std::errc() || stop != digits.data() + digits.size() || size < 1 || size > kMostDevices) {
      fail_input(at, fmt::format("the size of {} must be a whole number from 1 to {}", name, kMostDevices), hint);
    }
    if (mesh.find(name)) fail_input(at, fmt::format("axis {} stands twice", name), "name each axis of the mesh once");
    if (mesh.rank() == kMaxMeshAxes) fail_input(at, fmt::format("more than {} axes", kMaxMeshAxes), hint);
    mesh.add({name, size});
    begin = end + 1;
  }
  return mesh;
}

}  // namespace mirfak
