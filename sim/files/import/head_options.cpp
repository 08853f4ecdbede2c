#include "import/head_options.hpp"

#include "base/document.hpp"
#include "base/text.hpp"
#include "base/values.hpp"
#include "import/program_facts.hpp"
#include "model/model_loader.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string>

namespace mirfak {

namespace {

constexpr std::int64_t kMostLabels = 100'000'000;

// Adds an obstacle if the file of a model has another head than so many labels, which the program puts in its place.
void check_head(ImportDraft& draft, const Value& model, std::int64_t labels, const ScenarioSources& sources) {
  if (!std::filesystem::exists(model.scalar)) return;
  const Head head = load_model(model.scalar, sources.folders.models, model.where).head;
  if (head.kind == HeadKind::labels_of_sequences && head.labels == labels) return;
  draft.obstruct(model.where,
                 fmt::format("the program trains a head that scores, with num_labels: {}, and this file has another "
                             "one: write architectures with ...ForSequenceClassification and num_labels: {} there",
                             labels, labels));
}

Value library_file(const Value& model, const ScenarioSources& sources) {
  return Document::from_file(sources.folders.models / (model.scalar + ".yaml")).root();
}

bool has_blocks(const Value& model, const ScenarioSources& sources) {
  return library_file(model, sources).find("blocks") != nullptr;
}

// Returns the library's model with this head: by the keys of a config.json where the library states the model so.
Value with_head(const Value& model, const Value& head, const ScenarioSources& sources) {
  Value out = library_file(model, sources);
  set_field(out, "name", word_value(model.scalar));
  const Value* const config = out.find("config");
  if (config == nullptr) {
    set_field(out, "head", head);
    return out;
  }
  Value changed = *config;
  set_field(changed, "architectures", list_value({word_value("LabelledForSequenceClassification")}));
  set_field(changed, "num_labels", *head.find("labels"));
  set_field(out, "config", std::move(changed));
  return out;
}

}  // namespace

void put_head(OptionReader& options, std::int64_t labels, const ScenarioSources& sources) {
  const Value* const model = options.draft().scenario().find("model");
  if (model == nullptr) {
    return options.draft().notes.push_back(
        {{},
         fmt::format("the program trains a head that scores, with num_labels: {}: the model that is stated in its "
                     "place has to have that head, too",
                     labels)});
  }
  if (model->kind != Value::Kind::scalar) {
    return options.draft().obstruct(model->where, "labels behind a model of several parts are not described");
  }
  if (is_model_path(model->scalar)) return check_head(options.draft(), *model, labels, sources);
  if (has_blocks(*model, sources)) {
    return options.draft().obstruct(model->where, fmt::format("{}: labels behind a model that is stated by its blocks "
                                                              "are not described",
                                                              excerpt(model->scalar)));
  }
  Value head;
  set_field(head, "kind", word_value("labels_of_sequences"));
  set_field(head, "labels", scalar_value(labels));
  options.put(options.option("model_name_or_path"), "model", with_head(*model, head, sources),
              "with labels of sequences in the place of words");
}

bool read_labels(OptionReader& options, const Value& section, const ScenarioSources& sources) {
  const std::string by = text_under(section, "option");
  if (by.empty()) return false;
  const Option task = options.option(by);
  const Option labels = options.option(text_under(section, "labels"));
  const bool counted = labels.setting != nullptr && !labels.is_none();
  const std::string word = text_under(section, "word");
  if (task.is_none() ? !counted : options.word(task) != word) return false;
  if (!task.is_none()) options.use(task, "labels of sequences stand in the place of words");
  if (!counted) {
    options.draft().obstruct(task.value.where, fmt::format("{} {}: say {}, too", task.name, word, labels.name));
    return true;
  }
  options.use(labels, "labels of a sequence");
  put_head(options, options.integer(labels, 1, kMostLabels), sources);
  return true;
}

}  // namespace mirfak
