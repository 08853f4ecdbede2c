// Models on this machine: in a folder, or among those that Hugging Face's programs have downloaded.

#include "import/hub_cache.hpp"
#include "base/named_files.hpp"
#include "launch_files.hpp"
#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace hub_cache_test {

using namespace mirfak;

namespace {

constexpr const char* kConfiguration =
    R"({"model_type": "llama", "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 7,
  "num_attention_heads": 8, "vocab_size": 32000, "tie_word_embeddings": false, "max_position_embeddings": 4096})";

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

// Points HF_HUB_CACHE to a folder while it lives.
class DownloadsIn {
 public:
  explicit DownloadsIn(const std::filesystem::path& folder) { setenv("HF_HUB_CACHE", folder.c_str(), 1); }
  ~DownloadsIn() { unsetenv("HF_HUB_CACHE"); }
  DownloadsIn(const DownloadsIn&) = delete;
  DownloadsIn& operator=(const DownloadsIn&) = delete;
};

ImportedJob trained(const std::string& model) {
  return imported({{"run.sh",
                    "#!/bin/bash\ntorchrun --nproc_per_node 8 finetune.py --bf16 True --max_length 1024 "
                    "--per_device_train_batch_size 1 --model_name_or_path " +
                        model + "\n"}});
}

}  // namespace

TEST_CASE("a model that was downloaded, and one in a folder, are read by their own config.json") {
  const ScratchFolder scratch;
  const DownloadsIn downloads(scratch.path());
  const std::filesystem::path model = scratch.path() / "models--nobody--seven-layers";
  write(model / "refs" / "main", "0123abcd\n");
  write(model / "snapshots" / "0123abcd" / "config.json", kConfiguration);
  const ImportedJob job = trained("nobody/seven-layers");
  CHECK(job.complete);
  CHECK(scenario_of(job.draft, "hgx-h100", 1).job.model.layers == 7);

  write(scratch.path() / "out" / "config.json", kConfiguration);
  CHECK(scenario_of(trained((scratch.path() / "out").string()).draft, "hgx-h100", 1).job.model.layers == 7);

  // Models of the library are as it has them, whatever was downloaded.
  write(scratch.path() / "models--Qwen--Qwen3-8B" / "refs" / "main", "0123abcd");
  write(scratch.path() / "models--Qwen--Qwen3-8B" / "snapshots" / "0123abcd" / "config.json", kConfiguration);
  CHECK(scenario_of(trained("Qwen/Qwen3-8B").draft, "hgx-h100", 1).job.model.layers == 36);
}

TEST_CASE("names that leave the folder of downloads, other revisions and other users' documents find nothing") {
  const ScratchFolder scratch;
  const DownloadsIn downloads(scratch.path());
  const std::filesystem::path model = scratch.path() / "models--nobody--seven-layers";
  write(model / "snapshots" / "0123abcd" / "config.json", kConfiguration);
  CHECK_FALSE(downloaded_configuration("nobody/seven-layers"));  // no revision is main
  write(model / "refs" / "main", "0123abcd");
  CHECK(downloaded_configuration("nobody/seven-layers"));
  for (const char* name : {"", "..", "../seven-layers", "nobody/seven-layers/more", "nobody/other", "a$b/c"}) {
    CAPTURE(name);
    CHECK_FALSE(downloaded_configuration(name));
  }
  const NoNamedFiles nothing("(request)", {});
  CHECK_FALSE(downloaded_configuration("nobody/seven-layers"));
}

}  // namespace hub_cache_test
