#include "model/hugging_face_head.hpp"

#include "base/text.hpp"
#include "model/model_reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace mirfak {

namespace {

std::int64_t labels_of(Config& config) {
  constexpr std::int64_t kOfClass = 2;  // PretrainedConfig.num_labels
  const std::optional<Node> stated = config.find({"num_labels"});
  const std::optional<Node> named = config.find({"id2label"});
  if (named && !named->value().fields.empty()) return static_cast<std::int64_t>(named->value().fields.size());
  return stated ? stated->as_integer(1, kMaxVocabulary) : kOfClass;
}

Head embedding_head(const Node& stated, const std::string& name, std::vector<std::string>& notes) {
  notes.push_back(
      fmt::format("{}: {} has no language head: a model of embeddings, whose loss compares the vectors of sequences; "
                  "the products of vectors with each other are left out",
                  stated.where().text(), excerpt(name)));
  Head head;
  head.kind = HeadKind::pooled;
  return head;
}

}  // namespace

HeadOfClass head_of_class(Config& root, Config& language, const std::vector<std::string>& own,
                          std::vector<std::string>& notes) {
  const std::optional<Node> architectures = root.find({"architectures"});
  if (!architectures) return {};
  const std::vector<Node> classes =
      architectures->is_scalar() ? std::vector<Node>{*architectures} : architectures->as_items();
  if (classes.empty()) return {};
  const std::string name = classes.front().as_string();
  const auto is = [&](std::string_view end) { return std::string_view(name).ends_with(end); };
  const bool causal = is("ForCausalLM") || is("LMHeadModel");
  // A language model that a tower feeds may have another class name if the class came with the model.
  const auto conditional = [](std::string_view one) { return one.ends_with("ForConditionalGeneration"); };
  const bool tower = conditional(name) && std::any_of(own.begin(), own.end(), conditional);
  if (causal || tower || std::find(own.begin(), own.end(), name) != own.end()) return {{}, causal};
  Config& labels = root.states("id2label") || root.states("num_labels") ? root : language;
  if (is("ForSequenceClassification")) return {{HeadKind::labels_of_sequences, labels_of(labels), false}, false};
  if (is("ForTokenClassification")) return {{HeadKind::labels_of_tokens, labels_of(labels), true}, false};
  if (is("ForQuestionAnswering")) return {{HeadKind::labels_of_tokens, 2, true}, false};  // start and end of the answer
  if (is("Model") && !is("RewardModel") && !is("HeadsModel")) {
    return {embedding_head(classes.front(), name, notes), false};
  }
  classes.front().fail(fmt::format("the head of the class '{}' is not known", excerpt(name)),
                       "expected one that ends in ForCausalLM, ForSequenceClassification, ForTokenClassification, "
                       "ForQuestionAnswering or Model");
}

}  // namespace mirfak
