// Functions that the tests of formats share: files of ../shared/launch-configs, and scenarios made of drafts.

#pragma once

#include "import/import_formats.hpp"
#include "import/imported_job.hpp"
#include "scenario/scenario.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace mirfak {

// Files below ../shared/launch-configs/FOLDER that end so, in their order; none where the folder is absent.
std::vector<std::filesystem::path> launch_configs(const std::string& folder, const std::string& ending);

ImportFile import_file(const std::filesystem::path& path);
const ScenarioSources& import_sources();

// The format of this name.
const ImportFormat& import_format(std::string_view name);
// All formats that take this file for theirs.
std::vector<std::string> formats_of(const ImportFile& file);

// Imports files as `mirfak import` does, on nodes such as "hgx-h100:2".
ImportedJob imported(const std::vector<ImportFile>& files, const std::string& nodes = "hgx-h100:1");
// The first reason why the scenario is not the training that the files start; "": there is none.
std::string first_obstacle(const ImportedJob& job);

// The draft's scenario on so many nodes of a type.
Scenario scenario_of(const ImportDraft& draft, const std::string& nodes, int count);

// Says why the scenario cannot run on any number of these nodes from 1 to 128, doubling; "": on one it can. `read`
// imports it for so many GPUs.
std::string why_it_cannot_run(const std::function<ImportDraft(std::int64_t gpus)>& read, const std::string& nodes,
                              int gpus_of_node);

// "key: value" of what the scenario says, in flow form; "" where it does not.
std::string said(const ImportDraft& draft, std::string_view key);

}  // namespace mirfak
