// A captured operator has shapes, formats and the bytes of its tensors; the table says what kind of kernel it is.
// Products, convolutions and fused attention are priced by their shapes. All other kernels are bound by memory, or,
// where places and formats are computed element by element, by instructions. Bytes are those of the capture, each
// tensor once, corrected by what kernels do otherwise: rows of a table alone are read, a tensor is read again, sectors
// of memory are moved whole.
#include "capture/operator_price.hpp"

#include "capture/captured_tensors.hpp"
#include "cost/composite_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

double bytes_of(std::span<const CapturedTensor> tensors) {
  double out = 0;
  for (const CapturedTensor& tensor : tensors) out += mirfak::bytes_of(tensor);
  return out;
}

std::int64_t extent(const CapturedTensor& tensor, std::size_t from_last) {
  return tensor.shape.size() > from_last ? tensor.shape[tensor.shape.size() - 1 - from_last] : 1;
}

// Bytes of an operator's tensors, of which those that results are written into are not read.
double tensor_bytes(const CapturedOperator& op, const OperatorTable& table) {
  double bytes = op.read_bytes + op.written_bytes;
  for (const std::string& name : table.results) bytes -= bytes_of(argument(op, name));
  return bytes;
}

// Bytes that the kernels of an operator move.
double moved_bytes(const CapturedOperator& op, const OperatorRule& rule, const OperatorTable& table) {
  if (rule.counted) return op.read_bytes + op.written_bytes;
  double bytes = tensor_bytes(op, table);
  if (!rule.copies.empty()) {
    bytes = 0;
    for (const std::string& name : rule.copies) bytes += 2 * bytes_of(argument(op, name));
    return bytes;
  }
  for (const std::string& name : rule.skips) bytes -= bytes_of(argument(op, name));
  for (const auto& [name, other] : rule.writes_with) {
    if (argument(op, other).empty()) bytes -= bytes_of(argument(op, name));
  }
  for (const std::string& name : rule.gathers) {
    if (!argument(op, name).empty()) bytes += bytes_of(op.out) - bytes_of(argument(op, name));
  }
  for (const std::string& name : rule.again) bytes += bytes_of(argument(op, name));
  for (const auto* tensors : {&op.in, &op.out}) {
    for (const CapturedTensor& tensor : *tensors) bytes += sector_bytes(tensor) - mirfak::bytes_of(tensor);
  }
  return std::max(0.0, bytes) * rule.passes;
}

bool same_layout(const CapturedTensor& a, const CapturedTensor& b) {
  return a.shape == b.shape && a.strides == b.strides;
}

// True for sums over other dimensions than the last: each thread then walks over rows.
bool sums_rows(const CapturedOperator& op) {
  const auto dim = op.settings.find("dim");
  if (dim == op.settings.end() || op.in.empty()) return false;
  const std::string last = fmt::format("{}", static_cast<std::int64_t>(op.in.front().shape.size()) - 1);
  std::string numbers = dim->second;
  std::erase_if(numbers, [](char c) { return c == '[' || c == ']' || c == ' '; });
  numbers = "," + numbers + ",";
  return numbers.find("," + last + ",") == std::string::npos && numbers.find(",-1,") == std::string::npos;
}

OperatorKind memory_kind(const CapturedOperator& op, OperatorClass kind) {
  switch (kind) {
    case OperatorClass::normalization:
      return OperatorKind::normalization;
    case OperatorClass::softmax:
      return OperatorKind::softmax;
    case OperatorClass::reduction:
      return sums_rows(op) ? OperatorKind::reduction : OperatorKind::elementwise;
    case OperatorClass::gather:
    case OperatorClass::scatter:
      return OperatorKind::gather;
    default:
      return OperatorKind::elementwise;
  }
}

// The first two tensors of a product, which an operator of its kind has.
std::pair<const CapturedTensor*, const CapturedTensor*> factors(const CapturedOperator& op, const OperatorRule& rule) {
  const std::span<const CapturedTensor> first = argument(op, rule.factors[0]);
  const std::span<const CapturedTensor> second = argument(op, rule.factors[1]);
  if (first.empty() || second.empty() || op.out.empty()) return {nullptr, nullptr};
  return {&first.front(), &second.front()};
}

// [m, k] x [k, n] with batches in front. Groups of rows, or of the inner dimension, stand in one tensor of fewer
// dimensions than another.
GemmShape product_shape(const CapturedTensor& a, const CapturedTensor& b, const CapturedTensor& result) {
  GemmShape shape;
  const bool vector = b.shape.size() == 1;
  shape.k = static_cast<double>(extent(a, 0));
  shape.n = vector ? 1 : static_cast<double>(extent(b, 0));
  shape.m = elements(a) / std::max(1.0, shape.k);
  if (a.shape.size() > 2) {
    shape.batch = shape.m / std::max<double>(1, static_cast<double>(extent(a, 1)));
    shape.m /= std::max(1.0, shape.batch);
  } else if (b.shape.size() > 2) {  // rows of groups
    shape.batch = static_cast<double>(b.shape.front());
    shape.m /= std::max(1.0, shape.batch);
  } else if (result.shape.size() > 2) {  // inner dimensions of groups
    shape.batch = static_cast<double>(result.shape.front());
    shape.k /= std::max(1.0, shape.batch);
  }
  return shape;
}

// Describes a mask by the share of blocks of scores that are computed: one of 128 x 128 scores counts if the mask lets
// any through. Shares up to that of a causal mask are taken for causal ones with a window, larger ones for no mask.
void set_mask(double computed, AttentionShape& shape) {
  const double blocks = std::ceil(shape.queries / 128);
  const double on_diagonal = 1 / (2 * blocks);
  shape.causal = shape.queries == shape.keys && computed <= 0.5 + on_diagonal + 1e-6;
  if (!shape.causal || computed >= 0.5 + on_diagonal - 1e-6) return;
  const double pairs = std::max(computed - on_diagonal, 1 / shape.keys);
  shape.window = std::ceil(shape.keys * (1 - std::sqrt(std::max(0.0, 1 - 2 * pairs))));
}

}  // namespace

OperatorPrices::OperatorPrices(const GpuSpec& gpu, const OperatorTable& table, double time_factor)
    : gpu_(gpu), table_(table), time_factor_(time_factor), usual_(gpu.gemm.begin()->first) {}

void OperatorPrices::set_clock_share(double settled, double limit) {
  settled_ = settled;
  limit_ = limit;
  for (auto& [of, model] : models_) model.set_clock_share(settled, limit);
}

const KernelModel& OperatorPrices::model(Precision precision, const std::string& generation) {
  const auto known = models_.find({precision, generation});
  if (known != models_.end()) return known->second;
  const std::vector<std::string> generations =
      generation.empty() ? std::vector<std::string>() : std::vector<std::string>{generation};
  KernelModel made(gpu_, precision, generations);
  made.set_time_factor(time_factor_);
  made.set_clock_share(settled_, limit_);
  return models_.emplace(std::pair(precision, generation), made).first->second;
}

Precision OperatorPrices::precision_of(const CapturedTensor& tensor) const {
  const auto found = table_.precisions.find(tensor.format);
  return found == table_.precisions.end() ? Precision::fp32 : found->second;
}

KernelCost OperatorPrices::product(const CapturedOperator& op, const OperatorRule& rule) {
  const auto [a, b] = factors(op, rule);
  if (a == nullptr) return moved(op, rule, 1);
  const GemmShape shape = product_shape(*a, *b, op.out.front());
  if (shape.flop() <= 0 || shape.n == 1 || shape.m == 1) return moved(op, rule, 1);
  return model(precision_of(*a)).price_gemm(shape, tensor_bytes(op, table_));
}

KernelCost OperatorPrices::convolution(const CapturedOperator& op, const OperatorRule& rule) {
  const auto [input, weight] = factors(op, rule);
  if (input == nullptr || weight->shape.size() < 3) return moved(op, rule, 1);
  const bool turned = setting_is(op, "transposed", "true");
  const bool backward = !rule.gradient.empty();
  const std::span<const CapturedTensor> gradient = argument(op, rule.gradient);
  if (backward && gradient.empty()) return moved(op, rule, 1);
  const CapturedTensor& result = backward ? gradient.front() : op.out.front();
  const CapturedTensor& at = turned ? *input : result;
  const auto groups = static_cast<double>(std::max<std::int64_t>(1, whole_setting(op, "groups").value_or(1)));
  const double positions =
      elements(at) / std::max<double>(1, at.shape.size() > 1 ? static_cast<double>(at.shape[1]) : 1);
  const double columns = static_cast<double>(weight->shape[0]) / groups;
  const double inner = elements(*weight) / std::max<double>(1, static_cast<double>(weight->shape[0]));
  // Depthwise: it moves more than it multiplies.
  if (positions == 0 || weight->shape[1] == 1 || columns <= 1) return moved(op, rule, 1);
  const KernelModel& products = model(precision_of(*input));
  KernelCost out;
  const auto add = [&](double m, double n, double k, double bytes) {
    add_cost(out, products.price_gemm({groups, m, n, k}, bytes));
  };
  if (!backward) {
    turned ? add(positions, inner, columns, op.read_bytes + op.written_bytes)
           : add(positions, columns, inner, op.read_bytes + op.written_bytes);
  } else {
    for (const CapturedTensor& wanted : op.out) {
      if (wanted.shape.size() < 3) continue;  // of the bias
      const double bytes = mirfak::bytes_of(wanted) + mirfak::bytes_of(result);
      const bool of_weight = wanted.shape == weight->shape;
      of_weight ? add(columns, inner, positions, bytes + mirfak::bytes_of(*input))
                : add(positions, turned ? columns : inner, turned ? inner : columns, bytes + mirfak::bytes_of(*weight));
    }
  }
  out.activity = Activity::gemm;
  return out;
}

KernelCost OperatorPrices::attention(const CapturedOperator& op, const OperatorRule& rule) {
  const std::span<const CapturedTensor> query = argument(op, "query");
  const std::span<const CapturedTensor> key = argument(op, "key");
  const std::span<const CapturedTensor> value = argument(op, "value");
  if (query.empty() || key.empty() || value.empty() || query.front().shape.size() != 4 ||
      key.front().shape.size() != 4 || value.front().shape.size() != 4 || elements(query.front()) == 0) {
    return moved(op, rule, 1);
  }
  AttentionShape shape;
  shape.batch = static_cast<double>(extent(query.front(), 3));
  shape.heads = static_cast<double>(extent(query.front(), 2));
  shape.queries = static_cast<double>(extent(query.front(), 1));
  shape.head_dim = static_cast<double>(extent(query.front(), 0));
  shape.kv_heads = static_cast<double>(extent(key.front(), 2));
  shape.keys = static_cast<double>(extent(key.front(), 1));
  shape.value_dim = static_cast<double>(extent(value.front(), 0));
  shape.causal = setting_is(op, "is_causal", "true");
  if (shape.keys == 0) return moved(op, rule, 1);
  if (const std::optional<double> computed = number_setting(op, "computed")) set_mask(*computed, shape);
  const bool backward = !rule.gradient.empty();
  const double flop = (backward ? 5 : 2) * 2 * shape.batch * shape.heads * shape.queries * shape.keys * shape.head_dim;
  return model(precision_of(query.front()), rule.generation)
      .price_attention(shape, backward, flop, op.read_bytes + op.written_bytes);
}

// Cycles of a multiprocessor for all elements of a kernel that computes their places or formats one by one; 0 for
// kernels that stream whole tensors of one layout.
double OperatorPrices::cycles(const CapturedOperator& op) const {
  if (op.out.empty() || op.in.empty()) return 0;
  const CapturedTensor& result = op.out.front();
  bool irregular = false;
  std::set<std::string> formats{result.format};
  for (const CapturedTensor& tensor : op.in) {
    if (elements(tensor) <= 1) continue;
    irregular = irregular || !same_layout(tensor, result);
    formats.insert(tensor.format);
  }
  const bool widens = op.in.size() == 1 && element_bytes(op.in.front()) < element_bytes(result);
  const double each = irregular && op.in.size() > 1 && formats.size() > 1 ? table_.instructions.mixed
                      : widens                                            ? table_.instructions.widening
                      : irregular                                         ? table_.instructions.strided
                                                                          : 0;
  return each * elements(result);
}

KernelCost OperatorPrices::moved(const CapturedOperator& op, const OperatorRule& rule, int kernels) {
  const KernelModel& streams = model(usual_);
  const double bytes = moved_bytes(op, rule, table_) / kernels;
  const bool plain = rule.kind == OperatorClass::elementwise && kernels == 1 && !rule.counted;
  const KernelCost one = plain ? price_plain_kernel(streams, bytes, cycles(op), Launch::stream)
                               : streams.price_memory_bound(bytes, memory_kind(op, rule.kind));
  KernelCost out = one;
  for (double KernelCost::*part : {&KernelCost::seconds, &KernelCost::bytes, &KernelCost::memory_s,
                                   &KernelCost::overhead_s, &KernelCost::clocked_s}) {
    out.*part *= kernels;
  }
  return out;
}

// Puts tensors side by side. Pieces shorter than a sector leave gaps in the sectors that a kernel writes, and the
// memory reads these sectors as well.
KernelCost OperatorPrices::joined(const CapturedOperator& op, int& kernels) {
  OperatorRule plain;
  const auto dimensions = op.out.empty() ? 0 : static_cast<std::int64_t>(op.out.front().shape.size());
  std::int64_t dim = whole_setting(op, "dim").value_or(0);
  if (dim < 0) dim += dimensions;
  if (dimensions == 0 || dim < 0 || dim >= dimensions || op.in.size() < 2) return moved(op, plain, kernels);
  const CapturedTensor& result = op.out.front();
  double after = element_bytes(result);
  for (auto i = static_cast<std::size_t>(dim) + 1; i < result.shape.size(); ++i) {
    after *= static_cast<double>(result.shape[i]);
  }
  const double line = after * static_cast<double>(result.shape[static_cast<std::size_t>(dim)]);
  const double piece = line / static_cast<double>(op.in.size());
  if (piece >= kSectorBytes || piece <= 0) return moved(op, plain, kernels);
  kernels = static_cast<int>(op.in.size());
  const double written = 2 * op.written_bytes * std::min(line, kSectorBytes) / piece;
  return moved({op.name, {}, {}, {}, {}, op.read_bytes, written}, plain, kernels);
}

int OperatorPrices::kernels_of_lists(const CapturedOperator& op) const {
  double tensors = 1;
  double blocks = 0;
  std::size_t lists = 0;
  for (const auto& [name, count] : op.arguments) {
    tensors = std::max<double>(tensors, count);
    if (count > 1) ++lists;
  }
  const auto first = static_cast<std::size_t>(op.arguments.empty() ? 0 : op.arguments.front().second);
  for (std::size_t i = 0; i < first; ++i) blocks += std::ceil(elements(op.in[i]) / table_.lists.elements);
  const std::vector<int>& most = table_.lists.tensors;
  const double of_launch = most[std::clamp<std::size_t>(lists, 1, most.size()) - 1];
  constexpr double max_kernels = 1e9;
  return static_cast<int>(
      std::clamp(std::max(std::ceil(tensors / of_launch), std::ceil(blocks / table_.lists.blocks)), 1.0, max_kernels));
}

OperatorPrice OperatorPrices::price(const CapturedOperator& op) {
  OperatorPrice out;
  const OperatorRule* found = table_.find(op.name);
  out.known = found != nullptr;
  const OperatorRule rule = out.known ? *found : OperatorRule();
  out.kernels = rule.kernels;
  if (rule.kernels == 0) return out;
  if (!op.in.empty()) out.precision = precision_of(op.in.front());
  switch (rule.kind) {
    case OperatorClass::product:
      out.cost = product(op, rule);
      break;
    case OperatorClass::convolution:
      out.cost = convolution(op, rule);
      break;
    case OperatorClass::attention: {
      const std::string wanted[] = {rule.generation};
      const AttentionChoice choice = attention_choice(gpu_, wanted);
      out.figures = choice.figures_of;
      if (!rule.gradient.empty()) out.kernels = 3;  // AttentionModel
      out.cost = attention(op, rule);
      break;
    }
    case OperatorClass::lists:
      out.kernels = kernels_of_lists(op);
      out.cost = moved(op, rule, out.kernels);
      break;
    case OperatorClass::join:
      out.cost = joined(op, out.kernels);
      break;
    default:
      out.cost = moved(op, rule, rule.kernels);
  }
  return out;
}

}  // namespace mirfak
