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

TEST_CASE("a tower in front of Phi: the language model's own keys") {
  const auto count = [](const std::string& model) {
    const ImportedJob job = script(llava(model, kClip));
    CHECK(job.complete);
    return parameters(job) - 303507456;
  };
  CHECK(count("microsoft/phi-2") == 2779683840.0 + 1024 * 2560 + 2560 + 2560 * 2560 + 2560);
  CHECK(count("microsoft/Phi-3.5-mini-instruct") == 3821079552.0 + 1024 * 3072 + 3072 + 3072 * 3072 + 3072);
}

// InternViT-6B at 224 pixels, whose places are those of 336: layers without biases of queries, with norms of all
// queries and all keys and scales of both branches; one matrix to the words.
TEST_CASE("LLaVA's projector of one matrix, and InternVL's tower in LLaVA's program") {
  const ImportedJob job = script(llava("lmsys/vicuna-7b-v1.5", "--vision_tower ./pretrained/InternViT-6B-224px"));
  CHECK(job.complete);
  constexpr double h = 3200;
  constexpr double f = 12800;
  const double layer = 4 * h * h + h + 2 * h * f + f + h + 2 * h + 2 * h + 2 * h;
  CHECK(parameters(job) == 6738415616.0 + 588 * h + h + h + 577 * h + 48 * layer + h * 4096 + 4096);
}

std::string vila(const std::string& options) {
  return "torchrun --nproc_per_node 8 llava/train/train_mem.py --data_mixture mix --mm_vision_select_feature "
         "cls_patch " +
         kSizes + "--model_name_or_path Qwen/Qwen2-7B-Instruct " + options;
}

// SigLIP's so400m with all of its layers, at 384 pixels (27 x 27 patches) or 448 (32 x 32), which are filled up to
// 28 x 28 or 33 x 33 before 4 or 9 stand side by side.
TEST_CASE("VILA's program: its projectors, and parts that are trained only where it says so") {
  const auto tower = [](double side) {
    constexpr double h = 1152;
    constexpr double f = 4304;
    return 588 * h + h + side * side * h + 27 * (4 * h * h + 4 * h + 2 * h * f + f + h + 4 * h) + 2 * h;
  };
  constexpr double d = 3584;
  constexpr double four = 4.0 * 1152;
  constexpr double nine = 9.0 * 1152;
  constexpr double three = 3.0 * 1152;
  const std::string all = "--tune_vision_tower True --tune_mm_projector True --tune_language_model True ";
  const ImportedJob merged = script(vila(all + "--mm_projector mlp_downsample"));
  CHECK(merged.complete);
  CHECK(said(merged.draft, "training.frozen").empty());
  CHECK(parameters(merged) == 7615616512.0 + tower(27) + 2 * four + four * d + d + d * d + d);
  CHECK(scenario_of(merged.draft, "hgx-h100", 1).job.model.image_tokens == 14 * 14);
  const ImportedJob large = script(vila(all + "--mm_projector mlp_downsample_3x3_fix --vision_tower "
                                              "Efficient-Large-Model/paligemma-siglip-so400m-patch14-448"));
  CHECK(large.complete);
  CHECK(parameters(large) ==
        7615616512.0 + tower(32) + 2 * nine + nine * three + three + 2 * three + three * d + d + d * d + d);
  CHECK(scenario_of(large.draft, "hgx-h100", 1).job.model.image_tokens == 11 * 11);
  CHECK(said(script(vila("--tune_mm_projector True")).draft, "training.frozen") == "[decoder, tower]");
}

TEST_CASE("what VILA's program does and mirfak does not describe is refused at its place") {
  const auto refused = [](const std::string& options) { return refusal(vila("--tune_mm_projector True " + options)); };
  CHECK(has(refused("--dynamic_s2 True"), "several sizes"));
  CHECK(has(refused("--lora_enable True"), "beside adapters"));
  CHECK(has(refused("--mm_projector mlp_downsample_3x3_s2"), "stands mlp_downsample_3x3_s2"));
  CHECK(has(refused("--seq_parallel_size 4"), "sequences by heads or rings"));
  CHECK(has(refused("--quantize_model fp8Activation_qwen2"), "8 bits"));
  CHECK(has(refused("--vision_tower nvidia/C-RADIOv2-H"), "no sizes are known"));
  CHECK(has(refused("--tune_vision_tower some"), "tune_vision_tower"));
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
  CHECK(has(refusal(llava("Qwen/Qwen3-8B", kClip + "--mm_projector_type identity")), "stands identity"));
  CHECK(has(refusal(llava("google/gemma-2b", kClip)), "gemma-2b, whose layers are others than those of Llama"));
  CHECK(has(refusal(llava("Qwen/Qwen3-8B", kClip + "--moe_enable True")), "mixtures of experts"));
  const ImportedJob adapters = script(llava("Qwen/Qwen3-8B", kClip + "--lora_enable True --lora_r 8"));
  CHECK(said(adapters.draft, "training.lora.rank") == "8");
  CHECK(said(adapters.draft, "training.lora.whole") == "[projector]");
  CHECK(said(adapters.draft, "training.frozen") == "[tower]");
  CHECK(refusal(llava("Qwen/Qwen3-8B", kClip + "--lora_enable False --lora_r 8")).empty());
}

std::string internvl(const std::string& options, const std::string& program = "internvl_chat_finetune.py") {
  return "torchrun --nproc_per_node 8 internvl/train/" + program +
         " --conv_style internvl2_5 --meta_path data.json --bf16 True --force_image_size 448 --down_sample_ratio 0.5 "
         "--per_device_train_batch_size 2 --gradient_accumulation_steps 3 " +
         options;
}

const std::string kInternVl = "--model_name_or_path ./pretrained/InternVL2-8B --max_seq_length 4096 ";

TEST_CASE("InternVL's program: batch, length, recomputation and frozen parts, with its own defaults") {
  const ImportedJob job = script(internvl(kInternVl + "--freeze_backbone True --freeze_llm False --freeze_mlp False"));
  CHECK(job.complete);
  CHECK(parameters(job) == 8075365376);
  CHECK(scenario_of(job.draft, "hgx-h100", 1).job.model.image_tokens == 256);  // of a tile of 32 x 32 patches
  CHECK(said(job.draft, "training.global_batch") == "48");
  CHECK(said(job.draft, "training.sequence_length") == "4096");
  CHECK(said(job.draft, "training.precision") == "bf16");
  CHECK(said(job.draft, "training.frozen") == "[tower]");
  CHECK(said(job.draft, "strategy.recompute") == "full");  // grad_checkpoint is on unless it is said to be off
  const auto recompute = [](const std::string& options) {
    return said(script(internvl(kInternVl + options)).draft, "strategy.recompute");
  };
  CHECK(recompute("--grad_checkpoint False") == "none");
  CHECK(recompute("--grad_checkpoint True --gradient_checkpointing False") == "full");
  CHECK(recompute("--grad_checkpoint False --gradient_checkpointing True") == "full");
  CHECK(said(script(internvl("--model_name_or_path OpenGVLab/InternVL3-2B")).draft, "training.sequence_length") ==
        "8192");
}

TEST_CASE("InternVL's packed sequences are as long as the packing says") {
  const auto length = [](const std::string& options) {
    return said(script(internvl(kInternVl + options)).draft, "training.sequence_length");
  };
  CHECK(length("--use_packed_ds True --max_packed_tokens 16384") == "16384");
  CHECK(length("--use_packed_ds True") == "8192");
  CHECK(length("--use_packed_ds False --max_packed_tokens 16384") == "4096");
  CHECK(has(refusal(internvl(kInternVl + "--use_packed_ds True --max_packed_tokens many")), "max_packed_tokens"));
}

// A tower of 24 layers with biases, or of 45 with norms of all queries and all keys; a class token and its place; no
// norm behind the layers. The projector: a norm of four patches side by side, and two matrices with biases.
TEST_CASE("InternVL's tower and language model that stand apart") {
  const auto tower = [](double h, double f, double layers, double qkv) {
    const double layer = 4 * h * h + h + 2 * h * f + f + h + 2 * h + qkv;  // scales of both branches; norms in qkv
    return 588 * h + h + h + 1025 * h + layers * layer;
  };
  const auto projector = [](double h, double d) { return 8 * h + 4 * h * d + d + d * d + d; };
  const auto count = [](const std::string& vision, const std::string& language) {
    const ImportedJob job = script(internvl("--vision_path ./pretrained/" + vision + " --llm_path " + language +
                                                " --max_seq_length 4096 --freeze_llm True --freeze_backbone True",
                                            "internvl_chat_pretrain.py"));
    CHECK(job.complete);
    CHECK(said(job.draft, "training.frozen") == "[decoder, tower]");
    return parameters(job);
  };
  CHECK(count("InternViT-300M-448px-V2_5", "internlm/internlm2_5-7b-chat") ==
        7737708544 + tower(1024, 4096, 24, 3 * 1024 + 4 * 1024) + projector(1024, 4096));
  CHECK(count("InternViT-6B-448px-V2_5", "./pretrained/internlm2_5-20b-chat") ==
        19861149696 + tower(3200, 12800, 45, 2 * 3200 + 2 * 3200) + projector(3200, 6144));
  CHECK(has(refusal(internvl("--vision_path ./InternViT-1B --llm_path Qwen/Qwen3-8B")), "no sizes are known"));
}

TEST_CASE("InternVL's adapters stand in the language model, and the rest has to be frozen") {
  const std::string rank = kInternVl + "--use_llm_lora 16 --freeze_llm True ";
  const ImportedJob job = script(internvl(rank + "--freeze_backbone True --freeze_mlp True"));
  CHECK(job.complete);
  CHECK(said(job.draft, "training.lora.rank") == "16");
  CHECK(said(job.draft, "training.lora.dropout") == "0.05");
  CHECK(said(job.draft, "training.frozen") == "[projector, tower]");
  CHECK(said(script(internvl(rank + "--freeze_backbone True")).draft, "training.lora.whole") == "[projector]");
  CHECK(said(script(internvl(rank + "--freeze_mlp True")).draft, "training.lora.whole") == "[tower]");
  CHECK(said(script(internvl(rank)).draft, "training.lora.whole") == "[projector, tower]");
  const ImportedJob none = script(internvl(kInternVl + "--use_llm_lora 0"));
  CHECK(none.complete);
  CHECK(said(none.draft, "training.lora").empty());
  CHECK(said(none.draft, "training.frozen").empty());
}

TEST_CASE("InternVL's tuning by preferences: two answers of each sample, and a second model") {
  const ImportedJob job = script(internvl(
      kInternVl + "--loss_type sigmoid,bco_pair --rpo_alpha 1 --freeze_backbone True", "internvl_chat_mpo.py"));
  CHECK(job.complete);
  CHECK(said(job.draft, "training.preferences.answers") == "2");
  CHECK(said(job.draft, "training.preferences.reference") == "model");
  CHECK(said(job.draft, "training.frozen") == "[tower]");
  CHECK(has(refusal(internvl(kInternVl + "--loss_type sigmoid")), "compares or scores answers"));
}

TEST_CASE("what InternVL's program does and mirfak does not describe is refused at its place") {
  const auto refused = [](const std::string& options) { return refusal(internvl(kInternVl + options)); };
  CHECK(has(refused("--use_backbone_lora 8"), "use_backbone_lora"));
  CHECK(has(refused("--unfreeze_vit_layers -4"), "unfreeze_vit_layers"));
  CHECK(has(refused("--force_image_size 224"), "another size"));
  CHECK(has(refused("--down_sample_ratio 1.0"), "other vectors"));
  CHECK(has(refused("--freeze_llm maybe"), "freeze_llm"));
  CHECK(has(refused("--use_llm_lora few"), "'few'"));
  CHECK(has(refusal(internvl("--model_name_or_path Qwen/Qwen3-8B")), "qwen3-8b has none"));
  // The frozen parts stay where the user states the model.
  const ImportedJob own = script(internvl("--model_name_or_path work_dirs/mine --freeze_backbone True"));
  CHECK_FALSE(own.complete);
  CHECK(said(own.draft, "training.frozen") == "[tower]");
}

TEST_CASE("Qwen-VL's program trains what it names, or adapters alone") {
  const auto qwen = [](const std::string& options) {
    return script(
        "torchrun --nproc_per_node 8 qwenvl/train/train_qwen.py --dataset_use d --data_flatten True --max_pixels "
        "50176 --model_name_or_path Qwen/Qwen2.5-VL-3B-Instruct" +
        kSizes + options);
  };
  const ImportedJob job = qwen("--tune_mm_vision False --tune_mm_mlp True --tune_mm_llm True");
  CHECK(job.complete);
  CHECK(said(job.draft, "training.frozen") == "[tower]");
  CHECK(said(job.draft, "training.sequence_length") == "2048");
  CHECK(said(job.draft, "training.global_batch") == "32");
  CHECK(job.draft.notes.empty());
  const ImportedJob projector = qwen("--tune_mm_mlp True");
  CHECK(said(projector.draft, "training.frozen") == "[decoder, tower]");
  REQUIRE(projector.draft.notes.size() == 1);
  CHECK(has(projector.draft.notes.front().reason, "a head of its own"));
  CHECK(has(refusal("torchrun --nproc_per_node 8 qwenvl/train/train_qwen.py --tune_mm_llm True --model_name_or_path "
                    "Qwen/Qwen3-8B" +
                    kSizes),
            "qwen3-8b has none"));
  const ImportedJob adapters = qwen("--lora_enable True --lora_r 8 --tune_mm_vision True");
  CHECK(adapters.complete);
  CHECK(said(adapters.draft, "training.frozen") == "[projector, tower]");
  CHECK(said(adapters.draft, "training.lora.rank") == "8");
  CHECK(said(adapters.draft, "training.lora.targets") == "[proj, qkv]");
}

TEST_CASE("MiniCPM-V's program: the resampler is trained in any case") {
  const auto minicpm = [](const std::string& options) {
    return "torchrun --nproc_per_node 8 finetune.py --llm_type qwen --max_slice_nums 9 --bf16 true "
           "--per_device_train_batch_size 1 --model_name_or_path openbmb/MiniCPM-V-2_6 " +
           options;
  };
  const ImportedJob job = script(minicpm("--tune_llm false"));
  CHECK(job.complete);
  CHECK(said(job.draft, "training.frozen") == "[decoder]");
  CHECK(said(job.draft, "training.sequence_length") == "2048");
  CHECK(parameters(job) == 8099175152);
  CHECK(scenario_of(job.draft, "hgx-h100", 1).job.model.image_tokens == 64);
  CHECK(said(script(minicpm("--tune_vision false --tune_llm true")).draft, "training.frozen") == "[tower]");
  CHECK(said(script(minicpm("--tune_llm false --use_lora true")).draft, "training.lora.whole") ==
        "[embedding, projector, tower]");
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
