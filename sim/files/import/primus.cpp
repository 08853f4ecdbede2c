// AMD-AGI/Primus: core/config and core/launcher/parser.py: a module's configuration, then the model's, then overrides;
// the first files of `extends` count least.

#include "import/import_formats.hpp"

#include "base/named_files.hpp"
#include "base/read_files.hpp"
#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/megatron_bridge.hpp"
#include "import/megatron_dialect.hpp"
#include "import/megatron_settings.hpp"
#include "import/option_reader.hpp"
#include "import/program_facts.hpp"
#include "import/torchtitan.hpp"
#include "import/yaml_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace mirfak {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxChain = 16;      // files in a row that extend one another
constexpr std::size_t kMaxPartFiles = 64;  // files of one experiment
constexpr std::uintmax_t kMaxPartBytes = 1 << 20;

class PrimusParts {
 public:
  PrimusParts(std::span<const ImportFile> files, const ImportContext& context) : files_(files), context_(context) {}

  // Returns the settings of a part and of the files that it extends, the least important first.
  std::vector<Setting> settings_of_part(const std::string& kind, const std::string& framework, const Setting& asked) {
    const fs::path relative = fs::path("configs") / kind / framework / asked.value.scalar;
    std::vector<Setting> out;
    add(find(relative, asked), asked.where, out);
    return out;
  }

 private:
  fs::path find(const fs::path& relative, const Setting& asked) const {
    for (const ImportFile& file : files_) {
      if (fs::path(file.name).generic_string().ends_with(relative.generic_string())) return file.name;
    }
    fs::path folder = fs::absolute(files_.front().name).parent_path();
    for (std::size_t up = 0; up < 32; ++up) {
      for (const fs::path& candidate : {folder / relative, folder / "primus" / relative}) {
        std::error_code ignored;
        if (may_read_file(candidate) && fs::is_regular_file(candidate, ignored)) return candidate;
      }
      if (folder == folder.parent_path()) break;
      folder = folder.parent_path();
    }
    fail_input(asked.where,
               fmt::format("no file {} in the folders above this one", excerpt(relative.generic_string(), 120)),
               "give it together with the experiment, or call import where Primus lies");
  }

  std::string text_of(const fs::path& path, const Location& where) const {
    for (const ImportFile& file : files_) {
      if (fs::path(file.name) == path) return file.text;
    }
    refuse_file_outside(path);
    std::error_code failed;
    const std::uintmax_t bytes = fs::file_size(path, failed);
    std::ifstream in(path, std::ios::binary);
    if (failed || !in) fail_input(where, fmt::format("cannot read {}", excerpt(path.string(), 120)));
    if (bytes > kMaxPartBytes) fail_input(where, fmt::format("{} is larger than 1 MiB", excerpt(path.string(), 120)));
    note_read_file(path);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }

  void add(const fs::path& path, const Location& where, std::vector<Setting>& out) {
    if (++parts_ > kMaxPartFiles) fail_input(where, fmt::format("more than {} files", kMaxPartFiles));
    if (chain_.size() >= kMaxChain)
      fail_input(where, fmt::format("more than {} files that extend one another", kMaxChain));
    const fs::path canonical = fs::weakly_canonical(path);
    if (!chain_.insert(canonical).second) fail_input(where, "a file that extends itself");
    Value root = parse_yaml(text_of(path, where), path.string());
    replace_variables(root, context_.environment);
    if (root.kind != Value::Kind::mapping && root.kind != Value::Kind::null) {
      fail_input({path.string(), 1, 1}, "expected a mapping of options");
    }
    if (const Value* extends = root.kind == Value::Kind::mapping ? root.find("extends") : nullptr) {
      for (const Value& other : extends->items) add(path.parent_path() / other.scalar, other.where, out);
    }
    std::erase_if(root.fields, [](const Value::Field& field) { return field.key == "extends"; });
    for (Setting& setting : settings_of(root)) out.push_back(std::move(setting));
    chain_.erase(canonical);
  }

  std::span<const ImportFile> files_;
  const ImportContext& context_;
  std::set<fs::path> chain_;
  std::size_t parts_ = 0;
};

bool is_trainer_module(const Value& module) {
  return module.kind == Value::Kind::mapping && module.find("framework") != nullptr;
}

const Value& module_of(const Value& root, const ImportContext& context) {
  const Value* modules = root.find("modules");
  std::vector<const Value::Field*> trainers;
  for (const Value::Field& field : modules->fields) {
    if (is_trainer_module(field.value)) trainers.push_back(&field);
  }
  if (trainers.empty()) fail_input(modules->key_where, "no module has a framework");
  const auto number = static_cast<std::size_t>(context.launch.value_or(trainers.size() == 1 ? 1 : 0));
  if (number >= 1 && number <= trainers.size()) return trainers[number - 1]->value;
  std::string names;
  for (const Value::Field* field : trainers) names += (names.empty() ? "" : ", ") + field->key;
  fail_input(modules->key_where, fmt::format("{} modules train, of which one has to be chosen", trainers.size()),
             fmt::format("say which by its number: {}", names));
}

Setting asked_part(const Value& module, std::string_view key) {
  const Value* found = module.find(key);
  if (found == nullptr || found->kind != Value::Kind::scalar) {
    fail_input(module.key_where, fmt::format("the key '{}' is missing", key));
  }
  if (found->scalar.find("${") != std::string::npos) {
    fail_input(found->where, fmt::format("{}: a name that depends on variables: {}", key, excerpt(found->scalar)),
               "give them by --env NAME=VALUE");
  }
  return {std::string(key), *found, found->key_where, fmt::format("{}: {}", key, excerpt(found->scalar))};
}

void append(std::vector<Setting>& out, std::vector<Setting> more) {
  for (Setting& setting : more) out.push_back(std::move(setting));
}

// Reads the settings of a Megatron module; names of Primus's own do not reach the program.
ImportDraft import_primus_megatron(std::vector<Setting> settings, const Location& where, const ProgramFacts& facts,
                                   const ImportContext& context) {
  for (Setting& setting : settings) setting.missing = missing_names(setting.value);
  ImportDraft draft(in_megatron_words(std::move(settings), facts));
  leave_python(draft);
  facts.judge_rest(draft);
  read_megatron_settings(draft, {"pretrain_gpt.py", where}, context);
  return draft;
}

// Reads the settings of a Bridge module: the recipe's settings are flat, and move to their sections of a
// ConfigContainer.
ImportDraft import_primus_bridge(std::vector<Setting> settings, const Location& where, const ProgramFacts& facts,
                                 const ImportContext& context) {
  std::string model;
  std::string why;
  const Value& places = facts.section("bridge_options");
  const Value& precisions = facts.section("bridge_precisions");
  std::vector<Setting> more;
  for (Setting& setting : settings) {
    if (const Value* place = places.find(setting.name)) setting.name = place->scalar;
    if (setting.name == "hf_path" && setting.value.kind == Value::Kind::scalar) {
      const auto known = hugging_face_model(setting.value.scalar, context.sources);
      if (known && known->model.kind == Value::Kind::scalar && !is_model_path(known->model.scalar)) {
        model = known->model.scalar;
        why = fmt::format("hf_path: {}", setting.value.scalar);
      }
    }
    const Value* precision = setting.name == "precision_config" ? precisions.find(setting.value.scalar) : nullptr;
    if (precision == nullptr) continue;
    for (const Value::Field& field : precision->fields) {
      more.push_back({field.key, field.value, setting.where, setting.text});
    }
  }
  append(settings, std::move(more));
  ImportDraft draft = import_megatron_bridge(std::move(settings), where, context, model, why);
  facts.judge_rest(draft);
  return draft;
}

bool is_primus_yaml(const ImportFile& file) {
  const std::optional<Value> root = mapping_mentioning(file, {"modules:"});
  const Value* modules = root ? mapping_under(*root, "modules") : nullptr;
  return modules != nullptr && std::any_of(modules->fields.begin(), modules->fields.end(),
                                           [](const Value::Field& field) { return is_trainer_module(field.value); });
}

ImportDraft read_primus_yaml(std::span<const ImportFile> files, const ImportContext& context) {
  const ImportFile& file = files.front();
  Value root = parse_yaml(file.text, file.name);
  replace_variables(root, context.environment);
  const Value& module = module_of(root, context);
  const std::string framework = asked_part(module, "framework").value.scalar;
  PrimusParts parts(files, context);
  std::vector<Setting> settings = parts.settings_of_part("modules", framework, asked_part(module, "config"));
  append(settings, parts.settings_of_part("models", framework, asked_part(module, "model")));
  if (const Value* overrides = module.find("overrides")) append(settings, settings_of(*overrides));
  const ProgramFacts facts(context.sources, "primus");
  const Location where = module.key_where;
  if (framework == "megatron") return import_primus_megatron(std::move(settings), where, facts, context);
  if (framework == "megatron_bridge") return import_primus_bridge(std::move(settings), where, facts, context);
  if (framework == "torchtitan") return import_torchtitan(std::move(settings), context);
  const Value& said = *module.find("framework");
  fail_input(said.where,
             fmt::format("expected megatron, megatron_bridge or torchtitan, found '{}'", excerpt(framework)));
}

}  // namespace

// Experiments of AMD's Primus: modules with a framework, a configuration, a model and overrides. Files that they name
// are looked up as Primus does: configs/modules/FRAMEWORK and configs/models/FRAMEWORK in one of the folders above the
// experiment (or primus/configs there), or among the given files; files of `extends` are looked up next to the file
// that names them.
const ImportFormat kPrimusYaml = {"primus-yaml",
                                  "an experiment of AMD's Primus: modules with framework, config, model and overrides",
                                  is_primus_yaml, read_primus_yaml};

}  // namespace mirfak
