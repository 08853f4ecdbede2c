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
