#include "executor/cpu_kernels.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

using namespace mirfak;
using namespace mirfak::measure;

namespace {

double bytes_moved(const KernelWork& work) {
  const double reads = std::accumulate(work.reads.begin(), work.reads.end(), 0.0);
  return (reads + std::accumulate(work.writes.begin(), work.writes.end(), 0.0)) * work.passes;
}

}  // namespace

TEST_CASE("the traffic of a kernel counts each pass over its operands") {
  KernelWork work = memory_work(OperatorKind::elementwise, 800, 400, 64);
  CHECK(bytes_moved(work) == 1200);
  work.passes = 2.5;
  CHECK(bytes_moved(work) == 3000);
  CHECK(CpuKernels::operand_bytes(work) == 1200);
  CHECK(bytes_moved(traffic_work(900)) == doctest::Approx(900));
  CHECK(traffic_work(0).kind == KernelWork::Kind::nothing);
}

TEST_CASE("a product holds its three matrices") {
  KernelWork work;
  work.kind = KernelWork::Kind::product;
  work.product = {2, 3, 5, 7};
  CHECK(CpuKernels::operand_bytes(work) == 2 * 4 * (3 * 7 + 7 * 5 + 3 * 5));
}

TEST_CASE("kernels of any shape stay inside their operands") {
  CpuKernels kernels(1 << 16);
  for (const OperatorKind kind :
       {OperatorKind::elementwise, OperatorKind::normalization, OperatorKind::softmax, OperatorKind::reduction,
        OperatorKind::gather, OperatorKind::scatter, OperatorKind::cross_entropy, OperatorKind::view}) {
    for (const double read : {4.0, 60.0, 4100.0, 65536.0}) {
      for (const double written : {0.0, 4.0, 52.0, 8196.0}) kernels.run(memory_work(kind, read, written, 124));
    }
  }
  KernelWork attention;
  attention.kind = KernelWork::Kind::attention;
  attention.attention.batch = 1;
  attention.attention.heads = attention.attention.kv_heads = 2;
  attention.attention.queries = 5;
  attention.attention.keys = 9;
  attention.attention.head_dim = 4;
  for (const bool backward : {false, true}) {
    attention.backward = backward;
    kernels.run(attention);
  }
  KernelWork product;
  product.kind = KernelWork::Kind::product;
  product.product = {3, 1, 17, 5};
  for (int i = 0; i < 100; ++i) kernels.run(product);
}
