#pragma once

#include "block/file.hpp"

#include <cstdint>

namespace mirfak::block {

// Returns the result of an operation on sizes; `kind` is neither a number nor a name.
double combined(Size::Kind kind, double left, double right);

// Sizes of one block, and its text for the places of errors.
class SizeValues {
 public:
  SizeValues(const Source& source, Sizes values) : source_(&source), values_(std::move(values)) {}

  const Sizes& values() const { return values_; }
  bool has(std::string_view name) const { return values_.contains(name); }
  void set(const std::string& name, double value) { values_[name] = value; }

  // Throws Error(input) for an unknown name (with the nearest name) and for a division by 0.
  double evaluate(const Size& size) const;
  // Returns a size as the extent of an axis: a whole number from 1 on. Throws Error(input) for a quotient that is not
  // exact.
  std::int64_t extent(const Size& size) const;
  std::int64_t count(const Size& size, std::int64_t minimum, std::int64_t maximum) const;
  bool holds(const Condition& condition) const;

 private:
  const Source* source_;
  Sizes values_;
};

}  // namespace mirfak::block
