// A point is the scenario with a value of each axis in place. The document is kept, and only values that changed since
// the last point are replaced in it; a section is read again only if one of these values lies in it. Model and cluster
// are slow to read: the last few of them are remembered.

#include "scenario/point_reader.hpp"

#include "model/model_loader.hpp"
#include "network/fabric_file.hpp"
#include "scenario/job_check.hpp"
#include "scenario/resolved.hpp"
#include "scenario/sections.hpp"
#include "scenario/strategy_section.hpp"
#include "scenario/training_section.hpp"

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kSettingsKept = 8;

const std::string& section_of(const AxisColumn& column) { return column.path.steps().front().key; }

bool changes_setting(const SweepAxis& axis) {
  return std::any_of(axis.columns.begin(), axis.columns.end(), [](const AxisColumn& column) {
    return section_of(column) != "training" && section_of(column) != "strategy";
  });
}

bool overlap(const std::vector<SweepAxis>& axes) {
  std::vector<const KeyPath*> paths;
  for (const SweepAxis& axis : axes) {
    for (const AxisColumn& column : axis.columns) {
      for (const KeyPath* other : paths) {
        if (other->contains(column.path)) return true;
      }
      paths.push_back(&column.path);
    }
  }
  return false;
}

}  // namespace

struct PointReader::Setting {
  Setting(ModelSpec model, Cluster cluster, const RangeWidths& ranges)
      : job{std::move(model), std::move(cluster), {}, {}, {}, ranges} {}

  std::vector<std::uint32_t> digits;  // indices on the axes that change the setting
  std::uint64_t number = 0;
  std::string resolved;
  Job job;
  Versions read{0, 0};  // versions of the sections in `job`; 0: not read
  std::string resolved_training;
  std::string resolved_strategy;
};

PointReader::PointReader(const SweepFile& sweep, Catalog catalog, DataFolders folders)
    : sweep_(sweep),
      catalog_(std::move(catalog)),
      frameworks_(folders.hardware),
      ranges_(read_range_widths(folders.hardware)),
      folders_(std::move(folders)),
      document_(sweep.base()),
      overlapping_(overlap(sweep.axes())) {
  for (std::size_t i = 0; i < sweep.axes().size(); ++i) {
    if (changes_setting(sweep.axes()[i])) of_setting_.push_back(i);
  }
}

PointReader::~PointReader() = default;

void PointReader::apply(const SweepAxis& axis, std::uint32_t digit) {
  for (const AxisColumn& column : axis.columns) {
    document_.assign(column.path, column.values[digit], column.where);
    const std::string& section = section_of(column);
    if (section == "training") ++versions_.training;
    if (section == "strategy") ++versions_.strategy;
  }
}

// Puts the values of a point in place. After an error the state of the document is unknown, and the next point starts
// from the base document.
void PointReader::move_to(std::uint64_t point) {
  sweep_.find_digits(point, next_);
  const bool anew = digits_.empty() || (overlapping_ && digits_ != next_);
  const std::vector<std::uint32_t> before = std::exchange(digits_, {});
  if (anew) document_ = sweep_.base();
  for (std::size_t i = 0; i < next_.size(); ++i) {
    if (anew || before[i] != next_[i]) apply(sweep_.axes()[i], next_[i]);
  }
  digits_ = next_;
}

PointReader::Setting& PointReader::setting_at_digits() {
  std::vector<std::uint32_t> digits;
  for (const std::size_t axis : of_setting_) digits.push_back(digits_[axis]);
  const auto known = std::find_if(settings_.begin(), settings_.end(),
                                  [&](const Setting& setting) { return setting.digits == digits; });
  if (known != settings_.end()) {
    settings_.splice(settings_.begin(), settings_, known);
    return settings_.front();
  }
  Mapping root{Node(document_)};
  const Node model = root.require("model");
  const Node cluster = root.require("cluster");
  ModelSpec spec = model.is_mapping() ? parse_model(model, folders_.models)
                                      : load_model(model.as_string(), folders_.models, model.where());
  const Value stated = independent_model(model, spec, folders_.models);
  settings_.emplace_front(std::move(spec), with_network_files(read_cluster(cluster, catalog_)), ranges_);
  if (settings_.size() > kSettingsKept) settings_.pop_back();
  Setting& setting = settings_.front();
  setting.digits = std::move(digits);
  setting.number = ++settings_made_;
  setting.resolved = completed_yaml(completed_setting(setting.job.cluster, stated));
  return setting;
}

void PointReader::read_sections(Setting& setting, const Node& training, const Node& strategy) const {
  Job& job = setting.job;
  if (setting.read.training != versions_.training) {
    setting.read.training = 0;
    const std::string before = job.training.framework;
    job.training = read_training(training, job.model, frameworks_);
    if (job.training.framework != before) job.framework = frameworks_.framework(job.training.framework);
    setting.resolved_training = completed_yaml(completed_training(job.training));
    setting.read.training = versions_.training;
  }
  if (setting.read.strategy != versions_.strategy) {
    setting.read.strategy = 0;
    job.strategy = read_strategy(strategy, job.cluster, job.model);
    setting.resolved_strategy = completed_yaml(completed_strategy(job.strategy));
    setting.read.strategy = versions_.strategy;
  }
}

const Job& PointReader::read(std::uint64_t point) {
  move_to(point);
  Setting& setting = setting_at_digits();
  Mapping root{Node(document_)};
  root.ignore("model");
  root.ignore("cluster");
  const Node training = root.require("training");
  const std::optional<Node> strategy = root.find_or_null("strategy");
  const Value nothing;
  read_sections(setting, training, strategy ? *strategy : Node(document_, nothing, "strategy"));
  root.ignore("operations");
  root.ignore("search");
  root.ignore("notes");
  if (const std::optional<Node> assertions = root.find_or_null("assert")) read_assertions(*assertions);
  root.finish();
  check_job(document_, setting.job);
  return setting.job;
}

std::uint64_t PointReader::setting() const { return settings_.front().number; }

ResolvedSections PointReader::resolved() const {
  const Setting& setting = settings_.front();
  return {setting.resolved, setting.resolved_training, setting.resolved_strategy};
}

}  // namespace mirfak
