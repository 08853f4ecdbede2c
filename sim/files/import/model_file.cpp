// A file that defines a model states nothing of a training: batch, sequence length and nodes are asked for by name, and
// all else is as in a scenario that leaves it out.

#include "import/deepspeed_json.hpp"
#include "import/import_formats.hpp"

#include <string>

namespace mirfak {

namespace {

ImportDraft read_model_file(std::span<const ImportFile> files, const ImportContext& /*context*/) {
  ImportDraft draft({*model_among(files)});
  take_model(files, draft);
  for (const std::string key : {"training.global_batch", "training.sequence_length"}) {
    draft.lack({files.front().name, 1, 1}, key, "a model does not say " + key);
  }
  return draft;
}

}  // namespace

// import_job() recognises models, as programs' own settings may stand in files with the same keys.
const ImportFormat kModelAlone = {"model", "a model alone: Hugging Face's config.json, or a model file of mirfak",
                                  recognises_nothing, read_model_file};

}  // namespace mirfak
