#include "schedule/schedule_file.hpp"

#include "base/error.hpp"
#include "base/file_reference.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <utility>

namespace mirfak {

namespace {

constexpr int kMaxIndex = 1'000'000;

struct Cell {
  std::string_view text;
  int line = 0;
  int column = 0;
};

// Pass as a cell names it.
struct PartPass {
  Pass::Kind kind{};
  std::int32_t part = 0;
  std::int32_t microbatch = 0;
  bool with_next = false;
  int line = 0;
  int column = 0;
};

// Removes quotation marks, which spreadsheets put around cells.
std::string_view without_marks(std::string_view text) { return trimmed(text, " \t\r\""); }

// Reader of the passes of one file, row by row.
class Reader {
 public:
  Reader(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {}

  std::vector<std::vector<PartPass>> read() {
    int line = 0;
    int skipped = 0;  // empty lines, allowed only at the end
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      const std::string_view row = text_.substr(begin, end - begin);
      begin = end + 1;
      ++line;
      if (row.starts_with('#')) continue;
      if (without_marks(row).empty()) {
        ++skipped;
        continue;
      }
      if (skipped > 0) fail_input({name_, line - 1, 1}, "an empty row", "every row is a pipeline rank with passes");
      rows_.emplace_back();
      read_row(row, line);
    }
    return std::move(rows_);
  }

 private:
  void read_row(std::string_view row, int line) {
    std::size_t begin = 0;
    while (begin <= row.size()) {
      const std::size_t end = std::min(row.find(',', begin), row.size());
      const std::string_view text = row.substr(begin, end - begin);
      const std::size_t blank = std::min(text.find_first_not_of(" \t\""), text.size());
      read_cell({without_marks(text), line, static_cast<int>(begin + blank) + 1});
      begin = end + 1;
    }
  }

  void read_cell(const Cell& cell) {
    if (cell.text.empty()) return;
    if (cell.text.front() != '(') return read_action(cell);
    const auto close = cell.text.find(')');
    const auto middle = cell.text.find(';');
    const bool pair = close != std::string_view::npos && middle < close && cell.text.substr(close + 1) == "OVERLAP_F_B";
    if (!pair) fail(cell, "expected a pair such as (0F1;1B0)OVERLAP_F_B");
    const std::size_t before = rows_.back().size();
    read_action({without_marks(cell.text.substr(1, middle - 1)), cell.line, cell.column + 1});
    read_action({without_marks(cell.text.substr(middle + 1, close - middle - 1)), cell.line,
                 cell.column + static_cast<int>(middle) + 1});
    if (rows_.back().size() != before + 2) fail(cell, "a pair is of two passes");
    if (rows_.back()[before].kind != Pass::Kind::forward) std::swap(rows_.back()[before], rows_.back()[before + 1]);
    rows_.back()[before].with_next = true;
  }

  void read_action(const Cell& cell) {
    static constexpr std::array kElsewhere = {"UNSHARD", "RESHARD", "REDUCE_GRAD", "WAIT_REDUCE_GRAD",
                                              "SEND_F",  "RECV_F",  "SEND_B",      "RECV_B"};
    std::string_view rest = cell.text;
    const std::int32_t part = number(cell, rest, "a stage index");
    const auto letters = std::min(rest.find_first_of("0123456789"), rest.size());
    const std::string_view action = rest.substr(0, letters);
    rest.remove_prefix(letters);
    if (std::find(kElsewhere.begin(), kElsewhere.end(), action) != kElsewhere.end()) return;
    constexpr std::string_view kPasses = "FBIW";
    const auto kind = action.size() == 1 ? kPasses.find(action.front()) : std::string_view::npos;
    if (kind == std::string_view::npos) fail(cell, fmt::format("there is no action '{}'", action));
    const std::int32_t microbatch = number(cell, rest, "a microbatch");
    if (!rest.empty()) fail(cell, fmt::format("'{}' stands after the microbatch", rest));
    rows_.back().push_back({static_cast<Pass::Kind>(kind), part, microbatch, false, cell.line, cell.column});
  }

  std::int32_t number(const Cell& cell, std::string_view& rest, const char* what) const {
    std::int32_t out = -1;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), out);
    if (error != std::errc() || out < 0 || out > kMaxIndex) {
      fail(cell, fmt::format("expected {} from 0 to {}", what, kMaxIndex));
    }
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return out;
  }

  [[noreturn]] void fail(const Cell& cell, const std::string& message) const {
    fail_input({name_, cell.line, cell.column}, fmt::format("'{}': {}", cell.text, message),
               "cells are such as 0F3, 0B3, 0I3 or 0W3, (0F4;1B2)OVERLAP_F_B, 0SEND_F3, 0UNSHARD, or empty");
  }

  std::string_view text_;
  std::string name_;
  std::vector<std::vector<PartPass>> rows_;
};

// Builder of passes by chunk and of the placement of parts; checks that the passes are consistent.
class Builder {
 public:
  Builder(std::vector<std::vector<PartPass>> rows, std::string name) : rows_(std::move(rows)), name_(std::move(name)) {
    if (rows_.empty()) fail_input({name_, 1, 1}, "no row", "a schedule has a row of passes for each pipeline rank");
    for (const auto& row : rows_) {
      for (const PartPass& pass : row) {
        parts_ = std::max(parts_, pass.part + 1);
        microbatches_ = std::max(microbatches_, pass.microbatch + 1);
      }
    }
  }

  Schedule build() {
    const Placement placement = place();
    StageOrders orders;
    for (std::size_t stage = 0; stage < rows_.size(); ++stage) {
      orders.emplace_back();
      const auto& held = held_[stage];
      for (const PartPass& pass : rows_[stage]) {
        const auto chunk = std::lower_bound(held.begin(), held.end(), pass.part) - held.begin();
        orders.back().push_back({pass.kind, static_cast<std::int32_t>(chunk), pass.microbatch, pass.with_next});
      }
    }
    if (const auto fault = first_fault(orders, placement, microbatches_)) {
      const auto& row = rows_[static_cast<std::size_t>(fault->where.stage)];
      fail_at(row[std::min(fault->where.index, row.size() - 1)], fault->message, fault->hint);
    }
    return schedule_of(placement, std::move(orders));
  }

 private:
  // Checks that all passes exist before memory is allocated for the numbers in the file, which may be far larger than
  // the number of its passes.
  void check_all_there() const {
    std::set<std::pair<std::int32_t, std::int32_t>> there;  // microbatch and part
    for (const auto& row : rows_) {
      for (const PartPass& pass : row) there.emplace(pass.microbatch, pass.part);
    }
    auto next = there.begin();
    for (std::int32_t microbatch = 0; microbatch < microbatches_; ++microbatch) {
      for (std::int32_t part = 0; part < parts_; ++part, ++next) {
        if (next != there.end() && *next == std::pair(microbatch, part)) continue;
        fail_input({name_, 1, 1},
                   fmt::format("no row has {}F{}, a forward pass of one of {} stage indices and {} microbatches", part,
                               microbatch, parts_, microbatches_),
                   "every microbatch goes through every stage index");
      }
    }
  }

  // Places parts; within a stage they are in the order of the model.
  Placement place() {
    check_all_there();
    std::vector<std::int32_t> routes(static_cast<std::size_t>(parts_) * static_cast<std::size_t>(microbatches_), -1);
    std::vector<int> holders(static_cast<std::size_t>(parts_));
    for (std::size_t stage = 0; stage < rows_.size(); ++stage) {
      std::set<std::int32_t> held;
      for (const PartPass& pass : rows_[stage]) {
        if (held.insert(pass.part).second && ++holders[static_cast<std::size_t>(pass.part)] > 2) {
          fail_at(pass, fmt::format("stage index {} stands in a third row", pass.part),
                  "a part of the model is held once or twice");
        }
        std::int32_t& route = routes[static_cast<std::size_t>(pass.microbatch) * static_cast<std::size_t>(parts_) +
                                     static_cast<std::size_t>(pass.part)];
        if (route < 0) route = static_cast<std::int32_t>(stage);
      }
      held_.emplace_back(held.begin(), held.end());
      if (held.empty()) fail_input({name_, static_cast<int>(stage) + 1, 1}, "a row without a pass", {});
    }
    return {held_, routes};
  }

  [[noreturn]] void fail_at(const PartPass& pass, std::string message, std::string hint) const {
    fail_input({name_, pass.line, pass.column}, std::move(message), std::move(hint));
  }

  Schedule schedule_of(const Placement& placement, StageOrders orders) const {
    Schedule out;
    out.name = name_;
    out.sentence = "The order of passes in a file.";
    out.chunks = placement.max_chunks();
    out.looped = placement.is_looped();
    for (const auto& order : orders) {
      for (const Pass& pass : order) {
        out.splits = out.splits || pass.kind == Pass::Kind::backward_input;
        out.pairs = out.pairs || pass.with_next;
      }
    }
    const int stages = placement.stages();
    out.unfit = [stages, microbatches = microbatches_, name = name_](const PipelineShape& shape) {
      return unfit(shape, stages, microbatches, name);
    };
    out.placement = [placement](const PipelineShape& /*shape*/) { return placement; };
    out.orders = [orders = std::move(orders)](const PipelineShape& /*shape*/, const PassTimes& /*times*/) {
      return orders;
    };
    return out;
  }

  static std::optional<Unfit> unfit(const PipelineShape& shape, int stages, int microbatches, const std::string& name) {
    if (shape.stages != stages) {
      return Unfit{Unfit::Size::stages, fmt::format("{} has {} rows, not {}", name, stages, shape.stages),
                   fmt::format("set strategy.pipeline: {}", stages)};
    }
    if (shape.microbatches == microbatches) return std::nullopt;
    return Unfit{Unfit::Size::microbatches,
                 fmt::format("{} is of {} microbatches, not {}", name, microbatches, shape.microbatches),
                 "change training.global_batch or strategy.micro_batch, or write the schedule for as many"};
  }

  std::vector<std::vector<PartPass>> rows_;
  std::string name_;
  std::int32_t parts_ = 0;
  std::int32_t microbatches_ = 0;
  std::vector<std::vector<std::int32_t>> held_;
};

std::string text_of(const std::filesystem::path& path) {
  return read_input_file(path, kScheduleFile, {}, "give the path of a schedule in PyTorch's CSV format");
}

}  // namespace

ScheduleId read_schedule_text(std::string_view text, const std::string& name) {
  return add_schedule(Builder(Reader(text, name).read(), name).build(), std::string(text));
}

ScheduleId read_schedule_file(const std::filesystem::path& path, const std::string& name) {
  const std::string text = text_of(path);
  Schedule schedule = Builder(Reader(text, name).read(), name).build();
  schedule.path = independent_path(path);
  return add_schedule(std::move(schedule), text);
}

FilePlace place_in_schedule_file(const std::filesystem::path& path, const PassIndex& pass) {
  const std::string text = text_of(path);
  const auto rows = Reader(text, path.string()).read();
  const PartPass& found = rows.at(static_cast<std::size_t>(pass.stage)).at(pass.index);
  return {found.line, found.column};
}

std::string schedule_csv(const Schedule& schedule, const PipelineShape& shape, const PassTimes& times) {
  const Placement placement = schedule.placement(shape);
  const StageOrders orders = schedule.orders(shape, times);
  std::string out;
  for (std::size_t stage = 0; stage < orders.size(); ++stage) {
    const std::vector<Pass>& order = orders[stage];
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0) out += ',';
      const auto text = [&](std::size_t at) { return pass_text(placement, static_cast<int>(stage), order[at]); };
      if (order[i].with_next) {
        out += fmt::format("({};{})OVERLAP_F_B", text(i), text(i + 1));
        ++i;
      } else {
        out += text(i);
      }
    }
    out += '\n';
  }
  return out;
}

bool is_schedule_path(std::string_view text) {
  return text.ends_with(".csv") || text.find('/') != std::string_view::npos;
}

}  // namespace mirfak
