// Files are recognised by what they hold: none of mirfak's own, nor of models, is taken for a launch file, and what may
// be several is asked about.

#include "launch_files.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

using namespace mirfak;

TEST_CASE("mirfak's own files are no format of training programs") {
  std::size_t files = 0;
  for (const char* folder : {"/scenarios", "/models", "/hw_profiles", "/validate/published"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_root() + folder)) {
      if (!entry.is_regular_file() || entry.path().extension() != ".yaml") continue;
      CAPTURE(entry.path().string());
      CHECK(formats_of(import_file(entry.path())).empty());
      ++files;
    }
  }
  CHECK(files > 200);
}

TEST_CASE("a model of Hugging Face's is no launch file") {
  const ImportFile config{
      "config.json",
      "{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 4096, "
      "\"num_hidden_layers\": 32, \"torch_dtype\": \"bfloat16\", \"vocab_size\": 32000}"};
  CHECK(formats_of(config).empty());
  CHECK(format_of(config) == nullptr);
}

TEST_CASE("a file that may be several formats is asked about") {
  const ImportFile both{"both.yaml", "distributed_type: FSDP\nnum_processes: 8\nper_device_train_batch_size: 2\n"};
  CHECK(formats_of(both).size() == 2);
  try {
    format_of(both);
    CHECK(false);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(error.message() == "the file may be one of accelerate-yaml or trainer");
  }
}
