#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace mirfak::python {

// A read-only NumPy array over memory that another object owns, without a copy.
template <typename T>
using View = nanobind::ndarray<nanobind::numpy, const T, nanobind::ndim<1>>;

namespace detail {

template <typename T>
struct Stored {
  using Type = T;
};
template <typename T>
requires std::is_enum_v<T>
struct Stored<T> {
  using Type = std::underlying_type_t<T>;
};

}  // namespace detail

// The type of the elements in NumPy; for an enumeration its underlying integer.
template <typename T>
using StoredType = typename detail::Stored<T>::Type;

// Returns an array over `values`. The array keeps `owner` alive; `owner` must keep `values` unchanged.
template <typename T>
View<StoredType<T>> view(const std::vector<T>& values, nanobind::handle owner) {
  return View<StoredType<T>>(reinterpret_cast<const StoredType<T>*>(values.data()), {values.size()}, owner);
}

// Returns an array over one member of each row. The array keeps `owner` alive; `owner` must keep `rows` unchanged.
template <typename Row, typename T>
View<StoredType<T>> view(const std::vector<Row>& rows, T Row::*member, nanobind::handle owner) {
  static_assert(sizeof(Row) % sizeof(T) == 0, "steps are counted in elements");
  const T* first = rows.empty() ? nullptr : &(rows.front().*member);
  return View<StoredType<T>>(reinterpret_cast<const StoredType<T>*>(first), {rows.size()}, owner,
                             {static_cast<std::int64_t>(sizeof(Row) / sizeof(T))});
}

}  // namespace mirfak::python
