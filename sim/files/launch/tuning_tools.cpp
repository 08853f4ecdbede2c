// Tools around Hugging Face's Trainer: the Trainer's settings in the words of the tool (`words` of its facts, which
// import/tuning_tools.cpp reads in the opposite direction), as the tool's YAML file. Accelerate's configuration says
// how the model is wrapped.

#include "launch/accelerate.hpp"
#include "launch/launch_targets.hpp"

#include "base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

const Value& section_of(const Document& facts, std::string_view name) {
  const Value* const section = facts.root().find(name);
  if (section == nullptr) fail_internal(fmt::format("the facts of a tool have no {}", name));
  return *section;
}

// Returns a setting of the Trainer in the tool's name and word. A tool that has the Trainer's name has its words, too.
LaunchOption in_words_of_tool(const Value& words, const LaunchOption& setting) {
  if (words.find(setting.name) != nullptr) return setting;
  for (const Value::Field& rule : words.fields) {
    if (rule.value.kind == Value::Kind::scalar) {
      if (rule.value.scalar == setting.name) return {rule.key, setting.words};
      continue;
    }
    if (rule.value.find("to")->scalar != setting.name) continue;
    const Value* const values = rule.value.find("values");
    for (const Value::Field& value : values == nullptr ? std::vector<Value::Field>{} : values->fields) {
      if (value.value.scalar == setting.words.front()) return {rule.key, {value.key}};
    }
  }
  return setting;
}

// Refuses settings of the Trainer that the tool has in another form.
void require_settings(const LaunchOptions& settings, const Value& written) {
  const Value* const refused = written.find("refused");
  for (const Value& rule : refused == nullptr ? std::vector<Value>{} : refused->items) {
    require_expressible(!settings.has(rule.find("option")->scalar), rule.find("key")->scalar,
                        rule.find("reason")->scalar, rule.find("hint")->scalar);
  }
}

// Returns the settings of the tool's file.
LaunchOptions settings_of_tool(const LaunchOptions& trainer, const Document& facts) {
  const Value& written = section_of(facts, "written");
  require_settings(trainer, written);
  LaunchOptions out;
  for (const Value::Field& always : section_of(facts, "written").find("always")->fields) {
    out.value(always.key, always.value.scalar);
  }
  for (const LaunchOption& setting : trainer.all()) out.add(in_words_of_tool(section_of(facts, "words"), setting));
  return out;
}

LaunchProgram tool_program(const Job& job, const std::filesystem::path& hardware, std::string_view tool) {
  const Document facts = Document::from_file(hardware / "launch" / fmt::format("{}.yaml", tool));
  AcceleratedJob accelerated = accelerated_job(job, hardware);
  LaunchProgram out;
  out.comments = std::move(accelerated.titles);
  out.comments.insert(out.comments.begin(), section_of(facts, "source").scalar);
  out.comments.push_back(world_comment(job));
  const Value& written = section_of(facts, "written");
  for (const Value& word : written.find("start")->items) out.start.push_back(word.scalar);
  out.comments.push_back(fmt::format("accelerate launch --config_file {} {}, with data and learning rate in the file",
                                     accelerated.configuration.name, fmt::join(out.start, " ")));
  out.files.push_back({written.find("file")->scalar,
                       comment_lines(out.comments) + yaml_text(settings_of_tool(accelerated.trainer, facts))});
  out.accelerated = accelerated.configuration.name;
  out.files.push_back(std::move(accelerated.configuration));
  out.configured_by_file = true;
  return out;
}

}  // namespace

LaunchProgram llama_factory_program(const Job& job, const std::filesystem::path& hardware) {
  return tool_program(job, hardware, "llama-factory");
}

LaunchProgram axolotl_program(const Job& job, const std::filesystem::path& hardware) {
  return tool_program(job, hardware, "axolotl");
}

}  // namespace mirfak
