// A task of SkyPilot: `resources` of each node, and num_nodes. docs: SkyPilot, reference/yaml-spec.

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/cluster_facts.hpp"
#include "import/yaml_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace mirfak {

namespace {

constexpr std::array<std::string_view, 7> kTelling = {"accelerators", "gpus",   "instance_type", "cloud",
                                                      "infra",        "any_of", "ordered"};

// Returns the documents of a file, between lines of three dashes, each after empty lines so that places stay.
std::vector<ImportFile> documents_of(const ImportFile& file) {
  std::vector<ImportFile> out(1, {file.name, ""});
  std::size_t lines = 0;
  bool empty = true;
  for (std::size_t at = 0; at < file.text.size();) {
    const std::size_t end = std::min(file.text.find('\n', at), file.text.size());
    const std::string_view line = std::string_view(file.text).substr(at, end - at);
    const bool divides = line.starts_with("---") && trimmed(line.substr(3), " \t\r").empty();
    if (divides && !empty) out.push_back({file.name, std::string(lines, '\n')});
    if (!divides) out.back().text += line;
    empty = empty && (divides || trimmed(line, " \t\r").empty() || line.front() == '#');
    empty = empty || (divides && out.size() > 1 && out.back().text.size() == lines);
    out.back().text += '\n';
    ++lines;
    at = end + 1;
  }
  return out;
}

std::optional<Value> task_of(const ImportFile& file) {
  const bool likely = file.text.starts_with("resources:") || file.text.find("\nresources:") != std::string::npos;
  return likely ? mapping_in(file) : std::nullopt;
}

bool asks_for_machines(const ImportFile& document) {
  const std::optional<Value> root = task_of(document);
  const Value* const resources = root ? root->find("resources") : nullptr;
  if (resources == nullptr || resources->kind != Value::Kind::mapping) return false;
  return std::any_of(kTelling.begin(), kTelling.end(),
                     [&](std::string_view key) { return resources->find(key) != nullptr; });
}

bool is_skypilot_task(const ImportFile& file) {
  if (file.text.find("resources:") == std::string::npos) return false;
  const std::vector<ImportFile> documents = documents_of(file);
  return std::any_of(documents.begin(), documents.end(), asks_for_machines);
}

bool same_machines(const RentedNodes& a, const RentedNodes& b) {
  return a.nodes == b.nodes && a.gpus == b.gpus && a.gpu == b.gpu && a.cloud == b.cloud && a.instance == b.instance;
}

std::int64_t whole_number(std::string_view text, const Location& where, std::string_view what) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || out < 1 || out > 1'000'000)
    fail_input(where, fmt::format("'{}': expected a number of {}", excerpt(text), what));
  return out;
}

class TaskReading {
 public:
  TaskReading(const Value& root, ClusterFacts& out) : root_(root), out_(out) {}

  void read() {
    const Value* const nodes = root_.find("num_nodes");
    if (nodes != nullptr) rented_.nodes = whole_number(nodes->scalar, nodes->where, "nodes");
    const Value& resources = *root_.find("resources");
    rented_.where = resources.key_where;
    rented_.text = "resources";
    read_resources(resources);
    read_choices(resources);
    if (out_.rented && same_machines(*out_.rented, rented_)) return;
    if (out_.rented)
      out_.unclear.push_back({rented_.where, "a second task: which of them the training runs in is not known"});
    if (out_.rented) return;
    out_.environment["SKYPILOT_NUM_NODES"] = std::to_string(rented_.nodes);
    if (rented_.gpus) out_.environment["SKYPILOT_NUM_GPUS_PER_NODE"] = std::to_string(*rented_.gpus);
    out_.rented = std::move(rented_);
  }

 private:
  // Reads alternatives, one of which is chosen when the task starts: an ordered list begins with its first.
  void read_choices(const Value& resources) {
    if (const Value* const any = resources.find("any_of")) {
      out_.unclear.push_back(
          {any->key_where, "any_of: which of these machines is chosen is known only when it starts"});
    }
    const Value* const ordered = resources.find("ordered");
    if (ordered == nullptr || ordered->items.empty()) return;
    out_.notes.push_back({ordered->key_where, "ordered: the first of these machines is assumed"});
    read_resources(ordered->items.front());
  }

  void read_resources(const Value& resources) {
    if (const Value* const cloud = resources.find("cloud"); cloud != nullptr) rented_.cloud = lower_case(cloud->scalar);
    if (const Value* const infra = resources.find("infra"); infra != nullptr) {
      const std::string name = infra->scalar.substr(0, infra->scalar.find('/'));
      rented_.cloud = name == "*" ? "" : lower_case(name);
    }
    if (const Value* const type = resources.find("instance_type"); type != nullptr && !type->scalar.empty()) {
      rented_.instance = type->scalar;
      place(*type, "instance_type: " + type->scalar);
    }
    const Value* accelerators = resources.find("accelerators");
    if (accelerators == nullptr) accelerators = resources.find("gpus");
    if (accelerators != nullptr) read_accelerators(*accelerators);
  }

  // Reads H100:8 or {H100: 8}; from lists and several entries the cheapest is chosen when the task starts.
  void read_accelerators(const Value& value) {
    if (value.kind == Value::Kind::mapping && value.fields.size() == 1) {
      const Value::Field& only = value.fields.front();
      return take(value, only.key, only.value.scalar.empty() ? "1" : only.value.scalar);
    }
    if (value.kind == Value::Kind::scalar) {
      const std::size_t colon = value.scalar.find(':');
      const std::string count = colon == std::string::npos ? "1" : value.scalar.substr(colon + 1);
      return take(value, value.scalar.substr(0, colon), count);
    }
    if (value.kind == Value::Kind::null) return;
    out_.unclear.push_back({value.where, "accelerators: which of several GPUs is chosen is known only when it starts"});
  }

  void take(const Value& value, const std::string& name, const std::string& count) {
    rented_.gpu = name;
    rented_.gpus = whole_number(trimmed(count), value.where, "GPUs of a node");
    if (rented_.instance.empty()) place(value, fmt::format("accelerators: {}:{}", name, count));
  }

  void place(const Value& value, std::string text) {
    rented_.where = value.where;
    rented_.text = std::move(text);
  }

  const Value& root_;
  ClusterFacts& out_;
  RentedNodes rented_;
};

void read_document(const ImportFile& file, ClusterFacts& out) {
  const Value root = parse_foreign_yaml(file.text, file.name);
  const Value* const resources = root.kind == Value::Kind::mapping ? root.find("resources") : nullptr;
  if (resources == nullptr || resources->kind != Value::Kind::mapping) {
    fail_input({file.name, 1, 1}, "expected `resources:` with keys below it",
               "give the YAML of one task, such as resources: {accelerators: 'H100:8'}");
  }
  TaskReading(root, out).read();
}

// Reads a task. A pipeline has a document for each task, and a first document that names it. Tasks without machines of
// their own (the head of a pipeline, work on processors) do not define the training's nodes.
void read_skypilot_task(const ImportFile& file, ClusterFacts& out) {
  const std::vector<ImportFile> documents = documents_of(file);
  if (documents.size() == 1) return read_document(file, out);
  bool read = false;
  for (const ImportFile& document : documents) {
    if (!asks_for_machines(document)) continue;
    read_document(document, out);
    read = true;
  }
  if (!read) {
    fail_input({file.name, 1, 1}, "none of its documents has `resources:` that ask for machines",
               "give the task that trains, such as resources: {accelerators: 'H100:8'}");
  }
}

}  // namespace

const ClusterFormat kSkypilotTask = {"skypilot-yaml", "YAML of a SkyPilot task", is_skypilot_task, read_skypilot_task};

}  // namespace mirfak
