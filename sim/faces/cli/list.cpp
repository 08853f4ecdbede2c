// Every list is a table, which people read as text and programs as JSON. Both therefore show the same figures, and a
// list is one function that fills rows.

#include "base/error.hpp"
#include "base/section.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "base/yaml.hpp"
#include "block/file.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "cluster/catalog.hpp"
#include "cluster/profiles.hpp"
#include "model/model_loader.hpp"
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

constexpr double kTeraflops = 1e12;

// Returns a cell for a figure that is not known, or for a name that does not exist.
template <class T>
Cell known(bool is_known, const T& value) {
  return is_known ? Cell(value) : words("-");
}
Cell as_rate(double bytes_per_s) { return {format_rate(bytes_per_s), bytes_per_s}; }

Table list_models(const DataFolders& folders) {
  Table out(
      "model:name | >parameters:parameters | >layers:layers | >hidden:hidden | >heads:heads | >kv heads:kv_heads | "
      ">ffn:ffn | >vocabulary:vocab | >sequence:max_sequence",
      0);
  for (const std::string& name : model_names(folders.models)) {
    const ModelSpec model = load_model(name, folders.models, {});
    const auto of_stack = [&](std::int64_t value) { return known(model.blocks.empty(), value); };
    out.add({name, in_count(count_parameters(model).total), model.layers, model.hidden, of_stack(model.heads),
             of_stack(model.kv_heads), of_stack(model.ffn), model.vocab, model.max_sequence});
  }
  return out;
}

Table list_blocks(const DataFolders& folders) {
  Table out("block:name | description:description | sizes:sizes", 0);
  block::Library library(folders.models / "blocks");
  for (const std::string& stem : library.names()) {
    const std::shared_ptr<const block::BlockFile> file = library.find(stem, {})->file;
    for (const block::Block& one : file->blocks()) {
      const bool first = &one == &file->blocks().front();
      out.add({first ? stem : stem + "." + one.name, first ? file->description() : "",
               fmt::format("{}", fmt::join(block::size_names(one), " "))});
    }
  }
  return out;
}

Cell peak_flops(const GpuSpec& gpu, Precision precision) {
  const auto found = gpu.peak_flops.find(precision);
  if (found == gpu.peak_flops.end()) return words("-");
  return {fmt::format("{:.1f}", found->second.value / kTeraflops), found->second.value};
}

Table list_gpus(const DataFolders& folders) {
  Table out(
      "gpu:name | title:title | >memory:memory_bytes | >bandwidth:memory_bandwidth_bytes_per_s | >fp16 "
      "TFLOP/s:peak_fp16_flops | >bf16:peak_bf16_flops | >fp8:peak_fp8_flops | >power:tdp_w",
      0);
  const Catalog catalog(folders.hardware);
  for (const std::string& name : catalog.names(ProfileKind::gpu)) {
    const GpuSpec gpu = catalog.gpu(name);
    out.add({name, gpu.title, in_bytes(gpu.memory_bytes.value), as_rate(gpu.memory_bandwidth.value),
             peak_flops(gpu, Precision::fp16), peak_flops(gpu, Precision::bf16), peak_flops(gpu, Precision::fp8),
             Cell(fmt::format("{:.0f} W", gpu.tdp_w.value), gpu.tdp_w.value)});
  }
  return out;
}

Table list_nodes(const DataFolders& folders) {
  Table out(
      "node:name | title:title | >gpus:gpus | gpu:gpu | scale-up:scale_up | >domain:scale_up_domain | network:network "
      "| >ports:ports | >of the node:network_bytes_per_s",
      0);
  const Catalog catalog(folders.hardware);
  for (const std::string& name : catalog.names(ProfileKind::node)) {
    const std::vector<NodeHardware> kinds = catalog.node_kinds(name);
    const NodeHardware& node = kinds.front();
    std::string gpus;
    for (const NodeHardware& kind : kinds) gpus += (gpus.empty() ? "" : " + ") + kind.spec.gpu;
    out.add({name, node.spec.title, node.spec.gpus, gpus, node.spec.scale_up, node.spec.scale_up_domain,
             node.spec.network, node.spec.ports, as_rate(node.spec.ports * node.network.bandwidth.value)});
  }
  return out;
}

Table list_links(const DataFolders& folders) {
  Table out(
      "link:name | title:title | >line rate:bandwidth_bytes_per_s | >reached:efficiency | >base latency:base_latency_s "
      "| >per step:latency_s | joins a GPU to:joins",
      0);
  const Catalog catalog(folders.hardware);
  for (const std::string& name : catalog.names(ProfileKind::link)) {
    const LinkSpec link = catalog.link(name);
    out.add({name, link.title, as_rate(link.bandwidth.value), in_percent(link.efficiency.value),
             in_seconds(link.base_latency_s.value), in_seconds(link.latency_s.value), link_ends_text(link)});
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

Table list_fabrics(const DataFolders& /*folders*/) {
  Table out("fabric:name | >default:default | description:description", 0);
  for (std::size_t i = 0; i < fabric_names().size(); ++i) {
    const auto type = static_cast<FabricType>(i);
    out.add({fabric_names()[i], type == default_fabric().type, sentence_of(type)});
  }
  return out;
}

Table list_schedules(const DataFolders& /*folders*/) {
  Table out("schedule:name | description:description", 0);
  for (const Schedule& schedule : schedules()) out.add({schedule.name, schedule.sentence});
  return out;
}

Table list_frameworks(const DataFolders& folders) {
  Table out(
      "framework:name | >flash attention:fused_attention | >overlaps transfers:overlap_pipeline | >overlaps tensor "
      "gradients:overlap_tensor_gradients | >like:like | source:source",
      0);
  const FrameworkCatalog frameworks(folders.hardware);
  for (const std::string& name : frameworks.names()) {
    const Framework& framework = frameworks.framework(name);
    out.add({name, !framework.fusion.attention.empty(), framework.communication.overlap_pipeline,
             framework.communication.overlap_tensor_gradients,
             framework.likes.empty() ? words("-") : framework.likes.front(), framework.source});
  }
  return out;
}

Cell joined(const std::vector<std::string>& names) {
  return known(!names.empty(), fmt::format("{}", fmt::join(names, "; ")));
}

// Lists every constant of a framework that was chosen on measured runs, at the framework that states it and not at
// those that inherit it.
Table list_fits(const DataFolders& folders) {
  Table out(
      "framework:framework | constant:constant | value:value | >error:error | chosen on:chosen_on | judged "
      "on:judged_on",
      0);
  const FrameworkCatalog frameworks(folders.hardware);
  for (const std::string& name : frameworks.names()) {
    const Framework& framework = frameworks.framework(name);
    for (const HabitNote& note : framework.notes) {
      if (note.chosen_on.empty()) continue;
      const bool inherited = !framework.likes.empty() &&
                             std::ranges::count(frameworks.framework(framework.likes.front()).notes.all(), note) > 0;
      if (inherited) continue;
      out.add({name, note.habit, note.value, in_percent(note.error), joined(note.chosen_on), joined(note.judged_on)});
    }
  }
  return out;
}

Table list_prices(const DataFolders& folders) {
  Table out(
      "provider:provider | kind:kind | gpu:gpu | instance:instance | >region:region | date:date | >per GPU "
      "hour:usd_per_gpu_hour",
      0);
  const Catalog catalog(folders.hardware);
  for (const std::string& provider : catalog.names(ProfileKind::price)) {
    for (const PriceSpec& price : catalog.prices(provider)) {
      out.add({provider, price_kind_names()[static_cast<std::size_t>(price.kind)], price.gpu,
               known(!price.instance.empty(), price.instance), known(!price.region.empty(), price.region), price.date,
               Cell(format_price(price.usd_per_gpu_hour.value), price.usd_per_gpu_hour.value)});
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

// Lists the words of measured runs: those of the common vocabulary, then those of the mapping files. `wanted`: the
// column of measured runs whose words are listed; "": all.
Table words_of_column(const DataFolders& folders, const std::string& wanted) {
  Table out("column:column | word:word | meaning:meaning | file:file | >line:line", 0);
  std::vector<std::string> found;
  const RunMappings mappings = RunMappings::from_folder(mapping_folder(folders.models.parent_path()));
  const auto add = [&](const RunMapping& mapping) {
    for (const ColumnMapping& column : mapping.columns) {
      for (const WordRule& rule : column.rules) {
        if (rule.where.file != mapping.files.front()) continue;  // rule of the vocabulary that the mapping builds on
        if (!rule.words.empty()) found.push_back(column.name);
        if (!wanted.empty() && column.name != wanted) continue;
        for (const WordPattern& word : rule.words) {
          out.add({column.name, word.text(), meaning_of(rule),
                   std::filesystem::path(rule.where.file).filename().string(), word.where().line});
        }
      }
    }
  };
  add(mappings.vocabulary());
  for (const RunMapping& mapping : mappings.all()) add(mapping);
  if (!wanted.empty() && out.empty()) {
    fail_input({}, fmt::format("--column: no mapping has words of a column '{}'", excerpt(wanted)),
               did_you_mean(wanted, found, ""));
  }
  return out;
}

Table list_words(const DataFolders& folders) { return words_of_column(folders, {}); }

Table list_strategy(const DataFolders& /*folders*/) {
  Table out("key:key | default:default | description:description", 0);
  for (const StrategyKey& key : strategy_keys()) out.add({key.key, key.default_text, key.sentence});
  return out;
}

// Lists the single figures of results as assertions name them: those of an iteration by their names, those of a
// training with "train." in front.
Table list_figures(const DataFolders& /*folders*/) {
  Table out("key:key | label:label | unit:unit | meaning:meaning | >not known where:unknown", 0);
  const auto add = [&](const char* prefix, const FigureInfo& of) {
    const char* const unit = of.truth ? "truth" : symbol_of_key(of.key).data();
    out.add({prefix + of.key, of.label, unit, of.meaning, known(!of.unknown.empty(), of.unknown)});
  };
  for (const IterationFigure& figure : iteration_figures()) add(figure.elsewhere ? "activities." : "", figure);
  for (const TrainingFigure& figure : training_figures()) add("train.", figure);
  return out;
}

struct NamedListing {
  std::string_view name;
  Table (*fill)(const DataFolders& folders);
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
  add("column", po::value(&column)->value_name("NAME"),
      "with `words`: print only the words of this column of measured runs");
  if (const auto help = read_arguments(syntax, arguments)) return {*help, {}};

  const OutputFormat format = format_choice(format_name);
  const NamedListing& chosen = kListings[choice("list", wanted, names)];
  if (!column.empty() && chosen.name != "words") fail_input({}, "--column chooses among words only");
  const DataFolders folders = data_folders(data);
  const Table table = column.empty() ? chosen.fill(folders) : words_of_column(folders, column);
  if (format == OutputFormat::text) return {table.text(), {}};
  return {printed_json({{std::string(chosen.name), table.json()}}), {}};
}

}  // namespace mirfak
