#include "interpreter/sharding_cases.hpp"

#include "graph/backward.hpp"
#include "interpreter/layout.hpp"
#include "interpreter/random_blocks.hpp"
#include "sharding/annotation.hpp"
#include "tests/block/block_fixture.hpp"

#include <fmt/format.h>

#include <map>

namespace mirfak::test {

using namespace interpreter;

int below(std::mt19937& random, int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); }

DeviceMesh random_mesh(std::mt19937& random) {
  const std::vector<DeviceMesh> meshes = {{{"x", 2}},
                                          {{"x", 4}},
                                          {{"x", 3}},
                                          {{"x", 2}, {"y", 2}},
                                          {{"x", 2}, {"y", 4}},
                                          {{"x", 2}, {"y", 3}},
                                          {{"x", 2}, {"y", 2}, {"z", 2}}};
  return meshes[static_cast<std::size_t>(below(random, static_cast<int>(meshes.size())))];
}

std::string described(const DeviceMesh& mesh) {
  std::string out;
  for (const MeshAxis axis : mesh.axes())
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", mesh.name_of(axis), mesh.size(axis));
  return out;
}

namespace {

// "t: (batch@x, hidden@?, ...)" of a tensor, as users write it.
std::string random_annotation(std::mt19937& random, const OperatorGraph& graph, TensorId id, const DeviceMesh& mesh) {
  const Tensor& tensor = graph.tensor(id);
  std::vector<std::string> divided(tensor.axes.size());
  for (const MeshAxis axis : mesh.axes()) {
    const int place = below(random, static_cast<int>(tensor.axes.size()) + 1);
    if (place == static_cast<int>(tensor.axes.size())) continue;
    std::string& by = divided[static_cast<std::size_t>(place)];
    by += fmt::format("{}{}", by.empty() ? "" : ",", mesh.name_of(axis));
  }
  std::vector<std::string> entries;
  bool open = false;
  for (std::size_t i = 0; i < tensor.axes.size(); ++i) {
    const std::string& name = graph.info(tensor.axes[i]).name;
    if (!divided[i].empty()) {
      entries.push_back(fmt::format("{}@({})", name, divided[i]));
    } else if (below(random, 2) == 0) {
      entries.push_back(below(random, 2) == 0 ? name : name + "@?");
    } else {
      open = true;
    }
  }
  if (open) entries.emplace_back("...");
  return fmt::format("{}: ({})", tensor.name, fmt::join(entries, ", "));
}

}  // namespace

std::vector<Annotation> read_annotations(const std::vector<std::string>& texts, const OperatorGraph& graph,
                                         const DeviceMesh& mesh) {
  std::vector<Annotation> out;
  for (const std::string& text : texts) {
    const AnnotationText parsed = parse_annotation(text);
    for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
      if (graph.tensors[id].name != parsed.tensor) continue;
      out.push_back(annotation_of(parsed, graph, static_cast<TensorId>(id), mesh));
      break;
    }
  }
  return out;
}

std::vector<std::string> random_annotations(std::mt19937& random, const OperatorGraph& graph, const DeviceMesh& mesh) {
  std::map<std::string, std::string> out;
  const int count = 1 + below(random, 4);
  for (int i = 0; i < count; ++i) {
    const auto id = static_cast<std::size_t>(below(random, static_cast<int>(graph.tensors.size())));
    if (graph.tensors[id].axes.empty()) continue;
    out[graph.tensors[id].name] = random_annotation(random, graph, static_cast<TensorId>(id), mesh);
  }
  std::vector<std::string> texts;
  for (auto& [name, text] : out) texts.push_back(text);
  return texts;
}

std::optional<std::string> fault_of(const Subject& subject, const DeviceMesh& mesh, const ShardingPlan& plan,
                                    const std::vector<TensorId>& dropped, Proof* proof, const Change& change) {
  const Layout layout(subject.graph, mesh, plan);
  if (!layout.is_possible() || (!plan.by_compiler && !layout.is_even())) return std::nullopt;
  try {
    PartitionedBlock block = partition(subject.graph, mesh, plan, {}, dropped);
    if (change) change(block);
    const SequenceGroups groups = sequence_groups(subject.graph, mesh, plan);
    const Proof found = prove(
        {block, mesh, plan, dropped, subject.meaning, true},
        groups.empty() ? subject.whole : run(subject.graph, subject.meaning, entering_values(subject.graph), groups));
    if (proof != nullptr) *proof = found;
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::unique_ptr<Subject> random_subject(std::mt19937& random, bool windows, bool uneven, bool accumulated) {
  const RandomBlock block = random_block(random, windows, uneven);
  try {
    BackwardOptions options;
    options.fused_accumulation = !accumulated;
    return std::make_unique<Subject>(block.text, with_backward(compiled(block.text, block.sizes), options));
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace mirfak::test
