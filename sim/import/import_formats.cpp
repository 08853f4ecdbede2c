#include "import/import_formats.hpp"

#include "import/deepspeed_json.hpp"
#include "import/hugging_face.hpp"
#include "import/torchtitan.hpp"

#include <array>

namespace mirfak {

// A new format is a file and a line here.
std::span<const ImportFormat> import_formats() {
  static const std::array kFormats{
      ImportFormat{"torchtitan-toml", "TOML of torchtitan v0.1.0 to v0.2.2: [model], [training], [parallelism], ...",
                   is_torchtitan_toml, read_torchtitan_toml},
      ImportFormat{"deepspeed-json", "DeepSpeed's configuration (ds_config.json), v0.19.5: \"zero_optimization\", ...",
                   is_deepspeed_json, read_deepspeed_json},
      ImportFormat{"accelerate-yaml", "Hugging Face Accelerate's configuration: distributed_type, num_processes, ...",
                   is_accelerate_yaml, read_accelerate_yaml},
      ImportFormat{"trainer",
                   "settings of Hugging Face's Trainer and TRL in JSON or YAML: per_device_train_batch_size, ...",
                   is_trainer_file, read_trainer_file},
  };
  return kFormats;
}

}  // namespace mirfak
