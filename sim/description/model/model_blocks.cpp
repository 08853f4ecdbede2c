// A model as a sequence of blocks from files. Properties that other rooms need (parameters, axes that may be divided)
// are derived from the compiled blocks: nothing is declared twice.

#include "model/model_blocks.hpp"

#include "base/file_reference.hpp"
#include "base/text.hpp"
#include "block/compile.hpp"
#include "block/measures.hpp"
#include "block/parser.hpp"
#include "block/sizes.hpp"
#include "graph/images.hpp"
#include "model/model_reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace mirfak {

namespace {

block::CompileOptions compile_options(const ModelSpec& model) {
  block::CompileOptions options;
  options.divisions = model.divisions;
  return options;
}

OperatorGraph compiled_for(const ModelSpec& model, const ModelBlock& item, std::int64_t sequence) {
  return block::compile(*item.definition, sizes_of_block(model, item, 1, sequence), compile_options(model));
}

// Reads `blocks`.
class SequenceReader {
 public:
  SequenceReader(ModelSpec& model, const std::filesystem::path& folder) : model_(model), library_(folder) {}

  void read(const Node& blocks) {
    read_items(blocks);
    if (model_.blocks.size() < 3) {
      blocks.fail("expected a block that begins, layers, and a block that ends",
                  "blocks: [embedding, {use: ..., count: ...}, head]");
    }
    check_streams();
    check_sizes(blocks);
  }

 private:
  void read_items(const Node& list) {
    for (const Node& item : list.as_items()) {
      if (model_.blocks.size() > static_cast<std::size_t>(kMaxLayers))
        item.fail(fmt::format("more than {} blocks", kMaxLayers));
      if (item.is_mapping() && item.value().find("repeat") != nullptr) {
        Mapping in(item);
        const std::int64_t times = in.require("repeat").as_integer(1, kMaxLayers);
        const Node blocks = in.require("blocks");
        in.finish();
        for (std::int64_t i = 0; i < times; ++i) read_items(blocks);
      } else {
        read_item(item);
      }
    }
  }

  // Appends a block. Blocks that the file writes alike are compiled once.
  void append(ModelBlock item, const std::string& written, const Node& node) {
    const auto found = std::find(written_.begin(), written_.end(), written);
    item.kind = static_cast<std::size_t>(found - written_.begin());
    written_.push_back(written);
    model_.blocks.push_back(std::move(item));
    nodes_.push_back(node);
  }

  void read_item(const Node& node) {
    ModelBlock item;
    if (node.is_scalar()) {
      item.name = node.as_string();
      item.definition = library_.find(item.name, node.where());
      const std::string written = item.name;
      return append(std::move(item), written, node);
    }
    Mapping in(node);
    std::string written;
    const Node use = in.require("use");
    item.name = use.as_string();
    written = item.name;
    const block::DefinitionPointer plain = library_.find(item.name, use.where());
    item.count = in.integer_or("count", 1, 1, kMaxLayers);
    block::Definitions given;
    for (const block::Given& one : plain->block->given) {
      const std::optional<Node> stated = in.find(one.name);
      if (!stated) continue;
      written += fmt::format(" {}={}", one.name, stated->as_string());
      if (!one.block.empty()) {
        given[one.name] = library_.find(stated->as_string(), stated->where());
      } else {
        read_size(item, one.name, *stated);
      }
    }
    // Sizes that the block hands on to blocks that it uses, and the length of its sequences.
    std::vector<std::string> handed_on = plain->sizes;
    std::erase(handed_on, "batch");
    handed_on.emplace_back("sequence");
    for (const std::string& name : handed_on) {
      const bool taken = std::any_of(item.formulas.begin(), item.formulas.end(),
                                     [&](const block::NamedSize& known) { return known.name == name; });
      const std::optional<Node> stated = taken ? std::nullopt : in.find(name);
      if (!stated) continue;
      written += fmt::format(" {}={}", name, stated->as_string());
      read_size(item, name, *stated);
    }
    in.finish();
    item.definition = given.empty() ? plain : library_.find(item.name, use.where(), given);
    append(std::move(item), written, node);
  }

  void read_size(ModelBlock& item, const std::string& name, const Node& node) const {
    const block::Formula size = block::parse_size(node);
    block::Sizes known = model_.sizes;
    known["batch"] = 1;
    known["sequence"] = static_cast<double>(model_.max_sequence);
    block::SizeValues(node, known).evaluate(size);  // fails for names that it does not know
    item.formulas.push_back({name, {}, size});
  }

  // Checks that the streams that a block reads leave the block before it: the first stream by its place, others by
  // their names; their extents must be equal.
  void check_streams() {
    std::vector<OperatorGraph> graphs;  // by kind of block
    for (std::size_t i = 0; i < model_.blocks.size(); ++i) {
      ModelBlock& item = model_.blocks[i];
      graphs.push_back(item.kind == i ? compiled_for(model_, item, model_.max_sequence) : OperatorGraph());
      const OperatorGraph& graph = graphs[item.kind];
      const bool first = i == 0;
      const bool last = i + 1 == model_.blocks.size();
      if (first != graph.inputs.empty() || last != graph.outputs.empty()) {
        nodes_[i].fail(
            first  ? fmt::format("the first block begins from whole numbers or data, {} reads a stream", item.name)
            : last ? fmt::format("the last block ends in a loss, a stream leaves {}", item.name)
                   : fmt::format("{} must read the stream of the block before it, and leave one", item.name));
      }
      if ((first || last) && item.count > 1) nodes_[i].fail("the first and the last block stand once");
      if (!first) check_boundary(nodes_[i], graphs[model_.blocks[i - 1].kind], graph);
      if (item.count > 1) check_boundary(nodes_[i], graph, graph);
      item.parameters = block::parameters(graph);
      item.active_parameters = block::active_parameters(graph);
      if (item.kind == i) note_axes(graph);
      if (first) note_stream(graph);
      if (!first && leaves_images(graph)) model_.tower_layers += item.count;
      if (last) model_.ties_words = holds_tied(graph);
      model_.image_tokens = std::max(model_.image_tokens, tokens_of_image(graph));
    }
  }

  static bool holds_tied(const OperatorGraph& graph) {
    return std::any_of(graph.tensors.begin(), graph.tensors.end(), [](const Tensor& tensor) { return tensor.tied; });
  }

  static std::string shape(const OperatorGraph& graph, TensorId id) {
    std::string out;
    for (const Axis axis : graph.tensor(id).axes) {
      out += fmt::format("{}{}={}", out.empty() ? "" : " ", graph.info(axis).name, graph.extent(axis));
    }
    return fmt::format("{}[{}]", graph.tensor(id).name, out);
  }

  static bool alike(const OperatorGraph& a, TensorId left, const OperatorGraph& b, TensorId right) {
    const AxisLabels& one = a.tensor(left).axes;
    const AxisLabels& other = b.tensor(right).axes;
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [&](Axis x, Axis y) { return a.extent(x) == b.extent(y); });
  }

  static void check_boundary(const Node& at, const OperatorGraph& from, const OperatorGraph& to) {
    for (std::size_t i = 0; i < to.inputs.size(); ++i) {
      const std::string& name = to.tensor(to.inputs[i]).name;
      const auto found = i == 0 ? from.outputs.begin()
                                : std::find_if(from.outputs.begin(), from.outputs.end(),
                                               [&](TensorId id) { return from.tensor(id).name == name; });
      if (found == from.outputs.end()) {
        at.fail(fmt::format("{} reads '{}', which does not leave the block before it", to.name, name),
                "output out " + name);
      }
      if (alike(from, *found, to, to.inputs[i])) continue;
      at.fail(fmt::format("sizes in conflict: {} reads {}, the block before it leaves {}", to.name,
                          shape(to, to.inputs[i]), shape(from, *found)));
    }
  }

  void note_stream(const OperatorGraph& graph) {
    const AxisLabels& axes = graph.tensor(graph.outputs.front()).axes;
    model_.hidden = graph.extent(axes.back());
  }

  // Records the axes that strategies may divide.
  void note_axes(const OperatorGraph& graph) {
    for (const AxisInfo& axis : graph.axes) {
      if (axis.divided_by == Parallelism::none || axis.divided_by == Parallelism::data ||
          axis.divided_by == Parallelism::tokens) {
        continue;
      }
      const DividedAxis divided{axis.name, axis.extent, axis.divided_by};
      if (std::find(model_.divided.begin(), model_.divided.end(), divided) == model_.divided.end()) {
        model_.divided.push_back(divided);
      }
    }
    for (const Operator& op : graph.operators) {
      if (op.kind != OperatorKind::dispatch) continue;
      const double experts = static_cast<double>(graph.extent(op.over.front()));
      model_.mixture.experts = graph.extent(op.over.front());
      model_.mixture.per_token = std::llround(graph.tensor(op.outputs.front().tensor).density * experts);
    }
  }

  // Fails for a size of the model that no block takes.
  void check_sizes(const Node& blocks) const {
    std::set<std::string> taken;
    for (const ModelBlock& item : model_.blocks) {
      taken.insert(item.definition->sizes.begin(), item.definition->sizes.end());
      for (const block::NamedSize& stated : item.formulas) {
        formula::for_each_name(stated.value, [&](const block::Formula& name) { taken.insert(name.word); });
      }
    }
    for (const auto& [name, value] : model_.sizes) {
      if (taken.contains(name)) continue;
      const std::vector<std::string> names(taken.begin(), taken.end());
      blocks.fail(fmt::format("no block of the model takes the size '{}'", name),
                  did_you_mean(name, names, "they take " + join_or(names)));
    }
  }

  ModelSpec& model_;
  block::Library library_;
  std::vector<Node> nodes_;           // node of each block
  std::vector<std::string> written_;  // text of each block, as the file writes it
};

void make_path_independent(Value& name) {
  if (!block::is_block_path(name.scalar)) return;
  const bool beside = name.where.line > 0;
  const std::filesystem::path folder = beside ? std::filesystem::path(name.where.file).parent_path() : "";
  name.scalar = independent_path(folder / name.scalar);
  name.quoted = true;
}

// Makes the paths in an entry of `blocks` absolute. The entry is a block, or the block that it uses with sizes and
// blocks for it.
void make_independent(Value& item, block::Library& library) {
  if (item.kind == Value::Kind::scalar) return make_path_independent(item);
  const Value* const use = item.find("use");
  const block::DefinitionPointer used = use != nullptr ? library.find(use->scalar, use->where) : nullptr;
  for (Value::Field& field : item.fields) {
    if (used == nullptr && field.key == "blocks") {
      for (Value& inner : field.value.items) make_independent(inner, library);
    }
    if (used == nullptr) continue;
    const std::vector<block::Given>& given = used->block->given;
    const bool is_block = std::any_of(given.begin(), given.end(), [&](const block::Given& one) {
      return one.name == field.key && !one.block.empty();
    });
    if (is_block || field.key == "use") make_path_independent(field.value);
  }
}

void read_sizes(Mapping& in, ModelSpec& model) {
  const std::optional<Node> sizes = in.find("sizes");
  if (!sizes) return;
  const Mapping mapping(*sizes);
  for (const std::string& name : mapping.keys()) {
    model.sizes[name] = sizes->child(*sizes->value().find(name), name).as_number(0, 1e12);
  }
}

void read_divisions(Mapping& in, ModelSpec& model) {
  const std::optional<Node> section = in.find("divided_by");
  if (!section) return;
  const Mapping mapping(*section);
  for (const std::string& name : mapping.keys()) {
    const Node node = section->child(*section->value().find(name), name);
    model.divisions[name] = static_cast<Parallelism>(node.as_choice(parallelism_names()));
  }
}

// Returns the greatest common divisor of `common` and of the axes that a parallelism divides (without vocab and
// kv_heads): a number that divides it divides all of these axes.
std::int64_t common_divisor(const ModelSpec& model, Parallelism parallelism, std::int64_t common) {
  for (const DividedAxis& axis : model.divided) {
    const bool padded = axis.name == "vocab" || axis.name == "kv_heads";
    if (axis.divided_by == parallelism && !padded) common = std::gcd(common, axis.extent);
  }
  return common;
}

void derive_fields(ModelSpec& model) {
  model.layers = std::accumulate(model.blocks.begin() + 1, model.blocks.end() - 1, std::int64_t{0},
                                 [](std::int64_t sum, const ModelBlock& item) { return sum + item.count; });
  const auto size = [&](const char* name) {
    const auto found = model.sizes.find(name);
    return found == model.sizes.end() ? 0 : static_cast<std::int64_t>(found->second);
  };
  model.heads = std::max<std::int64_t>(1, common_divisor(model, Parallelism::tensor, size("heads")));
  model.kv_heads = model.heads;
  model.ffn = model.heads;
  model.head_dim = std::max<std::int64_t>(1, model.hidden / model.heads);
  model.mixture.ffn = common_divisor(model, Parallelism::expert_tensor, 0);
  model.vocab = size("vocab");
  if (size("kv_heads") > 0) model.kv_heads = std::gcd(size("kv_heads"), model.heads);
  model.tied_embeddings = false;
  model.linear_bias = false;
}

}  // namespace

Value independent_blocks(Value blocks, const std::filesystem::path& folder) {
  block::Library library(folder);
  for (Value& item : blocks.items) make_independent(item, library);
  return blocks;
}

block::Sizes sizes_of_block(const ModelSpec& model, const ModelBlock& item, std::int64_t batch, std::int64_t sequence) {
  block::Sizes known = model.sizes;
  known["batch"] = static_cast<double>(batch);
  known["sequence"] = static_cast<double>(sequence);
  block::Sizes out;
  const std::vector<std::string>& names = item.definition->sizes;
  for (const auto& [name, value] : known) {
    const bool taken =
        name == "batch" || name == "sequence" || std::find(names.begin(), names.end(), name) != names.end();
    if (taken) out.try_emplace(name, value);
  }
  for (const block::NamedSize& stated : item.formulas) out[stated.name] = block::value_of(stated.value, known);
  return block::complete_sizes(*item.definition, out, {});
}

ModelSpec read_model_of_blocks(Mapping& in, const std::filesystem::path& folder) {
  ModelSpec model;
  model.max_sequence = in.require("max_sequence").as_integer(1, kMaxSequence);
  read_sizes(in, model);
  read_divisions(in, model);
  const Node blocks = in.require("blocks");
  SequenceReader(model, folder).read(blocks);
  derive_fields(model);
  return model;
}

}  // namespace mirfak
