#include "base/document.hpp"
#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "block/compile.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/graphviz.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "cluster/cluster.hpp"
#include "graph/backward.hpp"
#include "import/chosen_nodes.hpp"
#include "model/blocks.hpp"
#include "model/model_loader.hpp"
#include "model/model_reading.hpp"
#include "program/shard_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace mirfak {

namespace {

namespace po = boost::program_options;

constexpr std::int64_t kMaxSequences = 100'000'000;

struct ShardOptions {
  std::string model;
  std::string mesh;
  std::vector<std::string> annotations;
  std::optional<std::int64_t> batch;
  std::optional<std::int64_t> sequence;
  std::string nodes;
  std::string format;
  std::string svg;
  std::string data;
};

CommandSyntax syntax_for(ShardOptions& options) {
  CommandSyntax syntax(
      "mirfak shard MODEL --mesh AXES [OPTION]...",
      "Completes the shardings of a few annotated tensors to all tensors of a model, forward and backward, and says\n"
      "which collectives follow, and what one device computes and holds. MODEL is a name in models/, a model file, or\n"
      "a block (as mirfak block takes it), whose tensors and axes mirfak block shows.\n\n"
      "An annotation names a tensor and its axes: 'w1: (hidden, ffn@tensor)', 'layer.w1: (ffn@(data,tensor), ...)'.\n"
      "An axis without @ is stated as not divided, AXIS@? stays open, and so do all that '...' stands for.");
  syntax.operand = &options.model;
  auto add = syntax.options.add_options();
  add("mesh", po::value(&options.mesh)->value_name("AXES"), "axes of the device mesh, at most 8: data=8,tensor=4");
  add("annotate", po::value(&options.annotations)->composing()->value_name("ANNOTATION"),
      "sharding of a tensor; may be repeated");
  add("batch", po::value<std::int64_t>()->notifier([&](std::int64_t count) { options.batch = count; })->value_name("N"),
      "sequences on all devices together; default: one for each device of the mesh axis data");
  add("sequence",
      po::value<std::int64_t>()->notifier([&](std::int64_t count) { options.sequence = count; })->value_name("N"),
      "tokens of a sequence; default: the model's");
  add("nodes", po::value(&options.nodes)->value_name("TYPE:COUNT"),
      "also print how long the model takes on these nodes");
  add("format", po::value(&options.format)->default_value("text")->value_name("text|json|dot"), "what to print");
  syntax.add_file(FileRole::output, "svg", options.svg, "FILE.svg", "draw the steps of a device (needs Graphviz' dot)");
  add("data", data_folder_option(options.data), "holds models/ and hw_profiles/");
  return syntax;
}

std::int64_t bounded(const char* option, std::int64_t value, std::int64_t most) {
  if (value >= 1 && value <= most) return value;
  fail_input({}, fmt::format("--{}: expected a number from 1 to {}, found {}", option, most, value));
}

// Returns the number of sequences: by default one for each device that divides them.
std::int64_t batch_of(const ShardOptions& options, const DeviceMesh& mesh) {
  if (options.batch) return bounded("batch", *options.batch, kMaxSequences);
  const std::optional<MeshAxis> data = mesh.find("data");
  return data ? mesh.size(*data) : 1;
}

// Blocks to shard, under names that annotations can write.
class BlockList {
 public:
  void add(OperatorGraph graph, std::int64_t count) {
    std::string name = graph.name.empty() ? "block" : graph.name;
    std::replace(name.begin(), name.end(), ' ', '_');
    const auto taken = [&](const std::string& candidate) {
      return std::any_of(blocks_.begin(), blocks_.end(),
                         [&](const NamedBlock& block) { return block.name == candidate; });
    };
    std::string unique = name;
    for (int number = 2; taken(unique); ++number) unique = fmt::format("{}_{}", name, number);
    blocks_.push_back({unique, static_cast<int>(count), with_backward(std::move(graph), {.fused_accumulation = true})});
  }
  std::vector<NamedBlock> take() { return std::move(blocks_); }

 private:
  std::vector<NamedBlock> blocks_;
};

std::vector<NamedBlock> blocks_of_model(const ModelSpec& model, std::int64_t batch, std::int64_t sequence) {
  BlockOptions options;
  options.batch = batch;
  options.sequence = sequence;
  options.kv_heads = model.kv_heads;
  options.vocabulary = model.vocab;
  options.fused_attention = true;
  BlockList blocks;
  blocks.add(build_embedding_block(model, options), 1);
  for (const LayerKind& kind : layer_kinds(model)) {
    std::int64_t count = 0;
    for (std::int64_t layer = 0; layer < model.layers; ++layer) count += kind_of_layer(model, layer) == kind ? 1 : 0;
    blocks.add(build_layer_block(model, options, kind), count);
  }
  blocks.add(build_head_block(model, options), 1);
  return blocks.take();
}

std::vector<NamedBlock> only_block(const block::DefinitionPointer& definition, const ShardOptions& options,
                                   std::int64_t batch, std::int64_t& sequence) {
  block::Sizes sizes = definition->file->sizes();
  std::erase_if(sizes, [&](const auto& size) {
    return !std::binary_search(definition->sizes.begin(), definition->sizes.end(), size.first) &&
           size.first != "sequence";
  });
  sizes["batch"] = static_cast<double>(batch);
  if (options.sequence) {
    sizes["sequence"] = static_cast<double>(bounded("sequence", *options.sequence, kMaxSequence));
  }
  sizes.try_emplace("sequence", 2048);
  sequence = static_cast<std::int64_t>(sizes["sequence"]);
  BlockList blocks;
  blocks.add(block::compile(*definition, block::complete_sizes(*definition, sizes, {}), {}), 1);
  return blocks.take();
}

// True if a path is a file of blocks: such a file has the key `text`.
bool is_block_file(const std::string& path) {
  const Document document = Document::from_file(path);
  return document.root().kind == Value::Kind::mapping && document.root().find("text") != nullptr;
}

}  // namespace

CommandOutput run_shard(std::span<const std::string> arguments, const Surroundings& /*surroundings*/) {
  ShardOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return {*help, {}};
  const std::vector<std::string> formats = {"text", "json", "dot"};
  const std::size_t format = choice("--format", options.format, formats);
  if (options.mesh.empty()) fail_input({}, "--mesh is missing", "for example --mesh data=8,tensor=4");
  const DeviceMesh mesh = parse_mesh(options.mesh, "--mesh");
  std::vector<AnnotationText> annotations;
  for (const std::string& text : options.annotations) annotations.push_back(parse_annotation(text));

  const DataFolders folders = data_folders(options.data);
  const std::int64_t batch = batch_of(options, mesh);
  std::int64_t sequence = 0;
  std::vector<NamedBlock> blocks;
  block::Library library(folders.models / "blocks");
  const std::vector<std::string> known = model_names(folders.models);
  const bool model = is_model_path(options.model) ? !is_block_file(options.model)
                                                  : std::find(known.begin(), known.end(), options.model) != known.end();
  const std::vector<std::string> block_names = library.names();
  const std::string file = options.model.substr(0, options.model.find('.'));
  const bool block = !model && (is_model_path(options.model) ||
                                std::find(block_names.begin(), block_names.end(), file) != block_names.end());
  if (block) {
    blocks = only_block(library.find(options.model, {}), options, batch, sequence);
  } else {
    const ModelSpec spec = load_model(options.model, folders.models, {});
    sequence = options.sequence ? bounded("sequence", *options.sequence, kMaxSequence) : spec.max_sequence;
    blocks = blocks_of_model(spec, batch, sequence);
  }
  const ShardedModel sharded =
      shard_model(std::move(blocks), mesh, annotations, cluster_of_nodes(options.nodes, folders.hardware));
  if (!options.svg.empty()) write_text_file(options.svg, drawn_by_graphviz(shard_dot(sharded)));
  if (format == 2) return {shard_dot(sharded), {}};
  if (format == 1) return {printed_json(shard_json(sharded, options.model, batch, sequence)), {}};
  return {shard_text(sharded, fmt::format("{} on a mesh of {}: {} devices, {} sequences of {} tokens", options.model,
                                          options.mesh, mesh.devices(), batch, sequence)),
          {}};
}

}  // namespace mirfak
