// Labels are names for axes within one block. An axis is made when a tensor first has it. It is named after the size
// that its label is bound to, so that rules of a strategy, errors and reports show "heads" and not "k".

#include "base/text.hpp"
#include "block/compiler.hpp"
#include "block/printer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak::block {

namespace {

std::string without_primes(const std::string& label) {
  const std::size_t end = label.find('\'');
  return label.substr(0, end);
}

}  // namespace

const Divisions& usual_divisions() {
  static const Divisions divisions = {
      {"batch", Parallelism::data},      {"sequence", Parallelism::tokens}, {"heads", Parallelism::tensor},
      {"kv_heads", Parallelism::tensor}, {"ffn", Parallelism::tensor},      {"shared_ffn", Parallelism::tensor},
      {"vocab", Parallelism::tensor},    {"experts", Parallelism::experts}, {"expert_ffn", Parallelism::expert_tensor}};
  return divisions;
}

Parallelism Compiler::division_of(const std::string& label, const Formula& size) const {
  const std::string name = size.kind == formula::Kind::name ? size.word : label;
  for (const std::string& key : {label, name}) {
    const auto stated = shared_.options.divisions.find(key);
    if (stated != shared_.options.divisions.end()) return stated->second;
  }
  const auto usual = usual_divisions().find(name);
  return usual == usual_divisions().end() ? Parallelism::none : usual->second;
}

// Returns the name of an axis. If several labels have the same size, only the label divided as usual gets the name of
// the size: experts, not candidates.
std::string Compiler::axis_name(const std::string& label, const Bound& bound) const {
  const Formula& size = *bound.stated;
  const auto usual = usual_divisions().find(size.word);
  const bool leaves_it = std::any_of(bound_.begin(), bound_.end(), [&](const auto& other) {
    return usual != usual_divisions().end() && bound.divided_by != usual->second && other.second.size == bound.size &&
           other.second.divided_by == usual->second;
  });
  if (size.kind == formula::Kind::name && !leaves_it && !shared_.graph.find_axis(size.word)) return size.word;
  std::string name = prefix_ + label;
  for (int again = 2; shared_.graph.find_axis(name); ++again) name = fmt::format("{}{}.{}", prefix_, label, again);
  return name;
}

Compiler::Bound& Compiler::bound(const std::string& label, Place at) {
  if (const auto found = bound_.find(label); found != bound_.end()) return found->second;
  const std::string base = without_primes(label);
  if (base != label) {
    if (const auto unprimed = bound_.find(base); unprimed != bound_.end()) {
      Bound primed = unprimed->second;
      primed.axis.reset();
      primed.divided_by = Parallelism::none;
      return bound_[label] = std::move(primed);
    }
  }
  std::vector<std::string> names;
  for (const auto& [name, bound] : bound_) names.push_back(name);
  const std::string close = nearest(label, names);
  fail(at, fmt::format("unknown axis '{}'", label),
       !close.empty() && close != label ? fmt::format("did you mean '{}'?", close)
                                        : fmt::format("the axes are {}: say what it is, as in axes {}=hidden",
                                                      names.empty() ? "none" : join_or(names), base));
}

Axis Compiler::axis_of(const std::string& label, Place at) {
  Bound& found = bound(label, at);
  if (found.axis) return *found.axis;
  AxisInfo info;
  info.extent = sizes_.extent(*found.stated);
  const std::string base = without_primes(label);
  if (base != label) {
    info.same_as = axis_of(base, at);
    info.of_images = found.of_images;
    info.name = shared_.graph.info(*info.same_as).name + label.substr(base.size());
    for (int again = 2; shared_.graph.find_axis(info.name); ++again) {
      info.name = fmt::format("{}{}.{}", prefix_, label, again);
    }
  } else {
    info.divided_by = found.divided_by;
    info.of_images = found.of_images;
    if (!whole_ && found.stated->kind == formula::Kind::name) {  // an axis that another block of the graph already has
      const std::optional<Axis> known = shared_.graph.find_axis(found.stated->word);
      if (known && !taken_.contains(*known) && shared_.graph.extent(*known) == info.extent) {
        taken_.insert(*known);
        found.axis = known;
        return *known;
      }
    }
    info.name = axis_name(label, found);
  }
  if (shared_.graph.axes.size() >= kMaxAxes) fail(at, fmt::format("more than {} axes in one block", kMaxAxes));
  const Axis made = shared_.graph.add_axis(std::move(info));
  taken_.insert(made);
  bound(label, at).axis = made;
  return made;
}

std::int64_t Compiler::extent_of(const std::string& label, Place at) {
  return shared_.graph.extent(axis_of(label, at));
}

bool Compiler::same_size(const std::string& a, const std::string& b, Place at) {
  return without_primes(a) == without_primes(b) || bound(a, at).size == bound(b, at).size;
}

AxisLabels Compiler::axes_of(const LabelNames& labels, Place at) {
  if (labels.size() > kMaxRank) fail(at, fmt::format("more than {} axes in one tensor", kMaxRank));
  AxisLabels out;
  for (const std::string& label : labels) out.push_back(axis_of(label, at));
  return out;
}

AxisLabels Compiler::axes_among(const LabelNames& labels, const LabelNames& all, Place at) {
  LabelNames plain;
  for (const std::string& label : labels) {
    const std::string base = without_primes(label);
    const bool needed =
        base == label || holds(all, base) || std::any_of(all.begin(), all.end(), [&](const std::string& other) {
          return other != label && without_primes(other) == base;
        });
    plain.push_back(needed ? label : base);
  }
  return axes_of(plain, at);
}

LabelNames Compiler::names_of(const std::vector<Label>& labels) {
  LabelNames out;
  for (const Label& label : labels) {
    if (std::find(out.begin(), out.end(), label.name) != out.end()) {
      fail(label.place, fmt::format("the label '{}' stands here twice", label.name),
           fmt::format("{}' is another label of the same size", label.name));
    }
    bound(label.name, label.place);
    out.push_back(label.name);
  }
  return out;
}

void Compiler::bind_to(const std::string& label, Axis axis, Place at, const Compiler& caller,
                       const std::string& callers_label) {
  Bound& own = bound(label, at);
  const std::int64_t extent = sizes_.extent(*own.stated);
  const std::int64_t given = shared_.graph.extent(axis);
  if (extent != given) {
    caller.fail(at, fmt::format("sizes in conflict: {} of this operand is {}, the block {} takes {} = {}",
                                callers_label, given, definition_.block->name, own.size, extent));
  }
  own.axis = axis;
  taken_.insert(axis);
}

}  // namespace mirfak::block
