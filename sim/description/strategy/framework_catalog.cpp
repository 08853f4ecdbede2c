#include "strategy/framework_catalog.hpp"

#include "base/remembered.hpp"
#include "base/yaml.hpp"
#include "strategy/framework_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace mirfak {

namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".yaml";

// True if the text is a framework that a scenario states, as one line. Names and absolute paths never begin with '{'.
bool is_mapping_text(const std::string& text) { return text.starts_with('{'); }

// Formats a circle of inheritance: "a.yaml is like b.yaml is like a.yaml".
std::string circle_text(const std::vector<fs::path>& heirs, const fs::path& file) {
  std::string out;
  for (auto at = std::find(heirs.begin(), heirs.end(), file); at != heirs.end(); ++at) {
    out += at->filename().string() + " is like ";
  }
  return out + file.filename().string();
}

// Makes the framework that a mapping is like independent of the folder of its file.
void make_independent(Value& mapping, const Node& at) {
  for (Value::Field& field : mapping.fields) {
    if (field.key == "like") field.value.scalar = FileReference(at.child(field.value, "like")).independent();
  }
}

}  // namespace

struct FrameworkCatalog::Memory {
  Remembered<Framework> frameworks;      // keys are files
  Remembered<Framework> mappings;        // keys are lines of YAML
  Remembered<const Framework*> by_name;  // frameworks of the folder, by name
  Remembered<std::vector<std::string>> names;
  Remembered<std::string> defaults;
};

FrameworkCatalog::FrameworkCatalog(fs::path folder) : folder_(std::move(folder)), memory_(std::make_shared<Memory>()) {}

fs::path FrameworkCatalog::file_of(const FileReference& reference) const {
  if (reference.is_path()) return independent_path(reference.existing_path());
  const std::vector<std::string>& known = names();
  if (!std::binary_search(known.begin(), known.end(), reference.name())) reference.fail_unknown("framework", known);
  return folder_ / "frameworks" / (reference.name() + kEnding);
}

const Framework& FrameworkCatalog::read(const fs::path& file, const Files& heirs) const {
  return memory_->frameworks.get(file.string(), [&] {
    Files inheriting = heirs;
    inheriting.push_back(file);
    const Document document = Document::from_file(file);
    return read_framework(Node(document), [&](const Node& like) {
      const fs::path other = file_of(like);
      if (std::find(inheriting.begin(), inheriting.end(), other) != inheriting.end()) {
        like.fail("frameworks inherit in a circle: " + circle_text(inheriting, other));
      }
      return read(other, inheriting);
    });
  });
}

const Framework& FrameworkCatalog::read_mapping(const Node& mapping, const std::string& line) const {
  return memory_->mappings.get(
      line, [&] { return read_framework(mapping, [&](const Node& like) { return framework(like); }); });
}

std::string FrameworkCatalog::read_stated(const Node& stated) const {
  if (!stated.is_mapping()) {
    const FileReference reference(stated);
    if (is_mapping_text(reference.name()))
      stated.fail("a framework's keys are a mapping, this is text", "remove the quotes");
    framework(reference);
    return reference.independent();
  }
  Value value = stated.value();
  make_independent(value, stated);
  for (Value::Field& group : value.fields) {
    if (group.value.kind == Value::Kind::mapping) make_independent(group.value, stated.child(group.value, group.key));
  }
  std::string line = emit_flow_yaml(value);
  read_mapping(stated, line);
  return line;
}

const Framework& FrameworkCatalog::framework(const FileReference& reference) const {
  if (is_mapping_text(reference.name())) {
    const Document document = Document::from_text(reference.name(), "framework");
    return read_mapping(Node(document, document.root(), "training.framework"), reference.name());
  }
  if (reference.is_path()) return read(file_of(reference), {});
  return *memory_->by_name.get(reference.name(), [&] { return &read(file_of(reference), {}); });
}

std::string FrameworkCatalog::default_name() const {
  const fs::path file = folder_ / "defaults.yaml";
  return memory_->defaults.get(file.string(), [&] {
    const Document document = Document::from_file(file);
    Mapping root{Node(document)};
    const Node name = root.require("framework");
    root.finish();
    file_of(name);
    return FileReference(name).independent();
  });
}

const std::vector<std::string>& FrameworkCatalog::names() const {
  const fs::path frameworks = folder_ / "frameworks";
  return memory_->names.get(frameworks.string(), [&] {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(frameworks, error), end; !error && at != end; at.increment(error)) {
      if (at->path().extension() == kEnding) names.push_back(at->path().stem().string());
    }
    if (error) fail_input({frameworks.string(), 0, 0}, "cannot read this folder of frameworks: " + error.message());
    std::sort(names.begin(), names.end());
    return names;
  });
}

}  // namespace mirfak
