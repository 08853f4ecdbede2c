#pragma once

#include "base/document.hpp"
#include "program/job.hpp"
#include "scenario/search_section.hpp"

#include <optional>
#include <string>

namespace mirfak {

// How a scenario states what a job no longer knows by its name alone.
struct StatedSetting {
  Node model;    // a name, a path or a mapping
  Node cluster;  // the section
  std::optional<Node> operations = {};
  std::optional<Node> assertions = {};
};

// The scenario of a job as YAML, every key written out. Node types and networks that are given by a path stand there by
// their absolute path, so that the text reads back wherever it lies; the path of a model, and those of the section
// `operations`, stand as they were stated.
std::string resolved_yaml(const Job& job, const StatedSetting& stated);
// Its parts, in their order.
std::string resolved_setting(const Cluster& cluster, const StatedSetting& stated);  // `model` and `cluster`
std::string resolved_training(const TrainingSpec& training);
std::string resolved_strategy(const Strategy& strategy);

// The scenario of a search: under `strategy` what the space does not vary, and the complete `search` section.
std::string resolved_search_yaml(const Job& job, const StatedSetting& stated, const SearchSection& search);

}  // namespace mirfak
