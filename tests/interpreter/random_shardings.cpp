// Random graphs under random shardings: what the devices of a mesh compute together is what the undivided graph
// computes. A few tensors are annotated and the rest completed, or everything is chosen at random. A case that fails
// is printed with all that it takes to repeat it, after what it does not take was left out.

#include "graph/backward.hpp"
#include "interpreter/divided.hpp"
#include "interpreter/layout.hpp"
#include "interpreter/proof_fixture.hpp"
#include "interpreter/random_blocks.hpp"
#include "sharding/completion.hpp"
#include "tests/block/block_fixture.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>

using namespace mirfak;
using namespace mirfak::interpreter;
using namespace mirfak::test;

namespace {

int below(std::mt19937& random, int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); }

// A graph with what the undivided run makes of it.
struct Subject {
  std::string text;
  OperatorGraph graph;
  Meaning meaning;
  Values whole;

  Subject(std::string text_of, OperatorGraph graph_of)
      : text(std::move(text_of)),
        graph(std::move(graph_of)),
        meaning(graph),
        whole(run(graph, meaning, entering_values(graph))) {}
};

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

struct Tally {
  int proved = 0;
  int refused = 0;     // blocks that the language has not
  int impossible = 0;  // no way to give parts to devices that the plan's moves allow
  int collectives = 0;
  int edges = 0;
};

// nullopt: no layout is possible. Else what is wrong; empty: nothing.
std::optional<std::string> fault_of(const Subject& subject, const DeviceMesh& mesh, const ShardingPlan& plan,
                                    const std::vector<TensorId>& dropped, Proof* proof) {
  if (!Layout(subject.graph, mesh, plan).is_possible()) return std::nullopt;
  try {
    const PartitionedBlock block = partition(subject.graph, mesh, plan, {}, dropped);
    const Proof found = prove({block, mesh, plan, dropped, subject.meaning}, subject.whole);
    if (proof != nullptr) *proof = found;
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

void check_annotated(const Subject& subject, const DeviceMesh& mesh, std::vector<std::string> texts, bool recompute,
                     Tally& tally) {
  const std::vector<TensorId> dropped = recompute ? all_activations(subject.graph) : std::vector<TensorId>();
  const auto fault = [&](const std::vector<std::string>& annotated, Proof* proof) {
    const ShardingPlan plan = complete(subject.graph, mesh, read_annotations(annotated, subject.graph, mesh));
    return fault_of(subject, mesh, plan, dropped, proof);
  };
  Proof proof;
  std::optional<std::string> found = fault(texts, &proof);
  if (!found) {
    ++tally.impossible;
    return;
  }
  if (found->empty()) {
    ++tally.proved;
    tally.collectives += proof.collectives;
    return;
  }
  // Without annotations that it does not take.
  for (std::size_t i = 0; i < texts.size();) {
    std::vector<std::string> fewer = texts;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    const std::optional<std::string> still = fault(fewer, nullptr);
    if (still && !still->empty()) {
      texts = fewer;
      found = still;
    } else {
      ++i;
    }
  }
  FAIL_CHECK(fmt::format("{}\n{}\nmesh {}{}\n  {}", *found, subject.text, described(mesh),
                         recompute ? ", recomputed" : "", fmt::join(texts, "\n  ")));
}

std::unique_ptr<Subject> random_subject(std::mt19937& random, bool windows, bool uneven, bool accumulated,
                                        Tally& tally) {
  const RandomBlock block = random_block(random, windows, uneven);
  try {
    BackwardOptions options;
    options.fused_accumulation = !accumulated;
    return std::make_unique<Subject>(block.text, with_backward(compiled(block.text, block.sizes), options));
  } catch (const Error& error) {
    ++tally.refused;
    return nullptr;
  }
}

int cases(int usual) { return std::getenv("MIRFAK_PROOFS") != nullptr ? 20 * usual : usual; }

void prove_random(bool windows, bool uneven, int blocks, unsigned seed) {
  constexpr int kAnnotationsOfBlock = 6;
  Tally tally;
  const char* only = std::getenv("MIRFAK_SEED");  // a block that failed, again
  for (int i = 0; i < blocks; ++i) {
    const unsigned own = seed + static_cast<unsigned>(i);
    if (only != nullptr && std::to_string(own) != only) continue;
    std::mt19937 random(own);
    const auto subject = random_subject(random, windows, uneven, i % 2 == 0, tally);
    INFO("MIRFAK_SEED=", own);
    if (!subject) continue;
    for (int j = 0; j < kAnnotationsOfBlock; ++j) {
      const DeviceMesh mesh = random_mesh(random);
      check_annotated(*subject, mesh, random_annotations(random, subject->graph, mesh), j % 3 == 2, tally);
    }
  }
  MESSAGE(tally.proved << " proved with " << tally.collectives << " collectives, " << tally.impossible
                       << " without a layout, " << tally.refused << " blocks refused");
  if (only == nullptr) CHECK(tally.proved > blocks * kAnnotationsOfBlock / 2);
}

}  // namespace

TEST_CASE("random graphs, completed from random annotations") { prove_random(false, false, cases(200), 1); }
TEST_CASE("of uneven sizes") { prove_random(false, true, cases(150), 100001); }
TEST_CASE("with windows: rows at the edges of parts") { prove_random(true, false, cases(150), 200001); }
TEST_CASE("with windows, of uneven sizes") { prove_random(true, true, cases(150), 300001); }
