#pragma once

#include "block/file.hpp"

#include <cstdint>

namespace mirfak::block {

// Returns the value of a size or a condition (1 or 0). With a source, throws Error(input) for an unknown name (with the
// nearest name) and for a division by 0; without one, all names must be known.
double value_of(const Formula& formula, const Sizes& sizes, const Node* source = nullptr);

// Sizes of one block, and its text for the places of errors.
class SizeValues {
 public:
  SizeValues(const Node& source, Sizes values) : source_(&source), values_(std::move(values)) {}

  const Sizes& values() const { return values_; }
  bool has(std::string_view name) const { return values_.contains(name); }
  void set(const std::string& name, double value) { values_[name] = value; }

  double evaluate(const Formula& size) const { return value_of(size, values_, source_); }
  bool holds(const Formula& condition) const { return evaluate(condition) != 0; }
  // Returns a size as the extent of an axis: a whole number from 1 on. Throws Error(input) for a quotient that is not
  // exact.
  std::int64_t extent(const Formula& size) const;
  std::int64_t count(const Formula& size, std::int64_t minimum, std::int64_t maximum) const;

 private:
  const Node* source_;
  Sizes values_;
};

}  // namespace mirfak::block
