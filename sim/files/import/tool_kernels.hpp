#pragma once

#include "base/values.hpp"
#include "import/option_reader.hpp"

#include <vector>

namespace mirfak {

// Returns the framework with the kernels that a tool around the Trainer brings, by the tool's `kernels` section
// (hw_profiles/launch/README.md): rules in their order, each with the switches that have to be on, all of them, the
// habits of a framework file that follow, and what the report says. The section may be null.
Value with_kernels_of_tool(OptionReader& options, Value framework, const Value& rules);

// Adds what the plugins of a tool set by themselves, where the settings do not say it, by the tool's `plugins` section:
// the `option` that lists plugins, and by the name of each the settings that it brings, perhaps none. A plugin of
// another name is a setting of its own, "plugins.NAME", which nobody reads. The section may be null.
void add_settings_of_plugins(std::vector<Setting>& settings, const Value& section);

}  // namespace mirfak
