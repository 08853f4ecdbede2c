#include "interpreter/random_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace mirfak::test {

namespace {

using Labels = std::vector<std::string>;

std::string joined(const Labels& labels) { return fmt::format("{}", fmt::join(labels, " ")); }

// Writes a block statement by statement. All tensors that nobody reads leave it.
class Writer {
 public:
  Writer(std::mt19937& random, bool windows, bool uneven) : random_(random), windows_(windows), uneven_(uneven) {}

  RandomBlock write() {
    for (const char* label : {"b", "s", "h"}) axis(label);
    define_input({"b", "s", "h"});
    if (chance(3)) define_input({"b", "s", "h"});
    const int statements = 2 + below(5);
    for (int i = 0; i < statements; ++i) statement();
    return {text(), {{"batch", extent("b")}, {"sequence", extent("s")}}};
  }

 private:
  struct Value {
    std::string name;
    Labels labels;
    bool read = false;
    bool is_input = false;
  };

  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  bool chance(int one_of) { return below(one_of) == 0; }
  template <typename T>
  const T& any(const std::vector<T>& of) {
    return of[static_cast<std::size_t>(below(static_cast<int>(of.size())))];
  }

  // An axis of its own size; the batch and the tokens are sizes of every block.
  std::string axis(const std::string& label, int size = 0) {
    const std::vector<int> even = {4, 4, 8};
    const std::vector<int> odd = {3, 5, 6, 7, 4};
    extents_[label] = size > 0 ? size : uneven_ && chance(2) ? any(odd) : any(even);
    order_.push_back(label);
    return label;
  }
  std::string new_axis(int size = 0) {
    const std::vector<std::string> names = {"f", "k", "m", "v", "o", "g", "i", "j",
                                            "p", "q", "r", "d", "n", "t", "u", "w"};
    for (const std::string& name : names) {
      if (!extents_.contains(name)) return axis(name, size);
    }
    return {};
  }
  std::int64_t extent(const std::string& label) const { return extents_.at(label); }

  std::string define_input(const Labels& labels) {
    values_.push_back({fmt::format("x{}", values_.size()), labels, false, true});
    return values_.back().name;
  }
  std::string parameter(const Labels& labels) {
    std::string name = fmt::format("w{}", parameters_.size());
    parameters_.push_back(
        fmt::format("{}[{}]{}", name, joined(labels), labels.size() > 1 && chance(2) ? " linear" : ""));
    return name;
  }
  // Reads a weight of these labels again where there is one, at random; else makes one.
  std::string weight(const Labels& labels) {
    const std::string key = joined(labels);
    if (weights_.contains(key) && chance(2)) return weights_[key];
    return weights_[key] = parameter(labels);
  }

  Value& value() {
    // Newer ones more often.
    const int last = static_cast<int>(values_.size()) - 1;
    const int back = std::min({below(last + 1), below(last + 1)});
    Value& out = values_[static_cast<std::size_t>(last - back)];
    out.read = true;
    return out;
  }
  // Returns a value of at least `least` axes; else the first input, which has three.
  Value value_of_rank(std::size_t least) {
    for (int i = 0; i < 8; ++i) {
      Value& found = value();
      if (found.labels.size() >= least) return found;
      found.read = readers_of(found.name) > 0;
    }
    values_.front().read = true;
    return values_.front();
  }
  int readers_of(const std::string& name) const {
    return static_cast<int>(std::count_if(statements_.begin(), statements_.end(), [&](const std::string& statement) {
      const std::size_t equals = statement.find('=');
      return fmt::format(" {} ", statement.substr(equals)).find(name) != std::string::npos;
    }));
  }

  std::string define(const Labels& labels, const std::string& expression) {
    std::string name = fmt::format("y{}", values_.size());
    statements_.push_back(fmt::format("{}[{}] = {}", name, joined(labels), expression));
    values_.push_back({name, labels, false, false});
    return name;
  }

  void statement() {
    using Kind = std::function<void()>;
    std::vector<Kind> kinds = {[&] { product_with_weight(); },
                               [&] { product_with_weight(); },
                               [&] { product(); },
                               [&] { function(); },
                               [&] { function(); },
                               [&] { sum_of_two(); },
                               [&] { sum_of_two(); },
                               [&] { parameters(); },
                               [&] { reduction(); },
                               [&] { norm(); },
                               [&] { attention(); },
                               [&] { gather(); },
                               [&] { embedding(); },
                               [&] { view(); },
                               [&] { split(); },
                               [&] { scan(); },
                               [&] { experts(); },
                               [&] { loss(); }};
    if (windows_) {
      for (int i = 0; i < 2; ++i) {
        kinds.insert(kinds.end(), {[&] { convolution(); }, [&] { convolution_of_two(); }, [&] { short_convolution(); },
                                   [&] { pooling(); }, [&] { shifted(); }});
      }
    }
    any(kinds)();
  }

  void product_with_weight() {
    const Value x = value_of_rank(2);
    Labels out = x.labels;
    const std::string contracted = any(x.labels);
    const std::string made = new_axis();
    if (made.empty()) return;
    std::replace(out.begin(), out.end(), contracted, made);
    define(out,
           fmt::format("{}[{}] {}[{} {}]", x.name, joined(x.labels), weight({contracted, made}), contracted, made));
  }

  // Sums over some of the labels that both operands have and keeps the others, and those that only one has.
  void product() {
    const Value x = value_of_rank(2);
    const Value y = value_of_rank(2);
    Labels common;
    Labels out;
    for (const std::string& label : x.labels) {
      if (std::find(y.labels.begin(), y.labels.end(), label) != y.labels.end()) common.push_back(label);
    }
    if (common.empty()) return;
    const std::string summed = any(common);
    for (const Labels* labels : {&x.labels, &y.labels}) {
      for (const std::string& label : *labels) {
        if (label != summed && std::find(out.begin(), out.end(), label) == out.end()) out.push_back(label);
      }
    }
    if (out.size() > 4 || out.empty()) return;
    define(out, fmt::format("{}[{}] {}[{}]", x.name, joined(x.labels), y.name, joined(y.labels)));
  }

  void function() {
    const Value x = value();
    const std::vector<std::string> names = {"relu", "gelu", "silu", "sigmoid", "tanh", "square", "sin", "dropout"};
    const std::string name = any(names);
    define(x.labels,
           name == "dropout" ? fmt::format("dropout({}; 0.25)", x.name) : fmt::format("{}({})", name, x.name));
  }

  // Adds two values, of which one has no labels but the other's.
  void sum_of_two() {
    const Value x = value_of_rank(1);
    for (int i = 0; i < 6; ++i) {
      const Value& y = any(values_);
      const bool fits = std::all_of(y.labels.begin(), y.labels.end(), [&](const std::string& label) {
        return std::find(x.labels.begin(), x.labels.end(), label) != x.labels.end();
      });
      if (!fits) continue;
      const std::vector<std::string> forms = {"{0} + {1}", "{0} * {1}", "{0} - {1}", "{0} / ({1} * {1} + 1)"};
      const std::string name = y.name;
      mark_read(name);
      define(x.labels, fmt::format(fmt::runtime(any(forms)), x.name, name));
      return;
    }
    define(x.labels, fmt::format("2 * {}", x.name));
  }
  void mark_read(const std::string& name) {
    for (Value& value : values_) value.read = value.read || value.name == name;
  }

  void parameters() {
    const Value x = value_of_rank(1);
    const std::string label = any(x.labels);
    define(x.labels, chance(2) ? fmt::format("gelu({} + {})", x.name, parameter({label}))
                               : fmt::format("{} * {}", x.name, parameter({label})));
  }

  void reduction() {
    const Value x = value_of_rank(2);
    const std::string over = any(x.labels);
    Labels out = x.labels;
    std::erase(out, over);
    const std::vector<std::string> names = {"sum", "mean", "max"};
    define(out, fmt::format("{}({}; {})", any(names), x.name, over));
  }

  void norm() {
    const Value x = value_of_rank(2);
    const std::string over = any(x.labels);
    const std::vector<std::string> forms = {"layer_norm({0}, {2}, {3}; {1})", "rms_norm({0}, {2}; {1})",
                                            "rms_norm({0}; {1})", "softmax({0}; {1})"};
    const std::string form = any(forms);
    const std::string weight = form.find("{2}") == std::string::npos ? "" : parameter({over});
    const std::string bias = form.find("{3}") == std::string::npos ? "" : parameter({over});
    define(x.labels, fmt::format(fmt::runtime(form), x.name, over, weight, bias));
  }

  // Queries, keys and values of heads, each a product with its weight.
  void attention() {
    const Value x = tokens();
    const std::string heads = new_axis();
    const std::string width = new_axis(2);
    if (heads.empty() || width.empty()) return;
    const std::string other = any(without(x.labels, {"b", "s"}));
    Labels out = {"b", "s", heads, width};
    std::vector<std::string> names;
    for (int i = 0; i < 3; ++i) {
      names.push_back(define(out, fmt::format("{}[{}] {}[{} {} {}]", x.name, joined(x.labels),
                                              parameter({other, heads, width}), other, heads, width)));
      mark_read(names.back());
    }
    define(out, fmt::format("attention({}, {}[b s' {} {}], {}[b s' {} {}]; s, s', causal)", names[0], names[1], heads,
                            width, names[2], heads, width));
  }
  static Labels without(Labels labels, const Labels& dropped) {
    for (const std::string& label : dropped) std::erase(labels, label);
    return labels;
  }
  // Returns a value over sequences, tokens and one more axis.
  Value tokens() {
    for (int i = 0; i < 6; ++i) {
      Value& found = any_value();
      if (found.labels.size() == 3 && found.labels[0] == "b" && found.labels[1] == "s") {
        found.read = true;
        return found;
      }
    }
    values_.front().read = true;
    return values_.front();
  }
  Value& any_value() { return values_[static_cast<std::size_t>(below(static_cast<int>(values_.size())))]; }

  std::string ids() {
    if (ids_.empty() || chance(3)) ids_.push_back(fmt::format("ids{}[b s] int64", ids_.size()));
    return fmt::format("ids{}", ids_.size() - 1);
  }

  void gather() {
    const Value x = tokens();
    define(x.labels, fmt::format("gather({}[b s' {}], {}; s')", x.name, x.labels[2], ids()));
  }

  void embedding() {
    const std::string rows = new_axis();
    if (!rows.empty()) define({"b", "s", "h"}, fmt::format("gather({}, {}; {})", parameter({rows, "h"}), ids(), rows));
  }

  // An axis as two.
  void view() {
    const Value x = value_of_rank(1);
    const std::string label = any(x.labels);
    if (extent(label) % 2 != 0 || x.labels.size() > 3) return;
    const std::string outer = new_axis(2);
    const std::string inner = new_axis(static_cast<int>(extent(label) / 2));
    if (outer.empty() || inner.empty()) return;
    Labels out;
    for (const std::string& own : x.labels) {
      if (own == label) {
        out.insert(out.end(), {outer, inner});
      } else {
        out.push_back(own);
      }
    }
    define(out, fmt::format("view({}; {} -> {} {})", x.name, label, outer, inner));
  }

  void split() {
    const Value x = value_of_rank(1);
    const std::string label = any(x.labels);
    if (extent(label) < 2) return;
    const int first = 1 + below(static_cast<int>(extent(label)) - 1);
    const std::string one = new_axis(first);
    const std::string other = new_axis(static_cast<int>(extent(label)) - first);
    if (one.empty() || other.empty()) return;
    const std::string a = fmt::format("y{}", values_.size());
    const std::string b = fmt::format("y{}", values_.size() + 1);
    Labels of_a = x.labels;
    Labels of_b = x.labels;
    std::replace(of_a.begin(), of_a.end(), label, one);
    std::replace(of_b.begin(), of_b.end(), label, other);
    statements_.push_back(fmt::format("({}[{}], {}[{}]) = split({}; {} -> {}, {})", a, joined(of_a), b, joined(of_b),
                                      x.name, label, one, other));
    values_.push_back({a, of_a, false, false});
    values_.push_back({b, of_b, false, false});
    if (!chance(2)) return;
    mark_read(a);
    mark_read(b);
    define(x.labels, fmt::format("concat(sin({}), {}; {})", a, b, label));
  }

  void scan() {
    const Value x = tokens();
    const std::string from = x.labels[2];
    const std::string groups = new_axis(2), heads = new_axis(2), width = new_axis(2), state = new_axis(2);
    if (state.empty()) return;
    const auto made = [&](const Labels& more, const std::string& form) {
      Labels labels = {"b", "s"};
      labels.insert(labels.end(), more.begin(), more.end());
      Labels weight = {from};
      weight.insert(weight.end(), more.begin(), more.end());
      std::string name =
          define(labels, fmt::format(fmt::runtime(form), fmt::format("{}[{}] {}[{}]", x.name, joined(x.labels),
                                                                     parameter(weight), joined(weight))));
      mark_read(name);
      return name;
    };
    const std::string in = made({groups, heads, width}, "{}");
    const std::string step = made({groups, heads}, "softplus({})");
    const std::string b = made({groups, state}, "{}");
    const std::string c = made({groups, state}, "{}");
    define({"b", "s", groups, heads, width},
           fmt::format("scan({}, {}, {}, {}, {}; s, {}, chunk=4)", in, step, b, c, parameter({groups, heads}), state));
  }

  // Sends tokens to experts and back.
  void experts() {
    const Value x = tokens();
    const std::string candidates = new_axis(4), expert = new_axis(4), inner = new_axis();
    if (inner.empty()) return;
    const std::string h = x.labels[2];
    const auto name = [&] { return fmt::format("y{}", values_.size()); };
    const std::string scores = define({"b", "s", candidates}, fmt::format("{}[b s {}] {}[{} {}]", x.name, h,
                                                                          parameter({h, candidates}), h, candidates));
    mark_read(scores);
    const std::string weights = define({"b", "s", candidates}, fmt::format("route({}; {}, k=2)", scores, candidates));
    mark_read(weights);
    const std::string rows = name();
    values_.push_back({rows, {expert, "b", "s", h}, true, false});
    const std::string row_weights = name();
    values_.push_back({row_weights, {expert, "b", "s"}, true, false});
    statements_.push_back(fmt::format("({0}[{2} b s {3}], {1}[{2} b s]) = dispatch({4}, {5}; {6} -> {2}, k=2)", rows,
                                      row_weights, expert, h, x.name, weights, candidates));
    const std::string up =
        define({expert, "b", "s", inner},
               fmt::format("{0}[{1} b s {2}] {3}[{1} {2} {4}]", rows, expert, h, parameter({expert, h, inner}), inner));
    mark_read(up);
    const std::string weighted = define({expert, "b", "s", inner}, fmt::format("silu({}) * {}", up, row_weights));
    mark_read(weighted);
    const std::string down = define(
        {expert, "b", "s", h},
        fmt::format("{0}[{1} b s {2}] {3}[{1} {2} {4}]", weighted, expert, inner, parameter({expert, inner, h}), h));
    mark_read(down);
    define(x.labels, fmt::format("combine({}; {})", down, expert));
  }

  void loss() {
    if (has_loss_) return;
    const Value x = tokens();
    const std::string classes = new_axis();
    if (classes.empty()) return;
    has_loss_ = true;
    const std::string logits =
        define({"b", "s", classes}, fmt::format("{}[b s {}] {}[{} {}]", x.name, x.labels[2],
                                                parameter({x.labels[2], classes}), x.labels[2], classes));
    mark_read(logits);
    statements_.push_back(fmt::format("loss[b s] = cross_entropy({}; {})", logits, classes));
  }

  struct Taps {
    int count = 1;
    int stride = 1;
    int offset = 0;
  };
  // Returns windows that reach over the edges of parts, or over several parts.
  Taps taps(std::int64_t rows) {
    Taps out;
    out.count = 1 + below(static_cast<int>(std::min<std::int64_t>(rows, 5)));
    out.stride = rows % 2 == 0 && chance(3) ? 2 : 1;
    out.offset = -below(out.count + (chance(3) ? 3 : 1));
    return out;
  }
  static std::string window(const std::string& step, const std::string& tap, const Taps& taps) {
    return fmt::format("{}{}+{}{}", taps.stride == 1 ? "" : fmt::format("{}*", taps.stride), step, tap,
                       taps.offset == 0 ? "" : fmt::format("{}", taps.offset));
  }
  // Labels with that at `place` as a window, those of the result, and the tap.
  struct Windowed {
    Labels read;
    Labels made;
    std::string tap;
  };
  std::optional<Windowed> windowed(const Labels& labels, std::size_t place) {
    const std::int64_t rows = extent(labels[place]);
    const Taps of = taps(rows);
    const bool same = of.stride == 1 && !chance(4);
    const std::string step =
        same ? labels[place]
             : new_axis(static_cast<int>(of.stride == 2 ? rows / 2 : std::max<std::int64_t>(1, rows - below(2))));
    const std::string tap = new_axis(of.count);
    if (step.empty() || tap.empty()) return std::nullopt;
    Windowed out{labels, labels, tap};
    out.read[place] = window(step, tap, of);
    out.made[place] = step;
    return out;
  }

  void convolution() {
    const Value x = value_of_rank(2);
    const auto place = static_cast<std::size_t>(below(static_cast<int>(x.labels.size())));
    const std::string channel = any(without(x.labels, {x.labels[place]}));
    const auto window = windowed(x.labels, place);
    const std::string made = new_axis();
    if (!window || made.empty()) return;
    Labels out = window->made;
    std::replace(out.begin(), out.end(), channel, made);
    define(out, fmt::format("{}[{}] {}[{} {} {}]", x.name, joined(window->read),
                            parameter({window->tap, channel, made}), window->tap, channel, made));
  }

  void convolution_of_two() {
    const Value x = value_of_rank(3);
    if (x.labels.size() != 3) return;
    const auto one = windowed(x.labels, 0);
    if (!one) return;
    const auto two = windowed(x.labels, 1);
    const std::string made = new_axis();
    if (!two || made.empty()) return;
    const std::string channel = x.labels[2];
    define({one->made[0], two->made[1], made},
           fmt::format("{}[{} {} {}] {}[{} {} {} {}]", x.name, one->read[0], two->read[1], channel,
                       parameter({one->tap, two->tap, channel, made}), one->tap, two->tap, channel, made));
  }

  // Adds an elementwise operator with windows, every channel for itself.
  void short_convolution() {
    const Value x = value_of_rank(2);
    const auto place = static_cast<std::size_t>(below(static_cast<int>(x.labels.size())));
    const std::string channel = any(without(x.labels, {x.labels[place]}));
    const auto window = windowed(x.labels, place);
    if (!window) return;
    define(window->made, fmt::format("{}[{}] {}[{} {}]", x.name, joined(window->read),
                                     parameter({channel, window->tap}), channel, window->tap));
  }

  void pooling() {
    const Value x = value_of_rank(1);
    const auto place = static_cast<std::size_t>(below(static_cast<int>(x.labels.size())));
    const auto window = windowed(x.labels, place);
    if (!window) return;
    const std::vector<std::string> names = {"max", "sum", "mean"};
    define(window->made, fmt::format("{}({}[{}]; {})", any(names), x.name, joined(window->read), window->tap));
  }

  // A buffer moved on by one: pipelines of stages.
  void shifted() {
    const Value x = value_of_rank(1);
    const auto place = static_cast<std::size_t>(below(static_cast<int>(x.labels.size())));
    const std::string tap = new_axis(1);
    if (tap.empty()) return;
    Labels read = x.labels;
    read[place] = fmt::format("{}+{}-1", read[place], tap);
    define(x.labels, fmt::format("{}[{}] {}[{}]", x.name, joined(read), parameter({tap}), tap));
  }

  // True if the text has the label as a word of its own.
  static bool mentions(const std::string& text, const std::string& label) {
    const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    for (std::size_t at = text.find(label); at != std::string::npos; at = text.find(label, at + 1)) {
      const bool begins = at == 0 || !is_part(text[at - 1]);
      const bool ends = at + label.size() == text.size() || !is_part(text[at + label.size()]);
      if (begins && ends) return true;
    }
    return false;
  }

  std::string text() const {
    const std::string said = fmt::format(" {} ", fmt::join(statements_, " ")) + joined(parameters_);
    std::vector<std::string> axes;
    for (const std::string& label : order_) {
      const bool always = label == "b" || label == "s" || label == "h";
      if (!always && !mentions(said, label)) continue;
      axes.push_back(label == "b"   ? "b=batch"
                     : label == "s" ? "s=sequence"
                                    : fmt::format("{}={}", label, extents_.at(label)));
    }
    std::vector<std::string> inputs;
    std::vector<std::string> left;
    for (const Value& value : values_) {
      if (value.is_input) inputs.push_back(fmt::format("{}[{}]", value.name, joined(value.labels)));
      if (!value.read) left.push_back(value.name);
    }
    inputs.insert(inputs.end(), ids_.begin(), ids_.end());
    std::string out =
        fmt::format("block small():\n  axes {}\n  input {}\n", fmt::join(axes, " "), fmt::join(inputs, " "));
    if (!parameters_.empty()) out += fmt::format("  param {}\n", fmt::join(parameters_, " "));
    for (const std::string& statement : statements_) out += fmt::format("  {}\n", statement);
    if (!left.empty()) out += fmt::format("  output {}\n", fmt::join(left, " "));
    return out;
  }

  std::mt19937& random_;
  bool windows_;
  bool uneven_;
  bool has_loss_ = false;
  std::map<std::string, std::int64_t> extents_;
  std::vector<std::string> order_;
  std::vector<Value> values_;
  std::vector<std::string> parameters_;
  std::map<std::string, std::string> weights_;
  std::vector<std::string> ids_;
  std::vector<std::string> statements_;
};

}  // namespace

RandomBlock random_block(std::mt19937& random, bool windows, bool uneven) {
  return Writer(random, windows, uneven).write();
}

}  // namespace mirfak::test
