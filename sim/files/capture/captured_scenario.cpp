#include "capture/captured_scenario.hpp"

#include "base/error.hpp"
#include "base/file_reference.hpp"
#include "base/values.hpp"
#include "capture/capture_file.hpp"
#include "network/fabric_file.hpp"
#include "scenario/resolved.hpp"
#include "scenario/stated_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace mirfak {

namespace {

// Sections that only other scenarios have, each with the reason why a scenario of a capture lacks it.
struct ForeignSection {
  const char* key;
  const char* reason;
};
constexpr std::array kForeign = {
    ForeignSection{"model", "the program made its own model"},
    ForeignSection{"training", "the program chose batches, lengths and precision itself"},
    ForeignSection{"strategy", "the program divided itself over its ranks"},
    ForeignSection{"search", "a captured program cannot be divided otherwise"},
    ForeignSection{"operations", "a capture is of one step, and nothing says how many the training has"},
    ForeignSection{"jobs", "jobs on one cluster need models and strategies, from which their traffic follows"},
};

void refuse_foreign(const Mapping& root) {
  for (const ForeignSection& section : kForeign) {
    const Value* const stated = root.node().value().find(section.key);
    if (stated == nullptr) continue;
    fail_input(stated->key_where.known() ? stated->key_where : stated->where,
               fmt::format("{}: this section means nothing next to a capture: {}", section.key, section.reason),
               "leave it out; capture the program again where it should do otherwise");
  }
}

// The file of a capture, and the hash that it is to have, if the scenario states one.
struct NamedCapture {
  FileReference file;
  std::optional<Node> hash;
};

NamedCapture named_capture(const Node& stated) {
  if (!stated.is_mapping()) return {FileReference(stated), std::nullopt};
  Mapping section(stated);
  NamedCapture out{FileReference(section.require("file")), section.find("hash")};
  section.finish();
  return out;
}

std::shared_ptr<const Capture> capture_of(const Node& stated, const CaptureSources& sources) {
  const NamedCapture named = named_capture(stated);
  const std::filesystem::path file = named.file.existing_path();
  if (!is_capture(file)) {
    named.file.fail(fmt::format("{} is no capture", file.string()),
                    "python -m mirfak.capture makes captures of training programs");
  }
  std::shared_ptr<const Capture> out = sources.capture(file);
  if (named.hash && named.hash->as_string() != out->hash) {
    named.hash->fail(fmt::format("{} has the hash {} now: it is another capture", file.string(), out->hash),
                     "name the capture that is meant, or leave the hash out");
  }
  return out;
}

// Refuses factors of ranks that have no events: nobody would run later for them.
void check_factors(const Node& section, const Cluster& cluster, const Capture& capture) {
  for (const auto& [rank, factors] : cluster.perturbations().ranks) {
    if (rank >= capture.world_size || (factors.compute == 1 && factors.host == 1)) continue;
    const std::int64_t number = rank;
    const bool known = std::any_of(capture.ranks.begin(), capture.ranks.end(),
                                   [&](const CapturedRank& of) { return of.rank == number; });
    if (known) continue;
    section.fail(
        fmt::format("cluster.perturbations: nothing is known of what rank {} does: it is not in the capture", rank),
        "capture the program again, with --ranks auto or all");
  }
}

Value completed_capture(const Capture& capture) {
  return mapping_value({{"capture", mapping_value({{"file", quoted_value(independent_path(capture.file))},
                                                   {"hash", quoted_value(capture.hash)}})}});
}

void add_sections(Value& out, Value more) {
  for (Value::Field& field : more.fields) out.fields.push_back(std::move(field));
}

}  // namespace

CaptureSources::CaptureSources(ScenarioSources sources)
    : sources_(std::move(sources)),
      table_(std::make_shared<const OperatorTable>(
          read_operator_table(sources_.folders.hardware / "pytorch" / "operators.yaml"))),
      framework_(sources_.frameworks.framework(FileReference(table_->framework))),
      captures_(std::make_shared<Remembered<std::shared_ptr<const Capture>>>()) {}

std::shared_ptr<const Capture> CaptureSources::capture(const std::filesystem::path& file) const {
  return captures_->get(file.string(), [&] { return std::make_shared<const Capture>(read_capture(file)); });
}

bool names_capture(const Document& document) {
  return document.root().kind == Value::Kind::mapping && document.root().find("capture") != nullptr;
}

CapturedScenario read_captured_scenario(const Document& document, const CaptureSources& sources) {
  Mapping root{Node(document)};
  refuse_foreign(root);
  const Node stated = root.require("capture");
  const Node section = root.require("cluster");
  const std::optional<Node> asserted = root.find_or_null("assert");
  const std::optional<Node> notes = root.find_or_null("notes");
  read_notes(notes);
  root.finish();
  CapturedScenario out{document.name(),
                       document,
                       capture_of(stated, sources),
                       with_network_files(read_cluster(section, sources.scenario().catalog)),
                       asserted ? read_assertions(*asserted) : Assertions{},
                       {},
                       {},
                       {}};
  check_factors(section, out.cluster, *out.capture);
  for (const char* key : {"power_floor", "staggered_replicas"}) {
    const Value* remedy = section.value().find(key);
    if (remedy == nullptr) continue;
    fail_input(remedy->where, fmt::format("cluster.{}: a remedy for the power of a job, and captures have none", key),
               "leave it out");
  }
  out.completed = completed_capture(*out.capture);
  add_sections(out.completed, completed_cluster(out.cluster));
  if (asserted) out.completed.fields.push_back({"assert", asserted->value()});
  if (notes) out.completed.fields.push_back({"notes", notes->value()});
  out.resolved = completed_yaml(out.completed);
  out.defaulted = defaulted_keys(out.completed, document.root());
  return out;
}

}  // namespace mirfak
