// Every list is a table whose cells are JSON values. For programs the values are printed as they are, for people
// through the column's format. Both therefore show the same figures, and a list is one function that fills rows.

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "base/yaml.hpp"
#include "block/file.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "cluster/catalog.hpp"
#include "cluster/cluster.hpp"
#include "cluster/profiles.hpp"
#include "model/model_loader.hpp"
#include "report/text_table.hpp"
#include "schedule/schedule.hpp"
#include "simulation/figures.hpp"
#include "strategy/framework_catalog.hpp"
#include "strategy/strategy_keys.hpp"
#include "training/training_figures.hpp"
#include "validation/run_mappings.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

namespace po = boost::program_options;
using Json = nlohmann::ordered_json;

struct Column {
  std::string key;    // key in JSON, with its unit
  std::string title;  // title in text
  std::string (*text)(const Json& value);
};

struct Listing {
  std::vector<Column> columns;
  std::vector<std::vector<Json>> rows;  // a cell per column; null: not known, or there is none
};

std::string as_word(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }
std::string as_flag(const Json& value) { return value.get<bool>() ? "yes" : "no"; }
std::string as_count(const Json& value) { return format_count(value.get<double>()); }
std::string as_bytes(const Json& value) { return format_bytes(value.get<double>()); }
std::string as_rate(const Json& value) { return fmt::format("{:.1f} GB/s", value.get<double>() / kGB); }
std::string as_tflops(const Json& value) { return fmt::format("{:.1f}", value.get<double>() * 1e-12); }
std::string as_watts(const Json& value) { return fmt::format("{:.0f} W", value.get<double>()); }
std::string as_seconds(const Json& value) { return format_seconds(value.get<double>()); }
std::string as_share(const Json& value) { return format_percent(value.get<double>()); }
std::string as_dollars(const Json& value) { return format_price(value.get<double>()); }

Listing list_models(const DataFolders& folders) {
  Listing out;
  out.columns = {{"name", "model", as_word},
                 {"parameters", "parameters", as_count},
                 {"layers", "layers", as_word},
                 {"hidden", "hidden", as_word},
                 {"heads", "heads", as_word},
                 {"kv_heads", "kv heads", as_word},
                 {"ffn", "ffn", as_word},
                 {"vocab", "vocabulary", as_word},
                 {"max_sequence", "sequence", as_word}};
  for (const std::string& name : model_names(folders.models)) {
    const ModelSpec model = load_model(name, folders.models, {});
    const auto of_stack = [&](std::int64_t value) { return model.blocks.empty() ? Json(value) : Json(); };
    out.rows.push_back({name, count_parameters(model).total, model.layers, model.hidden, of_stack(model.heads),
                        of_stack(model.kv_heads), of_stack(model.ffn), model.vocab, model.max_sequence});
  }
  return out;
}

Listing list_blocks(const DataFolders& folders) {
  Listing out;
  out.columns = {{"name", "block", as_word}, {"description", "description", as_word}, {"sizes", "sizes", as_word}};
  block::Library library(folders.models / "blocks");
  for (const std::string& stem : library.names()) {
    const std::shared_ptr<const block::BlockFile> file = library.find(stem, {})->file;
    for (const block::Block& one : file->blocks()) {
      const bool first = &one == &file->blocks().front();
      out.rows.push_back({first ? stem : stem + "." + one.name, first ? file->description() : "",
                          fmt::format("{}", fmt::join(block::size_names(one), " "))});
    }
  }
  return out;
}

Json peak_flops(const GpuSpec& gpu, Precision precision) {
  const auto found = gpu.peak_flops.find(precision);
  return found == gpu.peak_flops.end() ? Json() : Json(found->second.value);
}

Listing list_gpus(const DataFolders& folders) {
  Listing out;
  out.columns = {{"name", "gpu", as_word},
                 {"title", "title", as_word},
                 {"memory_bytes", "memory", as_bytes},
                 {"memory_bandwidth_bytes_per_s", "bandwidth", as_rate},
                 {"peak_fp16_flops", "fp16 TFLOP/s", as_tflops},
                 {"peak_bf16_flops", "bf16", as_tflops},
                 {"peak_fp8_flops", "fp8", as_tflops},
                 {"tdp_w", "power", as_watts}};
  const Catalog catalog(folders.hardware);
  for (const std::string& name : catalog.names(ProfileKind::gpu)) {
    const GpuSpec gpu = catalog.gpu(name);
    out.rows.push_back({name, gpu.title, gpu.memory_bytes.value, gpu.memory_bandwidth.value,
                        peak_flops(gpu, Precision::fp16), peak_flops(gpu, Precision::bf16),
                        peak_flops(gpu, Precision::fp8), gpu.tdp_w.value});
  }
  return out;
}

Listing list_nodes(const DataFolders& folders) {
  Listing out;
  out.columns = {{"name", "node", as_word},
                 {"title", "title", as_word},
                 {"gpus", "gpus", as_word},
                 {"gpu", "gpu", as_word},
                 {"scale_up", "scale-up", as_word},
                 {"scale_up_domain", "domain", as_word},
                 {"network", "network", as_word},
                 {"ports", "ports", as_word},
                 {"network_bytes_per_s", "of the node", as_rate}};
  const Catalog catalog(folders.hardware);
  for (const std::string& name : catalog.names(ProfileKind::node)) {
    const NodeHardware node = catalog.node(name);
    out.rows.push_back({name, node.spec.title, node.spec.gpus, node.spec.gpu, node.spec.scale_up,
                        node.spec.scale_up_domain, node.spec.network, node.spec.ports,
                        node.spec.ports * node.network.bandwidth.value});
  }
  return out;
}

Listing list_links(const DataFolders& folders) {
  Listing out;
  out.columns = {{"name", "link", as_word},
                 {"title", "title", as_word},
                 {"bandwidth_bytes_per_s", "line rate", as_rate},
                 {"efficiency", "reached", as_share},
                 {"base_latency_s", "base latency", as_seconds},
                 {"latency_s", "per step", as_seconds},
                 {"joins", "joins a GPU to", as_word}};
  const Catalog catalog(folders.hardware);
  for (const std::string& name : catalog.names(ProfileKind::link)) {
    const LinkSpec link = catalog.link(name);
    out.rows.push_back({name, link.title, link.bandwidth.value, link.efficiency.value, link.base_latency_s.value,
                        link.latency_s.value, link_ends_text(link)});
  }
  return out;
}

std::string sentence_of(FabricType type) {
  switch (type) {
    case FabricType::full_bisection:
      return "One switch that never blocks.";
    case FabricType::rail_optimized:
      return "Port i of every node of a pod on the pod's leaf i; leaves joined by spines.";
    case FabricType::fat_tree:
      return "All ports of a node on one leaf; leaves joined by spines.";
    case FabricType::rail_only:
      return "As rail-optimized, but rails are not joined: other rails are reached through NVLink inside a node.";
    case FabricType::dragonfly:
      return "Groups of routers, each joined with every other; groups joined by global links.";
    case FabricType::dragonfly_plus:
      return "Groups of leaves and spines, each joined with every other; global links between spines.";
    case FabricType::torus_2d:
      return "A router for each node, joined to its neighbours in two dimensions that close.";
    case FabricType::torus_3d:
      return "A router for each node, joined to its neighbours in three dimensions that close.";
    case FabricType::file:
      return "A graph that a file describes.";
  }
  return {};
}

Listing list_fabrics(const DataFolders& /*folders*/) {
  Listing out;
  out.columns = {{"name", "fabric", as_word}, {"default", "default", as_flag}, {"description", "description", as_word}};
  for (std::size_t i = 0; i < fabric_names().size(); ++i) {
    const auto type = static_cast<FabricType>(i);
    out.rows.push_back({fabric_names()[i], type == default_fabric().type, sentence_of(type)});
  }
  return out;
}

Listing list_schedules(const DataFolders& /*folders*/) {
  Listing out;
  out.columns = {{"name", "schedule", as_word}, {"description", "description", as_word}};
  for (const Schedule& schedule : schedules()) out.rows.push_back({schedule.name, schedule.sentence});
  return out;
}

Listing list_frameworks(const DataFolders& folders) {
  Listing out;
  out.columns = {{"name", "framework", as_word},
                 {"fused_attention", "flash attention", as_flag},
                 {"overlap_pipeline", "overlaps transfers", as_flag},
                 {"overlap_tensor_gradients", "overlaps tensor gradients", as_flag},
                 {"like", "like", as_word},
                 {"source", "source", as_word}};
  const FrameworkCatalog frameworks(folders.hardware);
  for (const std::string& name : frameworks.names()) {
    const Framework& framework = frameworks.framework(name);
    out.rows.push_back({name, !framework.fusion.attention.empty(), framework.communication.overlap_pipeline,
                        framework.communication.overlap_tensor_gradients,
                        framework.likes.empty() ? Json() : Json(framework.likes.front()), framework.source});
  }
  return out;
}

Json joined(const std::vector<std::string>& names) {
  return names.empty() ? Json() : Json(fmt::format("{}", fmt::join(names, "; ")));
}

// Lists every constant of a framework that was chosen on measured runs, at the framework that states it and not at
// those that inherit it.
Listing list_fits(const DataFolders& folders) {
  Listing out;
  out.columns = {{"framework", "framework", as_word}, {"constant", "constant", as_word},
                 {"value", "value", as_word},         {"error", "error", as_share},
                 {"chosen_on", "chosen on", as_word}, {"judged_on", "judged on", as_word}};
  const FrameworkCatalog frameworks(folders.hardware);
  for (const std::string& name : frameworks.names()) {
    const Framework& framework = frameworks.framework(name);
    for (const HabitNote& note : framework.notes) {
      if (note.chosen_on.empty()) continue;
      const bool inherited = !framework.likes.empty() &&
                             std::ranges::count(frameworks.framework(framework.likes.front()).notes.all(), note) > 0;
      if (inherited) continue;
      out.rows.push_back({name, note.habit, note.value, note.error ? Json(*note.error) : Json(), joined(note.chosen_on),
                          joined(note.judged_on)});
    }
  }
  return out;
}

Listing list_prices(const DataFolders& folders) {
  Listing out;
  out.columns = {{"provider", "provider", as_word},
                 {"kind", "kind", as_word},
                 {"gpu", "gpu", as_word},
                 {"instance", "instance", as_word},
                 {"region", "region", as_word},
                 {"date", "date", as_word},
                 {"usd_per_gpu_hour", "per GPU hour", as_dollars}};
  const Catalog catalog(folders.hardware);
  for (const std::string& provider : catalog.names(ProfileKind::price)) {
    for (const PriceSpec& price : catalog.prices(provider)) {
      out.rows.push_back({provider, price_kind_names()[static_cast<std::size_t>(price.kind)], price.gpu,
                          price.instance.empty() ? Json() : Json(price.instance),
                          price.region.empty() ? Json() : Json(price.region), price.date,
                          price.usd_per_gpu_hour.value});
    }
  }
  return out;
}

std::string meaning_of(const WordRule& rule) {
  std::string out;
  for (const KeyValue& each : rule.set) {
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", each.key, emit_flow_yaml(each.value));
  }
  if (rule.kind == WordRule::Kind::ignore) out = "ignored: " + rule.reason;
  if (rule.kind == WordRule::Kind::refuse) out = "not understood: " + rule.reason;
  return rule.inferred.empty() ? out : fmt::format("{} (inferred: {})", out, rule.inferred);
}

// Lists the words of measured runs: those of the common vocabulary, then those of the mapping files.
Listing list_words(const DataFolders& folders) {
  Listing out;
  out.columns = {{"column", "column", as_word},
                 {"word", "word", as_word},
                 {"meaning", "meaning", as_word},
                 {"file", "file", as_word},
                 {"line", "line", as_word}};
  const RunMappings mappings = RunMappings::from_folder(mapping_folder(folders.models.parent_path()));
  const auto add = [&](const RunMapping& mapping) {
    for (const ColumnMapping& column : mapping.columns) {
      for (const WordRule& rule : column.rules) {
        if (rule.where.file != mapping.files.front()) continue;  // rule of the vocabulary that the mapping builds on
        for (const WordPattern& word : rule.words) {
          out.rows.push_back({column.name, word.text(), meaning_of(rule),
                              std::filesystem::path(rule.where.file).filename().string(), word.where().line});
        }
      }
    }
  };
  add(mappings.vocabulary());
  for (const RunMapping& mapping : mappings.all()) add(mapping);
  return out;
}

// Keeps the rows of one column, in a list whose first cells name columns.
void keep_column(Listing& listing, const std::string& column) {
  std::vector<std::string> known;
  for (const auto& row : listing.rows) {
    if (known.empty() || known.back() != as_word(row.front())) known.push_back(as_word(row.front()));
  }
  if (listing.columns.front().key != "column") fail_input({}, "--column chooses among words only");
  if (std::find(known.begin(), known.end(), column) == known.end()) {
    fail_input({}, fmt::format("--column: no mapping has words of a column '{}'", excerpt(column)),
               did_you_mean(column, known, ""));
  }
  std::erase_if(listing.rows, [&](const std::vector<Json>& row) { return as_word(row.front()) != column; });
}

Listing list_strategy(const DataFolders& /*folders*/) {
  Listing out;
  out.columns = {{"key", "key", as_word}, {"default", "default", as_word}, {"description", "description", as_word}};
  for (const StrategyKey& key : strategy_keys()) out.rows.push_back({key.key, key.default_text, key.sentence});
  return out;
}

// Lists the single figures of results as assertions name them: those of an iteration by their names, those of a
// training with "train." in front.
Listing list_figures(const DataFolders& /*folders*/) {
  Listing out;
  out.columns = {{"key", "key", as_word},
                 {"label", "label", as_word},
                 {"unit", "unit", as_word},
                 {"meaning", "meaning", as_word},
                 {"unknown", "not known where", as_word}};
  const auto add = [&](const char* prefix, const FigureInfo& of) {
    const char* const unit = of.truth ? "truth" : symbol_of_key(of.key).data();
    out.rows.push_back({prefix + of.key, of.label, unit, of.meaning, of.unknown.empty() ? Json() : Json(of.unknown)});
  };
  for (const IterationFigure& figure : iteration_figures()) add(figure.elsewhere ? "activities." : "", figure);
  for (const TrainingFigure& figure : training_figures()) add("train.", figure);
  return out;
}

struct NamedListing {
  std::string_view name;
  Listing (*fill)(const DataFolders& folders);
};
constexpr std::array kListings = {
    NamedListing{"models", list_models},       NamedListing{"gpus", list_gpus},
    NamedListing{"nodes", list_nodes},         NamedListing{"links", list_links},
    NamedListing{"fabrics", list_fabrics},     NamedListing{"prices", list_prices},
    NamedListing{"schedules", list_schedules}, NamedListing{"frameworks", list_frameworks},
    NamedListing{"words", list_words},         NamedListing{"strategy", list_strategy},
    NamedListing{"blocks", list_blocks},       NamedListing{"fits", list_fits},
    NamedListing{"figures", list_figures},
};

Json json_of(const Listing& listing) {
  Json out = Json::array();
  for (const auto& row : listing.rows) {
    Json entry = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) entry[listing.columns[i].key] = row[i];
    out.push_back(std::move(entry));
  }
  return out;
}

std::string text_of(const Listing& listing) {
  std::string alignment;  // words left, figures right
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < listing.columns.size(); ++i) {
    alignment += listing.rows.empty() || listing.rows.front()[i].is_string() ? 'l' : 'r';
    titles.push_back(listing.columns[i].title);
  }
  TextTable table(alignment, 0);
  table.add_row(std::move(titles));
  for (const auto& row : listing.rows) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i) {
      cells.push_back(row[i].is_null() ? "-" : listing.columns[i].text(row[i]));
    }
    table.add_row(std::move(cells));
  }
  return table.text();
}

}  // namespace

CommandOutput run_list(std::span<const std::string> arguments, const Surroundings& /*surroundings*/) {
  std::vector<std::string> names;
  for (const NamedListing& listing : kListings) names.emplace_back(listing.name);
  std::string wanted;
  std::string format_name;
  std::string data;
  std::string column;
  CommandSyntax syntax(fmt::format("mirfak list {} [OPTION]...", fmt::join(names, "|")),
                       "Lists what scenarios may name, with its main figures, and the figures of results.");
  syntax.operand = &wanted;
  auto add = syntax.options.add_options();
  add("format", po::value(&format_name)->default_value("text")->value_name("text|json"), "what to print");
  add("data", data_folder_option(data), "holds models/ and hw_profiles/");
  add("column", po::value(&column)->value_name("NAME"), "of `words`, only those of this column of measured runs");
  if (const auto help = read_arguments(syntax, arguments)) return {*help, {}};

  const OutputFormat format = format_choice(format_name);
  const NamedListing& chosen = kListings[choice("list", wanted, names)];
  Listing listing = chosen.fill(data_folders(data));
  if (!column.empty()) keep_column(listing, column);
  if (format == OutputFormat::text) return {text_of(listing), {}};
  return {printed_json(Json{{std::string(chosen.name), json_of(listing)}}), {}};
}

}  // namespace mirfak
