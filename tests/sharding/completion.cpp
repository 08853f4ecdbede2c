// The uses that GSPMD's paper lists (arXiv 2105.04663, section 3), each from annotations of a few tensors: nothing in
// completion or partitioning knows any of them.

#include "sharding/completion.hpp"

#include "sharding/halo.hpp"
#include "sharding/partition.hpp"
#include "sharding/weight_update.hpp"
#include "support/graph_writer.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace completion_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

// A graph on a mesh, with annotations as users write them.
struct Annotated {
  OperatorGraph graph;
  DeviceMesh mesh;
  std::vector<Annotation> annotations;

  Annotated(OperatorGraph forward, const DeviceMesh& on)
      : graph(with_backward(std::move(forward), {4, true})), mesh(on) {}

  TensorId tensor(std::string_view name) const {
    for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
      if (graph.tensors[id].name == name) return static_cast<TensorId>(id);
    }
    FAIL("no tensor ", name);
    return -1;
  }
  Annotated& annotate(const char* text) {
    const AnnotationText parsed = parse_annotation(text);
    annotations.push_back(annotation_of(parsed, graph, tensor(parsed.tensor), mesh));
    return *this;
  }
  ShardingPlan plan() const { return complete(graph, mesh, annotations); }
  PartitionedBlock partitioned() const { return partition(graph, mesh, plan(), {}, {}); }
  std::string lies(const char* name) const {
    return sharding_text(graph, tensor(name), plan().tensors[static_cast<std::size_t>(tensor(name))], mesh);
  }
};

// "all-gather of w over data: 64 bytes", in order.
std::vector<std::string> collectives(const Annotated& of, const std::vector<BlockStep>& steps) {
  std::vector<std::string> out;
  for (const BlockStep& step : steps) {
    if (step.kind != BlockStep::Kind::collective) continue;
    std::vector<std::string_view> over;
    for (const MeshAxis axis : step.over) over.push_back(of.mesh.name_of(axis));
    out.push_back(fmt::format("{} of {} over {}: {} bytes", name_of(step.collective), of.graph.tensor(step.tensor).name,
                              fmt::join(over, ","), step.bytes));
  }
  return out;
}

using Texts = std::vector<std::string>;

// u = x w1, a = gelu(u), y = a w2: 8 sequences of 16 tokens, hidden 32, inner 64.
OperatorGraph mlp() {
  GraphWriter w;
  const Axis b = w.axis("batch", 8), s = w.axis("sequence", 16), h = w.axis("hidden", 32), f = w.axis("ffn", 64);
  const TensorId x = w.stream("x", {b, s, h});
  const TensorId w1 = w.parameter("w1", {h, f}), w2 = w.parameter("w2", {f, h});
  const TensorId u = w.activation("u", {b, s, f}), a = w.activation("a", {b, s, f});
  const TensorId y = w.activation("y", {b, s, h});
  w.op("up", OperatorKind::einsum, {x, w1}, {u});
  w.op("gelu", OperatorKind::elementwise, {u}, {a}).saved = {u};
  w.op("down", OperatorKind::einsum, {a, w2}, {y});
  w.graph.outputs = {y};
  return w.graph;
}

// Images of 16 rows of 8, convolved with 3 x 3 taps, one row and column of zeros around them.
OperatorGraph convolution(std::int32_t stride = 1) {
  GraphWriter w;
  const Axis b = w.axis("batch", 2), i = w.axis("height", 16), j = w.axis("width", 8), c = w.axis("channels", 4);
  const Axis p = w.axis("p", 3), q = w.axis("q", 3), o = w.axis("features", 4);
  const Axis ii = stride == 1 ? i : w.axis("height_out", 16 / stride),
             jj = stride == 1 ? j : w.axis("width_out", 8 / stride);
  const TensorId x = w.stream("x", {b, i, j, c});
  const TensorId taps = w.parameter("taps", {p, q, c, o});
  const TensorId y = w.activation("y", {b, ii, jj, o});
  w.op("convolution", OperatorKind::einsum, {x, taps}, {y}).inputs[0].windows = {{1, ii, p, stride, 1, -1},
                                                                                 {2, jj, q, stride, 1, -1}};
  w.graph.outputs = {y};
  return w.graph;
}

}  // namespace

TEST_CASE("data parallelism: the batch of the input alone; gradients of weights are sums over it") {
  Annotated job(mlp(), {{"data", 4}});
  job.annotate("x: (batch@data, sequence, hidden)");
  CHECK(job.lies("u") == "(batch@data, sequence, ffn)");
  CHECK(job.lies("y") == "(batch@data, sequence, hidden)");
  CHECK(job.lies("d_y") == "(batch@data, sequence, hidden)");
  CHECK(job.lies("w1") == "(hidden, ffn)");
  const PartitionedBlock block = job.partitioned();
  CHECK(collectives(job, block.forward).empty());
  CHECK(collectives(job, block.backward).empty());
  REQUIRE(block.parameters.size() == 2);
  for (const ParameterShard& shard : block.parameters) CHECK(shard.gradient_partial == MeshAxisSet(MeshAxis{0}));
}

TEST_CASE("within a layer: one weight is divided, the other follows, and two all-reduces of b s h are left") {
  Annotated job(mlp(), {{"tensor", 4}});
  job.annotate("w1: (hidden, ffn@tensor)")
      .annotate("x: (batch, sequence, hidden)")
      .annotate("y: (batch, sequence, hidden)");
  CHECK(job.lies("u") == "(batch, sequence, ffn@tensor)");
  CHECK(job.lies("w2") == "(ffn@tensor, hidden)");
  const PartitionedBlock block = job.partitioned();
  // 2 bytes x 8 x 16 x 32.
  CHECK(collectives(job, block.forward) == Texts{"all-reduce of y over tensor: 8192 bytes"});
  CHECK(collectives(job, block.backward) == Texts{"all-reduce of d_x over tensor: 8192 bytes"});
  CHECK(block.parameter_bytes == 2 * 2 * 32 * 64 / 4);
}

TEST_CASE("two axes of a mesh: weights and activations divided over both, as in GSPMD's table 1") {
  // Weights (M@x, H@y), activations (B@x, S, M@y): weights are gathered over x, activations over y, sums scattered
  // back.
  Annotated job(mlp(), {{"x", 2}, {"y", 4}});
  job.annotate("w1: (hidden@x, ffn@y)").annotate("x: (batch@x, sequence, hidden@y)");
  CHECK(job.lies("u") == "(batch@x, sequence, ffn@y)");
  CHECK(job.lies("a") == "(batch@x, sequence, ffn@y)");
  CHECK(job.lies("w2") == "(ffn@y, hidden)");
  job.annotate("w2: (ffn@y, hidden@x)").annotate("y: (batch@x, sequence, hidden@y)");
  const PartitionedBlock block = job.partitioned();
  CHECK(collectives(job, block.forward) == Texts{"all-gather of x over y: 4096 bytes",   // 2 x 4 x 16 x 32
                                                 "all-gather of w1 over x: 1024 bytes",  // 2 x 32 x 16
                                                 "all-gather of w2 over x: 1024 bytes",  // 2 x 16 x 32
                                                 "reduce-scatter of y over y: 4096 bytes"});
  // Gradients of weights are sums over x, of which each device keeps the part that it holds of the weight.
  for (const ParameterShard& shard : block.parameters) CHECK(shard.gradient_partial == MeshAxisSet(MeshAxis{0}));
}

TEST_CASE("spatial partitioning: rows of images, with one row of each neighbour at every convolution") {
  Annotated job(convolution(), {{"rows", 4}});
  job.annotate("x: (batch, height@rows, width, channels)");
  CHECK(job.lies("y") == "(batch, height@rows, width, features)");
  const PartitionedBlock block = job.partitioned();
  // One row each way: 2 bytes x 2 x 8 x 4.
  const Texts halo = {"shift of x over rows: 128 bytes", "shift of x over rows: 128 bytes"};
  CHECK(collectives(job, block.forward) == halo);
  // Backward, each device adds to a row of each neighbour, and reads the rows of x again for the gradient of the taps.
  CHECK(collectives(job, block.backward) ==
        Texts{"shift of d_x over rows: 128 bytes", "shift of d_x over rows: 128 bytes", halo[0], halo[1]});
  CHECK(block.forward.back().local[index_of(job.graph.axis("height"))] == 4);
}

TEST_CASE("halos: strides, shifts and windows without padding") {
  const Window same{1, Axis{0}, Axis{1}, 1, 1, -1};
  const auto rows = [](const Halo& halo) { return std::pair(halo.before, halo.behind); };
  CHECK(rows(halo_of(16, 16, 3, same, 4)) == std::pair<std::int64_t, std::int64_t>(1, 1));
  CHECK(rows(halo_of(16, 16, 3, same, 1)) == std::pair<std::int64_t, std::int64_t>(0, 0));
  // Stride 2: rows 2 i - 1 to 2 i + 1, so one before and none behind.
  CHECK(rows(halo_of(16, 8, 3, {1, Axis{0}, Axis{1}, 2, 1, -1}, 4)) == std::pair<std::int64_t, std::int64_t>(1, 0));
  // Patches of 4: none.
  CHECK(rows(halo_of(16, 4, 4, {1, Axis{0}, Axis{1}, 4, 1, 0}, 4)) == std::pair<std::int64_t, std::int64_t>(0, 0));
  // Without padding 14 rows of 16: 4 and 4 on each device, the last of which is short of 2.
  CHECK(rows(halo_of(16, 14, 3, {1, Axis{0}, Axis{1}, 1, 1, 0}, 4)) == std::pair<std::int64_t, std::int64_t>(0, 2));
  // A buffer of stages moved on by one.
  CHECK(rows(halo_of(4, 4, 1, same, 4)) == std::pair<std::int64_t, std::int64_t>(1, 0));
  // Moved on by six: the second device lacks all 4 rows of the first, the third 4 + 2.
  CHECK(rows(halo_of(16, 16, 1, {1, Axis{0}, Axis{1}, 1, 1, -6}, 4)) == std::pair<std::int64_t, std::int64_t>(6, 0));
  CHECK(rows(halo_of(8, 8, 1, {1, Axis{0}, Axis{1}, 1, 1, -6}, 2)) == std::pair<std::int64_t, std::int64_t>(4, 0));
  // Windows that lie outside altogether need nothing.
  CHECK(rows(halo_of(8, 2, 3, {1, Axis{0}, Axis{1}, 2, 1, -5}, 2)) == std::pair<std::int64_t, std::int64_t>(0, 0));
}

TEST_CASE("halos: a tensor that comes from elsewhere comes without the rows beyond its part") {
  Annotated job(convolution(), {{"rows", 4}});
  job.annotate("x: (batch, height@rows, width, channels)");
  ShardingPlan plan = job.plan();
  Sharding& x = plan.tensors[static_cast<std::size_t>(job.tensor("x"))];
  std::swap(x.axes[1], x.axes[3]);  // divided along channels, and read by rows
  // 2 bytes x 2 x 16 x 8 x 4 / 4, then one row each way.
  CHECK(collectives(job, partition(job.graph, job.mesh, plan, {}, {}).forward) ==
        Texts{"all-to-all of x over rows: 512 bytes", "shift of x over rows: 128 bytes",
              "shift of x over rows: 128 bytes"});
}

TEST_CASE("halos of two axes: the second has the rows of the first; what was added goes back the other way") {
  Annotated job(convolution(), {{"rows", 4}, {"columns", 2}});
  job.annotate("x: (batch, height@rows, width@columns, channels)");
  const PartitionedBlock block = job.partitioned();
  // Rows of 4 columns, then columns of 4 + 2 rows: 2 bytes x 2 x 4 x 4 and 2 bytes x 2 x 6 x 4.
  const Texts there = {"shift of x over rows: 64 bytes", "shift of x over rows: 64 bytes",
                       "shift of x over columns: 96 bytes", "shift of x over columns: 96 bytes"};
  CHECK(collectives(job, block.forward) == there);
  const Texts back = collectives(job, block.backward);
  REQUIRE(back.size() == 8);
  CHECK(back[0] == "shift of d_x over columns: 96 bytes");
  CHECK(back[2] == "shift of d_x over rows: 64 bytes");
}

TEST_CASE("parts side by side are whole on every device, which would else add them as often as there are devices") {
  GraphWriter w;
  const Axis b = w.axis("b", 8), one = w.axis("one", 4), other = w.axis("other", 4), both = w.axis("both", 8);
  const TensorId x = w.stream("x", {b, both});
  const TensorId p = w.activation("p", {b, one}), q = w.activation("q", {b, other}), y = w.activation("y", {b, one});
  w.op("split", OperatorKind::view, {x}, {p, q}).function = "split";
  w.op("gelu", OperatorKind::elementwise, {p}, {y}).saved = {p};
  w.graph.outputs = {y, q};
  Annotated job(w.graph, {{"tensor", 4}});
  job.annotate("y: (b, one@tensor)");
  const PartitionedBlock block = job.partitioned();
  CHECK(collectives(job, block.backward).back() == "all-gather of d_p over tensor: 64 bytes");
}

TEST_CASE("weight update: a gradient's annotation makes its sum a reduce-scatter, and the new weight an all-gather") {
  Annotated job(mlp(), {{"data", 4}});
  job.annotate("x: (batch@data, sequence, hidden)").annotate("d_w1: (hidden@data, ffn)");
  CHECK(job.lies("w1") == "(hidden, ffn)");
  const PartitionedBlock block = job.partitioned();
  const WeightUpdate update = weight_update(block, job.mesh);
  // Gradients have 4 bytes an element here; of w2 nothing was said.
  CHECK(collectives(job, update.reductions) ==
        Texts{"reduce-scatter of d_w1 over data: 8192 bytes", "all-reduce of d_w2 over data: 8192 bytes"});
  CHECK(collectives(job, update.gathers) == Texts{"all-gather of w1 over data: 4096 bytes"});
  CHECK(update.state_elements == 32 * 64 / 4 + 64 * 32);
}

TEST_CASE("weights divided as well: gathered before each use, their gradients scattered") {
  Annotated job(mlp(), {{"data", 4}});
  job.annotate("x: (batch@data, sequence, hidden)")
      .annotate("w1: (hidden@data, ffn)")
      .annotate("w2: (ffn@data, hidden)");
  const PartitionedBlock block = job.partitioned();
  CHECK(collectives(job, block.forward) ==
        Texts{"all-gather of w1 over data: 4096 bytes", "all-gather of w2 over data: 4096 bytes"});
  const WeightUpdate update = weight_update(block, job.mesh);
  CHECK(collectives(job, update.reductions) ==
        Texts{"reduce-scatter of d_w1 over data: 8192 bytes", "reduce-scatter of d_w2 over data: 8192 bytes"});
  CHECK(update.gathers.empty());
}

TEST_CASE("pipelining: stages are an axis, and a buffer shifted along it is a collective-permute") {
  GraphWriter w;
  const Axis l = w.axis("stages", 4), b = w.axis("batch", 8), h = w.axis("hidden", 32), p = w.axis("shift", 1);
  const Axis k = w.axis("inner", 32);
  const TensorId state = w.stream("state", {l, b, h});
  const TensorId one = w.parameter("one", {p}), weights = w.parameter("weights", {l, h, k});
  const TensorId moved = w.activation("moved", {l, b, h}), y = w.activation("y", {l, b, k});
  // moved[l] = state[l - 1]: every stage takes what the one before it made, all stages compute at once.
  w.op("move", OperatorKind::einsum, {state, one}, {moved}).inputs[0].windows = {{0, l, p, 1, 1, -1}};
  w.op("layers", OperatorKind::einsum, {moved, weights}, {y});
  w.graph.outputs = {y};
  Annotated job(w.graph, {{"stage", 4}});
  job.annotate("weights: (stages@stage, ...)");
  CHECK(job.lies("state") == "(stages@stage, batch, hidden)");
  CHECK(job.lies("y") == "(stages@stage, batch, inner)");
  const PartitionedBlock block = job.partitioned();
  CHECK(collectives(job, block.forward) == Texts{"shift of state over stage: 512 bytes"});  // 2 x 8 x 32
  CHECK(collectives(job, block.backward).front() == "shift of d_state over stage: 512 bytes");
}

TEST_CASE("uneven sizes are padded: 25 heads over 2 are 13 on each") {
  GraphWriter w;
  const Axis b = w.axis("batch", 4), h = w.axis("hidden", 32), k = w.axis("heads", 25);
  const TensorId x = w.stream("x", {b, h}), wq = w.parameter("wq", {h, k}), q = w.activation("q", {b, k});
  w.op("query", OperatorKind::einsum, {x, wq}, {q});
  w.graph.outputs = {q};
  Annotated job(w.graph, {{"tensor", 2}});
  job.annotate("wq: (hidden, heads@tensor)");
  const PartitionedBlock block = job.partitioned();
  CHECK(block.forward.front().local[index_of(k)] == 13);
  CHECK(block.parameter_bytes == 2 * 32 * 13);
  job.annotate("q: (batch, heads)");
  CHECK(collectives(job, job.partitioned().forward) == Texts{"all-gather of q over tensor: 208 bytes"});  // 2 x 4 x 26
}

TEST_CASE("two mesh axes divide one axis; what disappears is gathered alone") {
  Annotated job(mlp(), {{"data", 2}, {"tensor", 4}});
  job.annotate("w1: (hidden, ffn@(data,tensor))").annotate("a: (batch, sequence, ffn@tensor)");
  CHECK(job.lies("u") == "(batch, sequence, ffn@(data,tensor))");
  CHECK(collectives(job, job.partitioned().forward).front() == "all-gather of a over data: 4096 bytes");
}

TEST_CASE("annotations may be partial, and two of one tensor are merged") {
  Annotated job(mlp(), {{"data", 2}, {"tensor", 4}});
  job.annotate("u: (batch@data, ...)").annotate("u: (ffn@tensor, batch@?, sequence)");
  CHECK(job.lies("u") == "(batch@data, sequence, ffn@tensor)");
  CHECK(job.lies("w1") == "(hidden, ffn@tensor)");
  CHECK(job.lies("x") == "(batch@data, sequence, hidden)");
}

TEST_CASE("contradictions name both annotations") {
  const auto message = [](const char* first, const char* second) {
    Annotated job(mlp(), {{"data", 2}, {"tensor", 4}});
    job.annotate(first).annotate(second);
    try {
      job.plan();
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("no error");
  };
  CHECK(message("w1: (hidden, ffn@tensor)", "w1: (hidden@tensor, ffn@?)") ==
        "'w1: (hidden@tensor, ffn@?)' contradicts 'w1: (hidden, ffn@tensor)' on axis hidden of w1");
  CHECK(message("w1: (hidden@?, ffn@tensor)", "w1: (hidden@tensor, ffn@?)") ==
        "'w1: (hidden@tensor, ffn@?)' contradicts 'w1: (hidden@?, ffn@tensor)' on axis hidden of w1");
  CHECK(message("w1: (hidden, ffn@tensor)", "w2: (ffn@data, hidden)") == "no error");  // a tensor moves between them
}

TEST_CASE("what a device does, and how many collectives, does not depend on how many devices there are") {
  const auto steps = [](int size) {
    Annotated job(mlp(), {{"x", size}, {"y", size}});
    job.annotate("w1: (hidden@x, ffn@y)")
        .annotate("x: (batch@x, sequence, hidden@y)")
        .annotate("w2: (ffn@y, hidden@x)");
    const PartitionedBlock block = job.partitioned();
    return std::pair(block.forward.size(), block.backward.size());
  };
  CHECK(steps(2) == steps(256));
}

}  // namespace completion_test
