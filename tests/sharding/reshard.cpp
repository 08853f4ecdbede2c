#include "sharding/sharding.hpp"

#include <doctest/doctest.h>

using namespace mirfak;

namespace {

// One fp16 tensor [batch 4, sequence 8, hidden 16]: 1,024 bytes.
OperatorGraph one_tensor() {
  OperatorGraph graph;
  Tensor x;
  x.name = "x";
  x.axes = {graph.add_axis({"batch", 4, Parallelism::data, {}}),
            graph.add_axis({"sequence", 8, Parallelism::tokens, {}}),
            graph.add_axis({"hidden", 16, Parallelism::none, {}})};
  x.bytes_per_element = 2;
  x.role = TensorRole::activation;
  graph.add_tensor(x);
  return graph;
}

const Sharding kWhole{{MeshAxisSet(), MeshAxisSet(), MeshAxisSet()}, {}};

Sharding over(std::size_t axis, MeshAxis mesh) {
  Sharding sharding = kWhole;
  sharding.axes[axis].insert(mesh);
  return sharding;
}

const DeviceMesh kMesh = {{"data", 2}, {"expert", 1}, {"context", 1}, {"tensor", 4}};

}  // namespace

TEST_CASE("resharding derives the collective and its size") {
  const OperatorGraph graph = one_tensor();
  Sharding partial = kWhole;
  partial.partial.insert(MeshAxis::tensor);
  const auto steps = [&](const Sharding& from, const Sharding& to) { return reshard(graph, 0, from, to, kMesh); };

  SUBCASE("partial sums wanted whole: all-reduce of the whole buffer") {
    const auto found = steps(partial, kWhole);
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == CollectiveKind::all_reduce);
    CHECK(found[0].bytes == 1024);
  }
  SUBCASE("partial sums wanted divided: reduce-scatter of the whole buffer") {
    const auto found = steps(partial, over(1, MeshAxis::tensor));
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == CollectiveKind::reduce_scatter);
    CHECK(found[0].bytes == 1024);
  }
  SUBCASE("divided, wanted whole: all-gather to the whole buffer") {
    const auto found = steps(over(1, MeshAxis::tensor), kWhole);
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == CollectiveKind::all_gather);
    CHECK(found[0].bytes == 1024);
  }
  SUBCASE("divided along another axis: all-to-all of a quarter") {
    const auto found = steps(over(1, MeshAxis::tensor), over(2, MeshAxis::tensor));
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == CollectiveKind::all_to_all);
    CHECK(found[0].bytes == 256);
  }
  SUBCASE("whole, wanted divided: every device has its slice already") {
    CHECK(steps(kWhole, over(1, MeshAxis::tensor)).empty());
  }
  SUBCASE("nothing to do") { CHECK(steps(over(0, MeshAxis::data), over(0, MeshAxis::data)).empty()); }
  SUBCASE("the other mesh axis divides the buffer of an all-gather") {
    Sharding both = over(0, MeshAxis::data);
    both.axes[1].insert(MeshAxis::tensor);
    const auto found = steps(both, over(0, MeshAxis::data));
    REQUIRE(found.size() == 1);
    CHECK(found[0].bytes == 512);
  }
  SUBCASE("a mesh axis of size 1 costs nothing") {
    CHECK(reshard(graph, 0, partial, kWhole, {{"data", 2}, {"expert", 1}, {"context", 1}, {"tensor", 1}}).empty());
  }
}

TEST_CASE("parts are padded where they are cut and where they are put together") {
  OperatorGraph graph = one_tensor();
  for (AxisInfo& axis : graph.axes) axis.extent += 1;  // nothing divides evenly
  const DeviceMesh mesh = {{"a", 2}};
  const MeshAxis a{0};
  const auto parts = [&](std::size_t axis) { return (graph.axes[axis].extent + 1) / 2; };
  const auto elements = [&](std::int64_t first, std::int64_t second) {
    return 2.0 * static_cast<double>(first * second * graph.axes[2].extent);
  };
  Sharding partial = kWhole;
  partial.partial.insert(a);
  const auto bytes = [&](const Sharding& from, const Sharding& to) {
    const std::vector<ReshardStep> steps = reshard(graph, 0, from, to, mesh);
    return steps.size() == 1 ? steps.front().bytes : 0;
  };
  CHECK(bytes(partial, kWhole) == elements(graph.axes[0].extent, graph.axes[1].extent));
  CHECK(bytes(partial, over(0, a)) == elements(2 * parts(0), graph.axes[1].extent));
  CHECK(bytes(over(0, a), kWhole) == elements(2 * parts(0), graph.axes[1].extent));
  CHECK(bytes(over(0, a), over(1, a)) == elements(parts(0), 2 * parts(1)));
}

TEST_CASE("the cheapest order of moves: what is to be sliced is sliced before anything is sent") {
  const OperatorGraph graph = one_tensor();
  const DeviceMesh mesh = {{"a", 2}, {"b", 4}, {"c", 4}};
  const MeshAxis a{0}, b{1}, c{2};
  const auto steps = [&](const Sharding& from, const Sharding& to, ReshardOrder order) {
    return reshard(graph, 0, from, to, mesh, order);
  };
  SUBCASE("gathered over a, then sliced over b; or sliced first, and a quarter of it gathered") {
    const auto of_mesh = steps(over(0, a), over(1, b), ReshardOrder::of_mesh);
    const auto cheapest = steps(over(0, a), over(1, b), ReshardOrder::cheapest);
    REQUIRE(of_mesh.size() == 1);
    REQUIRE(cheapest.size() == 1);
    CHECK(of_mesh[0].bytes == 1024);
    CHECK(cheapest[0].bytes == 256);
    CHECK(cheapest[0].from.axes[1].contains(b));  // each device took its slice before
  }
  SUBCASE("a mesh axis takes the place of another of its size: one shift of what a device has") {
    const auto found = steps(over(0, b), over(0, c), ReshardOrder::cheapest);  // 4 sequences: no part divides further
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == CollectiveKind::shift);
    CHECK(found[0].bytes == 256);
    CHECK(found[0].over == MeshAxisSet{b, c});
  }
  SUBCASE("of another size: sliced, then gathered") {
    const auto found = steps(over(2, a), over(2, b), ReshardOrder::cheapest);
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == CollectiveKind::all_gather);
    CHECK(found[0].bytes == 256);
  }
  SUBCASE("sums are scattered before what is left is gathered") {
    Sharding from = over(1, a);
    from.partial.insert(b);
    const auto found = steps(from, over(2, b), ReshardOrder::cheapest);
    REQUIRE(found.size() == 2);
    CHECK(found[0].kind == CollectiveKind::reduce_scatter);
    CHECK(found[1].kind == CollectiveKind::all_gather);
    CHECK(found[1].bytes == 256);
  }
}
