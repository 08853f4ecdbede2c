#include "sweep/block_record.hpp"

#include "base/error.hpp"

#include <array>
#include <cstring>
#include <type_traits>

namespace mirfak {

namespace {

template <typename T>
void put(std::string& bytes, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::array<char, sizeof(T)> raw{};
  std::memcpy(raw.data(), &value, sizeof(T));
  bytes.append(raw.data(), raw.size());
}

// Takes values off the front of bytes.
class Taker {
 public:
  explicit Taker(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T take() {
    T value{};
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string_view take(std::size_t count) {
    if (count > bytes_.size()) fail_internal("a block of the journal is shorter than it says");
    const std::string_view front = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return front;
  }

 private:
  std::string_view bytes_;
};

}  // namespace

std::uint32_t BlockRecord::code(std::string_view text) {
  const auto [found, added] = codes_.try_emplace(std::string(text), static_cast<std::uint32_t>(codes_.size()));
  if (added) {
    put(texts_, static_cast<std::uint32_t>(text.size()));
    texts_ += text;
  }
  return found->second;
}

void BlockRecord::append(std::uint32_t point, const PointResult& result) {
  ++rows_;
  put(body_, point);
  put(body_, result.status);
  put(body_, code(result.reason));
  put(body_, static_cast<std::uint32_t>(result.figures.size()));
  for (const double figure : result.figures) put(body_, figure);
  for (std::size_t i = 0; i < result.resolved.size(); ++i) put(body_, section_code(i, result.resolved[i]));
}

// Returns the code of a section's text. Most sections equal those of the point before: comparing is cheaper than
// looking up.
std::uint32_t BlockRecord::section_code(std::size_t section, std::string_view text) {
  auto& [last, known] = last_[section];
  if (!known || last != text) {
    last = text;
    known = code(text);
  }
  return *known;
}

std::string BlockRecord::bytes() const {
  std::string out;
  put(out, block_);
  put(out, static_cast<std::uint32_t>(codes_.size()));
  out += texts_;
  put(out, rows_);
  out += body_;
  return out;
}

std::uint64_t block_of_record(std::string_view bytes) { return Taker(bytes).take<std::uint64_t>(); }

std::uint64_t read_block_record(std::string_view bytes, SweepTable& table) {
  Taker from(bytes);
  const auto block = from.take<std::uint64_t>();
  std::vector<std::string_view> texts(from.take<std::uint32_t>());
  for (std::string_view& text : texts) text = from.take(from.take<std::uint32_t>());
  const auto rows = from.take<std::uint32_t>();
  std::vector<double> figures;
  ResolvedSections resolved;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const auto point = from.take<std::uint32_t>();
    const auto status = from.take<PointStatus>();
    const std::string_view reason = texts.at(from.take<std::uint32_t>());
    figures.resize(from.take<std::uint32_t>());
    for (double& figure : figures) figure = from.take<double>();
    for (std::string_view& section : resolved) section = texts.at(from.take<std::uint32_t>());
    table.append(point, status, reason, figures, resolved);
  }
  return block;
}

}  // namespace mirfak
