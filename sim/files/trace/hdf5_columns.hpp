#pragma once

#include "trace/hdf5_file.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace mirfak {

// Numbers texts in the order in which they are first seen.
class NameTable {
 public:
  std::uint32_t code(std::string_view name) {
    const auto [found, added] = codes_.try_emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
    if (added) names_.emplace_back(name);
    return found->second;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::unordered_map<std::string, std::uint32_t> codes_;
  std::vector<std::string> names_;
};

// Columns of one group that grow together.
template <typename... Types>
class Columns {
 public:
  template <typename... Names>
  Columns(Hdf5File& file, const std::string& group, Names... names)
      : columns_(Hdf5Column<Types>(file, group + "/" + names)...) {}

  void append(Types... values) {
    std::apply([&](auto&... column) { (column.append(values), ...); }, columns_);
  }
  void finish() {
    std::apply([](auto&... column) { (column.finish(), ...); }, columns_);
  }

 private:
  std::tuple<Hdf5Column<Types>...> columns_;
};

// Writes the attributes that every trace begins with: its type, the version of the schema, where it comes from.
void write_trace_head(Hdf5File& file, std::string_view filetype, bool measured);

}  // namespace mirfak
