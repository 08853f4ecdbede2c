#include "capture/operator_price.hpp"

#include "capture/captured_tensors.hpp"
#include "cluster/catalog.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace mirfak;

namespace operator_price_test {

namespace {

const OperatorTable& table() {
  static const OperatorTable read = read_operator_table(source_root() + "/hw_profiles/pytorch/operators.yaml");
  return read;
}

const GpuSpec& gpu() {
  static const GpuSpec spec = Catalog(source_root() + "/hw_profiles").node(FileReference("hgx-h100")).gpu;
  return spec;
}

using Tensors = std::vector<CapturedTensor>;

CapturedTensor tensor(const std::string& format, std::vector<std::int64_t> shape,
                      std::vector<std::int64_t> strides = {}) {
  return {format, std::move(shape), std::move(strides)};
}

CapturedOperator op(const std::string& name, const std::vector<std::pair<std::string, Tensors>>& arguments, Tensors out,
                    std::map<std::string, std::string> settings = {}) {
  CapturedOperator made;
  made.name = name;
  for (const auto& [argument, tensors] : arguments) {
    made.arguments.emplace_back(argument, static_cast<int>(tensors.size()));
    for (const CapturedTensor& each : tensors) {
      made.in.push_back(each);
      made.read_bytes += bytes_of(each);
    }
  }
  for (const CapturedTensor& each : out) made.written_bytes += bytes_of(each);
  made.out = std::move(out);
  made.settings = std::move(settings);
  return made;
}

OperatorPrice price(const CapturedOperator& of) { return OperatorPrices(gpu(), table(), 1).price(of); }

const KernelModel& bf16() {
  static const KernelModel model(gpu(), Precision::bf16);
  return model;
}

double product_s(const GemmShape& shape, double bytes) { return bf16().price_gemm(shape, bytes).seconds; }
double moved_s(double bytes, OperatorKind kind = OperatorKind::elementwise) {
  return bf16().price_memory_bound(bytes, kind).seconds;
}

}  // namespace

TEST_CASE("bytes of tensors: expanded dimensions once, sectors whole") {
  CHECK(bytes_of(tensor("bfloat16", {4, 8})) == 64);
  CHECK(bytes_of(tensor("bool", {4, 8}, {8, 1})) == 32);
  CHECK(bytes_of(tensor("float8_e4m3fn", {4, 8})) == 32);
  CHECK(bytes_of(tensor("complex64", {4})) == 32);
  CHECK(bytes_of(tensor("float32", {4, 8}, {0, 1})) == 32);
  CHECK(bytes_of(tensor("float32", {})) == 4);
  CHECK(sector_bytes(tensor("float32", {100}, {2})) == 800);
  CHECK(sector_bytes(tensor("float32", {100}, {64})) == 3200);  // a sector for each
  CHECK(sector_bytes(tensor("float32", {8, 100}, {1, 8})) == 3200);
}

TEST_CASE("products: plain, with a bias, batched, of groups of rows, of groups of the inner dimension") {
  const CapturedTensor a = tensor("bfloat16", {4096, 1024});
  const CapturedTensor b = tensor("bfloat16", {1024, 2048}, {1, 1024});
  const CapturedTensor c = tensor("bfloat16", {4096, 2048});
  const double bytes = bytes_of(a) + bytes_of(b) + bytes_of(c);
  const OperatorPrice plain = price(op("aten::mm", {{"self", {a}}, {"mat2", {b}}}, {c}));
  CHECK(plain.cost.seconds == product_s({1, 4096, 2048, 1024}, bytes));
  CHECK(plain.cost.flop == 2.0 * 4096 * 2048 * 1024);
  CHECK(plain.cost.activity == Activity::gemm);
  CHECK(plain.kernels == 1);
  const OperatorPrice biased =
      price(op("aten::addmm", {{"self", {tensor("bfloat16", {2048})}}, {"mat1", {a}}, {"mat2", {b}}}, {c}));
  CHECK(biased.cost.flop == plain.cost.flop);
  const CapturedOperator batched =
      op("aten::bmm", {{"self", {tensor("bfloat16", {16, 512, 64})}}, {"mat2", {tensor("bfloat16", {16, 64, 256})}}},
         {tensor("bfloat16", {16, 512, 256})});
  CHECK(price(batched).cost.seconds == product_s({16, 512, 256, 64}, batched.read_bytes + batched.written_bytes));
  const CapturedOperator rows =
      op("aten::_grouped_mm",
         {{"self", {tensor("bfloat16", {4096, 1024})}}, {"mat2", {tensor("bfloat16", {8, 1024, 256})}}},
         {tensor("bfloat16", {4096, 256})});
  CHECK(price(rows).cost.flop == 2.0 * 4096 * 1024 * 256);
  CHECK(price(rows).cost.seconds == product_s({8, 512, 256, 1024}, rows.read_bytes + rows.written_bytes));
  const CapturedOperator inner = op(
      "aten::_grouped_mm", {{"self", {tensor("bfloat16", {1024, 4096})}}, {"mat2", {tensor("bfloat16", {4096, 256})}}},
      {tensor("bfloat16", {8, 1024, 256})});
  CHECK(price(inner).cost.flop == 2.0 * 1024 * 4096 * 256);
  // The peak of fp8 is another.
  const CapturedOperator scaled =
      op("aten::_scaled_mm",
         {{"self", {tensor("float8_e4m3fn", {4096, 4096})}}, {"mat2", {tensor("float8_e4m3fn", {4096, 4096})}}},
         {tensor("bfloat16", {4096, 4096})});
  CHECK(price(scaled).cost.seconds == KernelModel(gpu(), Precision::fp8)
                                          .price_gemm({1, 4096, 4096, 4096}, scaled.read_bytes + scaled.written_bytes)
                                          .seconds);
}

TEST_CASE("convolutions are products; depthwise ones move bytes") {
  const CapturedTensor x = tensor("bfloat16", {8, 64, 56, 56});
  const CapturedTensor w = tensor("bfloat16", {128, 64, 3, 3});
  const CapturedTensor y = tensor("bfloat16", {8, 128, 28, 28});
  const std::map<std::string, std::string> settings{{"groups", "1"}, {"transposed", "false"}};
  const double flop = 2.0 * 8 * 28 * 28 * 128 * 64 * 9;
  const OperatorPrice forward = price(op("aten::convolution", {{"input", {x}}, {"weight", {w}}}, {y}, settings));
  CHECK(forward.cost.flop == flop);
  CHECK(forward.cost.activity == Activity::gemm);
  const OperatorPrice backward = price(
      op("aten::convolution_backward", {{"grad_output", {y}}, {"input", {x}}, {"weight", {w}}}, {x, w}, settings));
  CHECK(backward.cost.flop == 2 * flop);
  const CapturedTensor each = tensor("bfloat16", {64, 1, 3, 3});
  const CapturedOperator depthwise =
      op("aten::convolution", {{"input", {x}}, {"weight", {each}}}, {x}, {{"groups", "64"}, {"transposed", "false"}});
  CHECK(price(depthwise).cost.seconds == moved_s(depthwise.read_bytes + depthwise.written_bytes));
}

TEST_CASE("fused attention is priced by the backend that ran, forward and backward") {
  const CapturedTensor q = tensor("bfloat16", {4, 32, 4096, 128});
  const CapturedTensor k = tensor("bfloat16", {4, 8, 4096, 128});
  const AttentionShape shape{4, 4096, 4096, 32, 8, 128, true, 0, 128};
  const std::map<std::string, std::string> causal{{"is_causal", "true"}};
  const auto of = [&](const char* generation) { return AttentionModel(gpu(), gpu().attention.at(generation)); };
  CHECK(price(op("aten::_scaled_dot_product_flash_attention", {{"query", {q}}, {"key", {k}}, {"value", {k}}}, {q},
                 causal))
            .cost.seconds == of("flash-2").forward(shape).seconds);
  const OperatorPrice backward =
      price(op("aten::_scaled_dot_product_cudnn_attention_backward",
               {{"grad_out", {q}}, {"query", {q}}, {"key", {k}}, {"value", {k}}}, {q, k, k}, causal));
  CHECK(backward.cost.seconds == of("cudnn").backward(shape).seconds);
  CHECK(backward.cost.activity == Activity::attention);
  CHECK(backward.kernels == 3);
  CHECK(backward.figures.empty());
}

TEST_CASE("flexible attention is priced by the share of blocks that its mask lets through") {
  const CapturedTensor q = tensor("bfloat16", {4, 32, 4096, 128});
  const CapturedTensor k = tensor("bfloat16", {4, 8, 4096, 128});
  const AttentionModel model(gpu(), gpu().attention.at("flash-2"));
  const auto forward = [&](const char* computed) {
    return price(op("higher_order::flex_attention", {{"query", {q}}, {"key", {k}}, {"value", {k}}}, {q},
                    {{"computed", computed}}))
        .cost.seconds;
  };
  AttentionShape shape{4, 4096, 4096, 32, 8, 128, true, 0, 128};
  CHECK(forward("0.515625") == model.forward(shape).seconds);  // 33 / 64: blocks on and under the diagonal
  shape.causal = false;
  CHECK(forward("1.0") == model.forward(shape).seconds);
  CHECK(forward("0.75") == model.forward(shape).seconds);
  shape.causal = true;
  shape.window = 128;
  // Two diagonals of 32 blocks: a window of one block.
  CHECK(forward("0.061523") == doctest::Approx(model.forward(shape).seconds).epsilon(0.02));
  const OperatorPrice backward = price(op("higher_order::flex_attention_backward",
                                          {{"query", {q}}, {"key", {k}}, {"value", {k}}, {"grad_out", {q}}}, {q, k, k},
                                          {{"computed", "0.515625"}}));
  shape.window = 0;
  CHECK(backward.cost.seconds == model.backward(shape).seconds);
}

TEST_CASE("kernels that read rows of a table, or skip an argument") {
  const CapturedTensor weights = tensor("bfloat16", {128256, 4096});
  const CapturedTensor ids = tensor("int64", {8192});
  const CapturedTensor rows = tensor("bfloat16", {8192, 4096});
  CHECK(price(op("aten::embedding", {{"weight", {weights}}, {"indices", {ids}}}, {rows})).cost.seconds ==
        doctest::Approx(moved_s(2 * bytes_of(rows) + bytes_of(ids), OperatorKind::gather)));
  const CapturedTensor scores = tensor("float32", {8192, 128256});
  const CapturedTensor one = tensor("float32", {});
  CHECK(price(op("aten::nll_loss_forward", {{"self", {scores}}, {"target", {ids}}}, {one, one})).cost.seconds ==
        doctest::Approx(moved_s(bytes_of(ids) + 8, OperatorKind::gather)));
  // An argument into which the result is written is not read.
  CHECK(price(op("aten::mul", {{"self", {rows}}, {"out", {rows}}}, {rows})).cost.seconds ==
        doctest::Approx(moved_s(2 * bytes_of(rows))));
  CHECK(price(op("prim::device", {{"a", {rows}}}, {})).kernels == 0);
}

TEST_CASE("element-wise kernels of several formats or broadcast operands are bound by instructions") {
  const CapturedTensor wide = tensor("float32", {4096, 4096});
  const CapturedTensor narrow = tensor("bfloat16", {4096, 4096});
  const double per_s = gpu().multiprocessors * gpu().clock_peak_hz.value;
  const double launch = moved_s(0);
  const double elements = 4096.0 * 4096;
  CHECK(price(op("aten::mul", {{"self", {wide}}, {"other", {wide}}}, {wide})).cost.seconds == moved_s(12 * elements));
  CHECK(price(op("aten::mul", {{"self", {wide}}, {"other", {tensor("bfloat16", {4096})}}}, {wide})).cost.seconds ==
        doctest::Approx(launch + 1.41 * elements / per_s));
  CHECK(price(op("aten::_to_copy", {{"self", {narrow}}}, {wide})).cost.seconds ==
        doctest::Approx(launch + 0.77 * elements / per_s));
  CHECK(price(op("aten::_to_copy", {{"self", {wide}}}, {narrow})).cost.seconds == moved_s(6 * elements));
}

TEST_CASE("sums over rows are slower than sums within rows") {
  const CapturedTensor x = tensor("bfloat16", {8192, 4096});
  const CapturedOperator within = op("aten::sum", {{"self", {x}}}, {tensor("bfloat16", {8192, 1})}, {{"dim", "[1]"}});
  const CapturedOperator over = op("aten::sum", {{"self", {x}}}, {tensor("bfloat16", {1, 4096})}, {{"dim", "[0]"}});
  CHECK(price(within).cost.seconds == moved_s(within.read_bytes + within.written_bytes));
  CHECK(price(over).cost.seconds == moved_s(over.read_bytes + over.written_bytes, OperatorKind::reduction));
}

TEST_CASE("kernels of a compiler move the bytes that it counted, whatever their tensors look like") {
  // Every second number of lines, broadcast against a column in another format: no instructions, no sectors beside.
  const CapturedTensor halves = tensor("bfloat16", {4096, 1024}, {2048, 2});
  const CapturedTensor column = tensor("float32", {4096, 1});
  const auto fused = [&](const std::string& kind) {
    CapturedOperator made = op("inductor::" + kind, {{"in_ptr0", {halves}}, {"in_ptr1", {column}}}, {halves});
    made.read_bytes = 3e8;
    made.written_bytes = 1e8;
    return made;
  };
  for (const char* kind : {"pointwise", "rows", "rows_and_columns"}) {
    CAPTURE(kind);
    CHECK(price(fused(kind)).known);
    CHECK(price(fused(kind)).kernels == 1);
    CHECK(price(fused(kind)).cost.seconds == doctest::Approx(moved_s(4e8)));
  }
  CHECK(price(fused("columns")).cost.seconds == doctest::Approx(moved_s(4e8, OperatorKind::normalization)));
  CHECK(price(fused("softmax")).cost.seconds == doctest::Approx(moved_s(4e8, OperatorKind::softmax)));
  CHECK(!price(fused("template")).known);
}

TEST_CASE("a product whose result has its place already does not read it") {
  const CapturedTensor a = tensor("bfloat16", {64, 4096});
  const CapturedTensor b = tensor("bfloat16", {4096, 4096});
  const CapturedTensor result = tensor("bfloat16", {64, 4096});
  const double bytes = 2.0 * (64 * 4096 + 4096 * 4096 + 64 * 4096);
  CHECK(price(op("aten::mm", {{"self", {a}}, {"mat2", {b}}, {"out", {result}}}, {result})).cost.seconds ==
        doctest::Approx(product_s({1, 64, 4096, 4096}, bytes)));
}

TEST_CASE("tensors side by side: long pieces by one kernel, every second number by one for each tensor") {
  const CapturedTensor half = tensor("float32", {4096, 1024});
  CHECK(price(op("aten::cat", {{"tensors", {half, half}}}, {tensor("float32", {4096, 2048})}, {{"dim", "-1"}}))
            .cost.seconds == moved_s(4 * bytes_of(half)));
  const OperatorPrice stacked =
      price(op("aten::stack", {{"tensors", {half, half}}}, {tensor("float32", {4096, 1024, 2})}, {{"dim", "-1"}}));
  CHECK(stacked.kernels == 2);
  CHECK(stacked.cost.seconds == doctest::Approx(2 * moved_s(20 * 4096.0 * 1024)));
}

TEST_CASE("lists of tensors are as many launches as they fill") {
  const CapturedTensor small = tensor("float32", {128});
  const Tensors many(300, small);
  // One list of 300 tensors: 110 of them in a launch.
  CHECK(price(op("aten::_foreach_mul_", {{"self", many}}, many)).kernels == 3);
  // Four lists, and 36 tensors of each in a launch.
  CHECK(price(op("aten::_fused_adamw_", {{"self", many}, {"grads", many}, {"exp_avgs", many}, {"exp_avg_sqs", many}},
                 many))
            .kernels == 9);
  // 64 Mi elements are 1024 blocks, of which a launch has 320.
  const CapturedTensor large = tensor("float32", {67108864});
  CHECK(price(op("aten::_foreach_mul_", {{"self", {large}}}, {large})).kernels == 4);
}

TEST_CASE("a fused optimizer writes gradients only where it scales them") {
  const Tensors one(1, tensor("float32", {65536 * 64}));
  const double bytes = bytes_of(one.front());
  std::vector<std::pair<std::string, Tensors>> arguments{
      {"self", one}, {"grads", one}, {"exp_avgs", one}, {"exp_avg_sqs", one}};
  const Tensors written(4, one.front());
  CHECK(price(op("aten::_fused_adamw_", arguments, written)).cost.bytes == 7 * bytes);
  arguments.push_back({"grad_scale", {tensor("float32", {})}});
  CHECK(price(op("aten::_fused_adamw_", arguments, written)).cost.bytes == 8 * bytes + 4);
}

TEST_CASE("every kind of the table is used, and every entry is found in place, too") {
  std::set<OperatorClass> kinds;
  for (const auto& [name, rule] : table().rules) kinds.insert(rule.kind);
  CHECK(kinds.size() == operator_class_names().size());
  CHECK(table().find("aten::mul_") == table().find("aten::mul"));
  CHECK(table().find("mine::mul") == nullptr);
}

}  // namespace operator_price_test
