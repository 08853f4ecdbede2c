// Models with a tower for images as tuning programs say them: a tower that LLaVA's train.py puts in front of a language
// model, parts that are not trained, and models in folders of the user's own.

#include "base/error.hpp"
#include "launch_files.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace towers_test {

using namespace mirfak;

namespace {

ImportedJob script(const std::string& command) { return imported({{"run.sh", "#!/bin/bash\n" + command + "\n"}}); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string refusal(const std::string& command) {
  try {
    return first_obstacle(script(command));
  } catch (const Error& error) {
    return error.message();
  }
}

const std::string kSizes = " --per_device_train_batch_size 4 --model_max_length 2048 --bf16 True ";

std::string llava(const std::string& model, const std::string& options) {
  return "torchrun --nproc_per_node 8 llava/train/train_mem.py --image_folder images --mm_use_im_start_end False" +
         kSizes + "--model_name_or_path " + model + " " + options;
}

const std::string kClip = "--vision_tower openai/clip-vit-large-patch14-336 --mm_projector_type mlp2x_gelu ";

double parameters(const ImportedJob& job) {
  return count_parameters(scenario_of(job.draft, "hgx-h100", 1).job.model).total;
}

}  // namespace

TEST_CASE("a tower for images in front of a language model: as many parameters as both and the projector have") {
  const ImportedJob job = script(llava("lmsys/vicuna-7b-v1.5", kClip + "--image_aspect_ratio pad"));
  CHECK(job.complete);
  CHECK(said(job.draft, "training.frozen") == "[tower]");
  // Llama 2 7B; CLIP ViT-L/14 at 336 pixels; matrices of 1024 x 4096 and 4096 x 4096 with biases.
  CHECK(parameters(job) == 6738415616.0 + 303507456 + 1024 * 4096 + 4096 + 4096 * 4096 + 4096);

  // SigLIP's so400m without its last layer and its pooling head, in front of biased queries, keys and values.
  const ImportedJob other = script(llava(
      "Qwen/Qwen2-7B-Instruct", "--vision_tower /models/siglip-so400m-patch14-384 --mm_projector_type mlp2x_gelu"));
  CHECK(other.complete);
  constexpr double h = 1152;
  constexpr double f = 4304;
  constexpr double d = 3584;
  const double tower = 3 * 14 * 14 * h + h + 729 * h + 26 * (4 * h * h + 4 * h + 2 * h * f + f + h + 4 * h) + 2 * h;
  CHECK(parameters(other) == 7615616512.0 + tower + h * d + d + d * d + d);
}

TEST_CASE("programs of vision are read where their model has a tower") {
  const std::string options = kSizes + "--image_folder images --model_name_or_path lmsys/vicuna-7b-v1.5 " + kClip;
  CHECK(script("torchrun --nproc_per_node 8 -m llava.train.train" + options).complete);
  CHECK(script("torchrun --nproc_per_node 8 train_my_vlm.py" + options).complete);
  const std::string trl = kSizes + "--model_name_or_path ";
  CHECK(script("accelerate launch --num_processes 8 sft_vlm.py" + trl + "Qwen/Qwen3-VL-4B-Instruct").complete);
  CHECK(has(refusal("accelerate launch --num_processes 8 sft_vlm.py" + trl + "Qwen/Qwen3-8B"), "images or video"));
  CHECK(has(refusal("accelerate launch --num_processes 8 dpo_vlm.py" + trl + "Qwen/Qwen3-VL-4B-Instruct"), "answers"));
}

TEST_CASE("parts that a program of LLaVA's kind trains") {
  const auto frozen = [](const std::string& options) {
    return said(script(llava("Qwen/Qwen3-8B", kClip + options)).draft, "training.frozen");
  };
  CHECK(frozen("--tune_mm_mlp_adapter True") == "[decoder, tower]");
  CHECK(frozen("--freeze_mm_mlp_adapter True --freeze_backbone False") == "[projector, tower]");
  CHECK(frozen("--unfreeze_mm_vision_tower True") == "");
  // The list of all trained parts decides over the switches.
  CHECK(frozen("--tune_mm_mlp_adapter True --mm_tunable_parts=mm_vision_tower,mm_mlp_adapter,mm_language_model") == "");
  CHECK(frozen("--mm_tunable_parts=mm_mlp_adapter") == "[decoder, tower]");
  CHECK(has(refusal(llava("Qwen/Qwen3-8B", kClip + "--mm_tunable_parts=mm_head")), "mm_mlp_adapter, mm_vision_tower"));
}

TEST_CASE("towers and projectors that nobody described are refused at their place") {
  CHECK(has(refusal(llava("Qwen/Qwen3-8B", "--vision_tower my/tower --mm_projector_type mlp2x_gelu")),
            "no sizes are known of the tower for images my/tower"));
  CHECK(has(refusal(llava("Qwen/Qwen3-8B", "--vision_tower openai/clip-vit-large-patch14-336")), "stands linear"));
  CHECK(has(refusal(llava("microsoft/phi-2", kClip)), "phi-2, whose layers are not Llama's"));
  CHECK(has(refusal(llava("Qwen/Qwen3-8B", kClip + "--moe_enable True")), "mixtures of experts"));
  CHECK(has(refusal(llava("Qwen/Qwen3-8B", kClip + "--lora_enable True --lora_r 8")), "trained whole beside adapters"));
  CHECK(refusal(llava("Qwen/Qwen3-8B", kClip + "--lora_enable False --lora_r 8")).empty());
}

TEST_CASE("tools that freeze the tower of a model unless told otherwise") {
  const std::string swift =
      "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-VL-4B-Instruct --dataset d --max_length 2048 ";
  CHECK(said(script(swift + "--tuner_type full").draft, "training.frozen") == "[projector, tower]");
  CHECK(said(script(swift + "--tuner_type full --freeze_aligner false").draft, "training.frozen") == "[tower]");
  CHECK(said(script(swift + "--tuner_type full --freeze_vit false --freeze_aligner false").draft, "training.frozen") ==
        "");
  const std::string text = "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --dataset d --max_length 2048 ";
  CHECK(said(script(text + "--tuner_type full --freeze_vit true").draft, "training.frozen") == "");

  const auto factory = [](const std::string& more) {
    return said(imported({{"sft.yaml",
                           "model_name_or_path: Qwen/Qwen3-VL-4B-Instruct\nstage: sft\ndo_train: true\n"
                           "finetuning_type: full\ntemplate: qwen3_vl\ncutoff_len: 2048\n"
                           "per_device_train_batch_size: 1\nbf16: true\n" +
                               more}})
                    .draft,
                "training.frozen");
  };
  CHECK(factory("") == "[projector, tower]");
  CHECK(factory("freeze_vision_tower: false\nfreeze_multi_modal_projector: false\n") == "");
  CHECK(factory("freeze_language_model: true\nfreeze_multi_modal_projector: false\n") == "[decoder, tower]");
}

TEST_CASE("a model in a folder of the user's own that has its name on the hub") {
  const std::string start = "torchrun --nproc_per_node 8 finetune.py" + kSizes + "--model_name_or_path ";
  CHECK(said(script(start + "./models/Qwen2.5-7B-Instruct/").draft, "model") == "qwen2.5-7b");
  CHECK(said(script(start + "$HOME/models/Llama-2-7b-hf").draft, "model") == "llama2-7b");
  CHECK(has(refusal(start + "$ROOT/Llama-2-7b-hf"), "it depends on ROOT"));
  CHECK(has(refusal(start + "$HOME/models/mine"), "models/ does not have"));
}

}  // namespace towers_test
