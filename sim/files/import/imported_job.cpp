#include "import/imported_job.hpp"

#include "base/input_file.hpp"
#include "base/key_path.hpp"
#include "base/text.hpp"
#include "import/cluster_choice.hpp"
#include "import/number_words.hpp"
#include "import/option_table.hpp"
#include "import/program_facts.hpp"
#include "import/program_identity.hpp"
#include "import/training_log.hpp"
#include "scenario/scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

namespace mirfak {

namespace {

constexpr InputKind kTrainingFile = {"a file of a training program", 256 * kMebibyte, true};  // logs are long

const ImportFormat& chosen_format(const ImportFile& file, const std::string& name, const ScenarioSources& sources) {
  std::vector<std::string> names;
  for (const ImportFormat& format : import_formats()) {
    if (format.name == name) return format;
    names.emplace_back(format.name);
  }
  for (const ClusterFormat& format : cluster_formats()) names.emplace_back(format.name);
  if (!name.empty())
    fail_input({"--from", 0, 0}, fmt::format("unknown format '{}'", excerpt(name)),
               did_you_mean(name, names, "expected " + join_or(names)));
  if (is_training_log(file, sources.folders.hardware)) return kTrainingLog;
  if (file.text.size() > kDocumentFile.most_bytes) {
    fail_input({file.name, 0, 0},
               fmt::format("{} is larger than {} MiB", kDocumentFile.noun, kDocumentFile.most_bytes / kMebibyte),
               "check that it is the file that is meant");
  }
  if (is_model_file(file.text, file.name)) return kModelAlone;
  refuse_foreign_settings(file, sources);
  const ImportFormat* found = format_of(file);
  if (found != nullptr) return *found;
  fail_input(
      {file.name, 0, 0}, "none of the files that mirfak reads",
      "expected a launch script, a list of arguments, a configuration or a log of a training program; --from says "
      "which: " +
          join_or(names));
}

Value count_value(std::int64_t count, const Location& where) { return scalar_value(std::to_string(count), where); }

// `gpus`: used of each node; 0: all.
Value nodes_value(std::span<const NodeChoice> nodes, const Location& where, std::int64_t gpus = 0) {
  Value list;
  list.kind = Value::Kind::sequence;
  list.where = list.key_where = where;
  for (const NodeChoice& node : nodes) {
    Value one;
    one.kind = Value::Kind::mapping;
    one.where = one.key_where = where;
    one.fields.push_back({"type", scalar_value(node.type, where)});
    one.fields.push_back({"count", count_value(node.count, where)});
    if (gpus > 0) one.fields.push_back({"gpus", count_value(gpus, where)});
    list.items.push_back(std::move(one));
  }
  return list;
}

// Returns the types of node that a scheduler selects by a feature of this name, else those with GPUs of this name,
// without the types of clouds.
std::vector<std::string> types_with(const Catalog& catalog, const ImportedNodes& nodes) {
  NodeWish wish{nodes.gpu, nodes.gpus_per_node};
  if (!nodes.feature.empty()) wish.features.push_back(nodes.feature);
  return fitting_types(catalog, read_cluster_knowledge(catalog.folder()), wish);
}

// Returns the GPUs of each node that a launch uses of the chosen nodes, where it uses a part of each; 0: it uses all,
// or other numbers than these nodes have.
std::int64_t used_part(const ImportedMachine& machine, const ImportRequest& request, const Catalog& catalog) {
  if (!machine.exact || request.nodes.size() != 1 || machine.nodes != request.nodes.front().count) return 0;
  const bool part = machine.gpus_per_node.value_or(0) * *machine.nodes < gpus_of(catalog, request.nodes);
  return part ? machine.gpus_per_node.value_or(0) : 0;
}

// Places the nodes of a heterogeneous job if the type of each part is known. Returns "" on success, else the reason.
std::string place_parts(ImportDraft& draft, const Catalog& catalog, const Location& file) {
  std::vector<NodeChoice> nodes;
  for (const ImportedNodes& part : draft.machine.parts) {
    const std::vector<std::string> types = types_with(catalog, part);
    const std::string which = fmt::format("part {} of the job", nodes.size() + 1);
    if (!part.nodes) return which + " does not say how many nodes it has";
    if (types.size() != 1) return which + " does not say of which type its nodes are";
    nodes.push_back({types.front(), *part.nodes, ""});
  }
  draft.assume("cluster.nodes", nodes_value(nodes, file), draft.machine.said_by);
  return "";
}

void place(ImportDraft& draft, const ImportRequest& request, const ImportContext& context, const Location& file) {
  const ImportedMachine& machine = draft.machine;
  if (!request.nodes.empty()) {
    std::string text = "--nodes";
    for (const NodeChoice& node : request.nodes) text += " " + node.text;
    const std::int64_t gpus = used_part(machine, request, context.sources.catalog);
    if (gpus > 0) text += fmt::format(", of which {} GPUs of each are used ({})", gpus, machine.said_by);
    draft.assume("cluster.nodes", nodes_value(request.nodes, {text, 0, 0}, gpus), text);
    return;
  }
  if (!machine.parts.empty()) {
    const std::string why = place_parts(draft, context.sources.catalog, file);
    if (why.empty()) return;
    return draft.lack(file, "cluster.nodes",
                      fmt::format("{}: say --nodes TYPE:COUNT for each part, in their order", why));
  }
  const std::string counts = machine.gpus() ? fmt::format("{} nodes of {} GPUs ({}): ", *machine.nodes,
                                                          *machine.gpus_per_node, machine.said_by)
                                            : "";
  const std::string asked = machine.gpu.empty() ? machine.feature : machine.gpu;
  if (!asked.empty() && machine.nodes) {
    const std::vector<std::string> types = types_with(context.sources.catalog, machine);
    if (types.size() == 1) {
      const NodeChoice node{types.front(), *machine.nodes, ""};
      draft.assume("cluster.nodes", nodes_value({&node, 1}, file),
                   fmt::format("{}the only type of node with {}", counts, asked));
      return;
    }
    if (!types.empty()) {
      return draft.lack(file, "cluster.nodes",
                        fmt::format("{}which nodes these are is not known: say --nodes TYPE:{}, where TYPE is {}",
                                    counts, *machine.nodes, join_or(types)));
    }
  }
  draft.lack(file, "cluster.nodes",
             fmt::format("{}which nodes it runs on is not known: say --nodes TYPE:COUNT, such as --nodes hgx-h100:{}",
                         counts, machine.nodes.value_or(8)));
}

// The statements of files on the cluster, and the knowledge that chooses nodes by them.
struct ClusterReading {
  ClusterFacts facts;
  ClusterKnowledge knowledge;
};

std::vector<ClusterChoice> choices_of(const ClusterReading& cluster, const ImportedMachine& machine,
                                      const Catalog& catalog) {
  std::vector<ImportedNodes> parts = machine.parts;
  if (parts.empty()) parts.push_back(machine);
  std::vector<ClusterChoice> out;
  std::map<std::string, std::int64_t> taken;  // nodes taken by earlier parts
  for (const ImportedNodes& part : parts) {
    ClusterChoice choice = choose_nodes(cluster.facts, part, catalog, cluster.knowledge);
    taken[choice.type] += choice.count;
    if (choice.available && !choice.type.empty() && taken[choice.type] > *choice.available) {
      choice.reason = fmt::format(
          "the parts of the job ask for {} nodes of {}, of which {} can be used: say --nodes "
          "TYPE:COUNT for each part, in their order",
          taken[choice.type], choice.type, *choice.available);
      choice.type.clear();
    }
    out.push_back(std::move(choice));
  }
  return out;
}

std::int64_t gpus_of(std::span<const ClusterChoice> choices) {
  std::int64_t out = 0;
  for (const ClusterChoice& choice : choices) {
    if (choice.type.empty()) return 0;
    out += choice.count * choice.gpus;
  }
  return out;
}

void place(ImportDraft& draft, std::span<const ClusterChoice> choices) {
  std::vector<NodeChoice> nodes;
  std::string reasons;
  for (const ClusterChoice& choice : choices) {
    if (choice.type.empty()) return draft.lack(choice.where, "cluster.nodes", choice.reason);
    nodes.push_back({choice.type, choice.count, ""});
    reasons += (reasons.empty() ? "" : "; ") + choice.reason;
  }
  draft.assume("cluster.nodes", nodes_value(nodes, choices.front().where), reasons);
}

// Notes the statements on the cluster that do not hold for the chosen nodes, and the nodes that were not counted.
void note_cluster(ImportDraft& draft, const ClusterReading& cluster, const Catalog& catalog,
                  const std::vector<std::string>& types) {
  const auto note = [&](const std::vector<ImportObstacle>& notes) {
    draft.notes.insert(draft.notes.end(), notes.begin(), notes.end());
  };
  note(cluster.facts.notes);
  note(nodes_left_out(cluster.facts));
  if (!cluster.facts.matrix) return;
  for (const std::string& type : types) {
    const NodeSpec node = catalog.node_kinds(FileReference(type)).front().spec;
    note(wiring_differences(*cluster.facts.matrix, node, cluster.knowledge));
    if (const auto ports = port_difference(*cluster.facts.matrix, node)) note({*ports});
  }
}

// Reads the launch. If the cluster decides the number of GPUs, the launch is read a second time with that number; the
// first reading gives its request to the cluster.
ImportDraft read_on_cluster(std::span<const ImportFile> files, const ImportFormat& format, const ImportRequest& request,
                            ImportContext context, const ClusterReading& cluster) {
  const Catalog& catalog = context.sources.catalog;
  const Location file{files.front().name, 1, 1};
  std::vector<std::string> types;
  ImportDraft draft = format.read(files, context);
  if (request.nodes.empty()) {
    const std::vector<ClusterChoice> choices = choices_of(cluster, draft.machine, catalog);
    if (gpus_of(choices) > 0) {
      context.gpus = gpus_of(choices);
      draft = format.read(files, context);
    }
    place(draft, choices);
    for (const ClusterChoice& choice : choices) {
      if (!choice.type.empty()) types.push_back(choice.type);
    }
  } else {
    place(draft, request, context, file);
    for (const NodeChoice& node : request.nodes) types.push_back(node.type);
  }
  note_cluster(draft, cluster, catalog, types);
  return draft;
}

bool cluster_name(const std::string& format) {
  const auto formats = cluster_formats();
  return std::any_of(formats.begin(), formats.end(), [&](const ClusterFormat& one) { return one.name == format; });
}

// Returns the files of the launch, models last, as they start no training; files on the cluster move to the request.
std::vector<ImportFile> launch_files(std::span<const ImportFile> files, ImportRequest& request) {
  std::vector<ImportFile> out;
  for (const ImportFile& file : files) {
    const bool cluster = cluster_format_of(file) != nullptr ||
                         (cluster_name(request.format) && !out.empty() && format_of(file) == nullptr);
    (cluster ? request.cluster : out).push_back(file);
  }
  if (out.empty()) {
    fail_input({files.front().name, 1, 1}, "it says what a cluster is made of, and nothing of a training",
               "give the launch script or configuration before it: mirfak import train.sh FILE");
  }
  std::stable_partition(out.begin(), out.end(),
                        [](const ImportFile& file) { return !is_model_file(file.text, file.name); });
  return out;
}

Value ordered(const Value& root) {
  Value out = root;
  constexpr std::array<std::string_view, 4> sections = {"model", "cluster", "training", "strategy"};
  const auto rank = [&](const Value::Field& field) {
    return std::find(sections.begin(), sections.end(), field.key) - sections.begin();
  };
  std::stable_sort(out.fields.begin(), out.fields.end(),
                   [&](const Value::Field& a, const Value::Field& b) { return rank(a) < rank(b); });
  return out;
}

std::string line_note(const ImportLine& line) {
  const std::string reason = line.reason.empty() ? "not understood" : line.reason;
  return fmt::format("{}: {}: {}", line.where.text(), excerpt(line.text, 100), reason);
}

// Returns the list `notes` of the scenario: parts of the training that it leaves out. Every report on the scenario
// repeats the list.
Value notes_value(const ImportDraft& draft, std::span<const ImportObstacle> obstacles, const Location& where) {
  constexpr std::size_t most = 100;
  std::vector<std::string> notes;
  for (const ImportObstacle& obstacle : obstacles) notes.push_back("not the whole training: " + obstacle.reason);
  for (const ImportLine& line : draft.lines()) {
    if (line.verdict == Verdict::unknown) notes.push_back(line_note(line));
  }
  for (const ImportObstacle& note : draft.notes)
    notes.push_back((note.where.known() ? note.where.text() + ": " : "") + note.reason);
  if (notes.size() > most) {
    const std::size_t others = notes.size() - most;
    notes.resize(most);
    notes.push_back(fmt::format("{} more, which mirfak import says", others));
  }
  Value out;
  out.kind = Value::Kind::sequence;
  out.where = out.key_where = where;
  for (const std::string& note : notes) out.items.push_back(scalar_value(excerpt(note, 400), where));
  for (Value& item : out.items) item.quoted = true;
  return out;
}

// Notes that --nodes has another number of GPUs than the launch asks for.
void note_other_size(ImportDraft& draft, std::optional<std::int64_t> gpus, const Location& file) {
  const std::optional<std::int64_t> asked = draft.machine.gpus();
  if (!gpus || !asked || *gpus == *asked) return;
  draft.notes.push_back({file, fmt::format("the launch is of {} GPUs ({}), and --nodes of {}, which count", *asked,
                                           excerpt(draft.machine.said_by), *gpus)});
}

// Checks the layout as far as possible if the counts are known and the type of node is not.
void check_layout(ImportDraft& draft, const Location& file) {
  const auto gpus = draft.machine.gpus();
  const Value* strategy = draft.scenario().find("strategy");
  if (!gpus || strategy == nullptr) return;
  std::int64_t team = 1;
  for (const std::string_view key : {"tensor", "context", "pipeline"}) {
    const Value* size = strategy->find(key);
    if (size != nullptr) team *= std::max<std::int64_t>(1, whole_number_of(size->scalar).value_or(1));
  }
  if (*gpus % team != 0)
    draft.obstruct(file, fmt::format("tensor x context x pipeline is {}, which does not divide {} GPUs ({})", team,
                                     *gpus, draft.machine.said_by));
}

// Joins the reasons of obstacles; reasons that end with their keys and begin alike are said once, with all the keys.
std::string joined_reasons(std::span<const ImportObstacle> obstacles) {
  std::string out;
  std::string last;
  for (const ImportObstacle& one : obstacles) {
    const bool with_key = !one.key.empty() && one.reason.ends_with(one.key);
    const std::string begin = with_key ? one.reason.substr(0, one.reason.size() - one.key.size()) : "";
    if (!out.empty()) out += with_key && begin == last ? ", " + one.key : "; " + one.reason;
    if (out.empty()) out = one.reason;
    last = begin;
  }
  return out;
}

// Refuses a job with obstacles: the first one that no statement removes, else all the keys that are missing.
[[noreturn]] void refuse_obstacles(const std::vector<ImportObstacle>& obstacles) {
  std::string options;
  for (const ImportObstacle& one : obstacles) {
    if (one.key.empty()) {
      fail_input(one.where, one.reason, "mirfak import says what was read; --out writes it as a scenario to complete");
    }
    if (one.reason.ends_with(one.key)) options += fmt::format(" --set {}=VALUE", one.key);
  }
  fail_input(obstacles.front().where, joined_reasons(obstacles),
             options.empty() ? "mirfak import says what was read; --out writes it as a scenario to complete"
                             : "say" + options);
}

}  // namespace

NodeChoice node_choice(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  NodeChoice out{std::string(text.substr(0, colon)), 0, std::string(text)};
  const std::string_view digits = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.count);
  if (colon == std::string_view::npos || out.type.empty() || error != std::errc{} ||
      end != digits.data() + digits.size() || out.count < 1 || out.count > 1'000'000) {
    fail_input({"--nodes " + std::string(text), 0, 0}, "expected TYPE:COUNT",
               "for example --nodes hgx-h100:64; mirfak list nodes shows the types");
  }
  return out;
}

std::int64_t gpus_of(const Catalog& catalog, const std::vector<NodeChoice>& nodes) {
  std::int64_t out = 0;
  for (const NodeChoice& node : nodes)
    out += node.count * catalog.node_kinds(FileReference(node.type)).front().spec.gpus;
  return out;
}

bool is_scenario_file(const ImportFile& file) {
  constexpr std::array<std::string_view, 5> keys = {"cluster:", "jobs:", "axes:", "scenario:", "capture:"};
  return std::any_of(keys.begin(), keys.end(), [&](std::string_view key) {
    return file.text.starts_with(key) || file.text.find("\n" + std::string(key)) != std::string::npos;
  });
}

ImportFile read_import_file(const std::string& path) { return {path, read_input_file(path, kTrainingFile)}; }

ImportedJob import_job(std::span<const ImportFile> all_files, const ImportRequest& request, ImportContext context) {
  ImportRequest wanted = request;
  const std::vector<ImportFile> files = launch_files(all_files, wanted);
  const ImportFile& first = files.front();
  const Location file{first.name, 1, 1};
  if (!wanted.nodes.empty()) context.gpus = gpus_of(context.sources.catalog, wanted.nodes);
  std::optional<ClusterReading> cluster;
  if (!wanted.cluster.empty()) {
    cluster = ClusterReading{read_cluster_files(wanted.cluster, wanted.format),
                             read_cluster_knowledge(context.sources.catalog.folder())};
    for (const auto& [name, value] : cluster->facts.environment) context.environment.emplace(name, value);
  }
  const std::string named = cluster_name(wanted.format) ? "" : wanted.format;
  const ImportFormat& format = chosen_format(first, named, context.sources);
  ImportDraft draft = cluster ? read_on_cluster(files, format, wanted, context, *cluster) : format.read(files, context);
  if (wanted.nodes.empty()) check_layout(draft, file);
  if (!cluster) place(draft, wanted, context, file);
  const bool part = used_part(draft.machine, wanted, context.sources.catalog) > 0;
  if (!wanted.nodes.empty() && !part) note_other_size(draft, context.gpus, file);
  draft.judge_unknown();
  const bool placed = draft.scenario().find("cluster") != nullptr;
  Value root = ordered(draft.scenario());
  Value notes = notes_value(draft, draft.obstacles(), file);
  if (!notes.items.empty()) root.fields.push_back({"notes", std::move(notes)});
  Document document = Document::from_text("{}", first.name).with_root(std::move(root));
  ImportedJob out{&format, first.name, std::move(draft), std::move(document)};
  out.complete = placed && out.draft.obstacles().empty();
  if (!placed) return out;
  try {
    parse_scenario(out.scenario, context.sources);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    out.refusal = error.message() + (error.where().known() ? fmt::format(" ({})", error.where().text()) : "");
    out.complete = false;
  }
  return out;
}

Document stated_scenario(const ImportedJob& job, std::span<const std::string> overrides) {
  Value root = job.scenario.root();
  std::erase_if(root.fields, [](const Value::Field& field) { return field.key == "notes"; });
  Document out = job.scenario.with_root(std::move(root));
  for (const std::string& assignment : overrides) out.override_value(assignment);
  std::vector<ImportObstacle> obstacles = job.draft.obstacles();
  std::erase_if(obstacles, [&](const ImportObstacle& one) {
    return !one.key.empty() && value_under(out.root(), one.key) != nullptr;
  });
  if (!obstacles.empty()) refuse_obstacles(obstacles);
  const Location file{job.file, 1, 1};
  Value notes = notes_value(job.draft, {}, file);
  if (!notes.items.empty() && out.root().find("notes") == nullptr)
    out.assign(KeyPath("notes", file), std::move(notes), file);
  return out;
}

}  // namespace mirfak
