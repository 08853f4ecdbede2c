// Logs by the formats that programs print: what is read as settings, what as times, and what is noted.

#include "import/log_import.hpp"
#include "import/training_log.hpp"
#include "launch_files.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace training_logs_test {

using namespace mirfak;

namespace {

std::string megatron_time(int iteration, double milliseconds, int batch = 256) {
  return fmt::format(
      " [2026-08-22 12:00:00.000000] iteration {:8d}/     100 | consumed samples: {:12d} | elapsed time per iteration "
      "(ms): {:.1f} | throughput per GPU (TFLOP/s/GPU): 400.1 | learning rate: 1.000000E-04 | global batch size: {:5d} "
      "| lm loss: 1.0E+00 |\n",
      iteration, iteration * 256, milliseconds, batch);
}

std::string megatron_table(int tensor = 2) {
  std::string out = "------------------------ arguments ------------------------\n";
  const std::vector<std::pair<std::string, std::string>> arguments = {
      {"adam_beta1", "0.9"},
      {"add_bias_linear", "False"},
      {"bf16", "True"},
      {"fp8", "None"},
      {"global_batch_size", "256"},
      {"hidden_size", "4096"},
      {"micro_batch_size", "1"},
      {"moe_router_topk", "2"},
      {"normalization", "RMSNorm"},
      {"num_attention_heads", "32"},
      {"num_experts", "None"},
      {"num_layers", "32"},
      {"padded_vocab_size", "128256"},
      {"seq_length", "8192"},
      {"swiglu", "True"},
      {"tensor_model_parallel_size", std::to_string(tensor)},
      {"world_size", "64"}};
  for (const auto& [name, value] : arguments)
    out += fmt::format("  {} {} {}\n", name, std::string(48 - name.size(), '.'), value);
  return out + "-------------------- end of arguments ---------------------\n";
}

LoggedRun run_of(const std::string& text, std::optional<int> run = {}) {
  const ImportFile file{"train.log", text};
  ImportContext context{import_sources()};
  context.run = run;
  return read_logged_run({&file, 1}, context);
}

MeasuredSteps steps_in(const LoggedRun& run) { return steps_of(run, sizes_of(run), "train.log"); }

bool notes(const LoggedRun& run, const std::string& text) {
  return std::any_of(run.draft.notes.begin(), run.draft.notes.end(),
                     [&](const ImportObstacle& note) { return note.reason.find(text) != std::string::npos; });
}

std::string refusal_of(const std::string& text) {
  try {
    steps_in(run_of(text));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.message();
  }
  return "";
}

std::string titan_time(int step, const std::string& tps, const std::string& rank = "") {
  return fmt::format(
      "{}[titan] 2026-01-01 10:00:00,000 - root - INFO - \x1b[31mstep: {:2}  \x1b[32mloss:  8.00000  "
      "\x1b[38;2;180;60;0mgrad_norm:  2.5000  \x1b[38;2;54;234;195mmemory: 45.10GiB(57.02%)  \x1b[34mtps: {}  "
      "\x1b[36mtflops: 300.12  \x1b[35mmfu: 30.30%\x1b[39m\n",
      rank, step, tps);
}

}  // namespace

TEST_CASE("Megatron-LM's table is read as its arguments are, and the median leaves warm-up out") {
  std::string text = megatron_table() + megatron_time(10, 9500);
  for (int i = 2; i <= 6; ++i) text += megatron_time(10 * i, 8000 + i);
  const LoggedRun run = run_of(text);
  CHECK(run.whole);
  CHECK(run.gpus == 64);
  CHECK(said(run.draft, "strategy.tensor") == "2");
  CHECK(said(run.draft, "model.linear_bias") == "false");
  CHECK(said(run.draft, "model.experts").empty());  // moe_router_topk has a value, and there are no experts
  CHECK(said(run.draft, "training.global_batch") == "256");
  const MeasuredSteps steps = steps_in(run);
  CHECK(steps.seconds == doctest::Approx(8.004));  // 8.002 to 8.006; 9.5 is the first time
  CHECK(steps.used == 5);
  CHECK(steps.warm_up == 1);
  CHECK(steps.first.line == 21);
  CHECK(keys_not_stated(run).empty());
}

TEST_CASE("every argument of a table has a verdict at its place") {
  const LoggedRun run = run_of(megatron_table() + megatron_time(10, 8000));
  for (const ImportLine& line : run.draft.lines()) {
    CAPTURE(line.text);
    CHECK((line.verdict != Verdict::unknown || !line.reason.empty()));
    CHECK((line.verdict == Verdict::assumed || line.where.line > 1));
  }
}

TEST_CASE("a ramp of the global batch leaves other batches out") {
  const LoggedRun run = run_of(megatron_table() + megatron_time(1, 1000, 64) + megatron_time(2, 1000, 64) +
                               megatron_time(3, 9000) + megatron_time(4, 8000) + megatron_time(5, 8000));
  const MeasuredSteps steps = steps_in(run);
  CHECK(steps.other_batches == 2);
  CHECK(steps.seconds == doctest::Approx(8.0));
}

TEST_CASE("a restart is the same run, and another table another run") {
  const std::string first = megatron_table() + megatron_time(10, 9000) + megatron_time(20, 8000);
  const LoggedRun same = run_of(first + megatron_table() + megatron_time(15, 9000) + megatron_time(25, 8100));
  CHECK(same.parts.size() == 2);
  CHECK(notes(same, "starts again"));
  CHECK(steps_in(same).seconds == doctest::Approx(8.05));  // the first time of each start is left out
  const std::string two = first + megatron_table(4) + megatron_time(10, 9000) + megatron_time(20, 6000);
  CHECK(refusal_of(two) == "the log has 2 runs of different settings, which begin at train.log:1:1, train.log:22:1");
  CHECK(steps_in(run_of(two, 2)).seconds == doctest::Approx(6.0));
  CHECK(said(run_of(two, 1).draft, "strategy.tensor") == "2");
  CHECK_THROWS_AS(run_of(two, 3), Error);
}

TEST_CASE("a log that is cut off is read as far as it goes") {
  const std::string times = megatron_table() + megatron_time(10, 9000) + megatron_time(20, 8000);
  const LoggedRun line = run_of(times + megatron_time(30, 12345.6).substr(0, 130));  // ends within the time
  CHECK(steps_in(line).seconds == doctest::Approx(8.0));
  CHECK(notes(line, "the last line has no end"));
  const std::string table = megatron_table();
  const LoggedRun half = run_of(times + table.substr(0, table.find("num_layers")) + "\n");
  CHECK(steps_in(half).seconds == doctest::Approx(8.0));
  CHECK(notes(half, "the table of settings has no end"));
}

TEST_CASE("of lines of several ranks, with colours, those of one rank count") {
  std::string text =
      "[rank1]:[titan] 2026-01-01 10:00:00,000 - root - INFO - Building device mesh with parallelism: pp=1, "
      "dp_replicate=1, dp_shard=8, cp=1, tp=2, ep=1\n"
      "[rank1]:[titan] 2026-01-01 10:00:00,000 - root - INFO - CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB "
      "memory\n"
      "[rank1]:[titan] 2026-01-01 10:00:00,000 - root - INFO - Trainer is initialized with local batch size 1, global "
      "batch size 8, gradient accumulation steps 1, sequence length 8192, total steps 1000 (warmup 200)\n";
  for (const auto& [step, tps] : {std::pair{1, "900"}, {10, "4,096"}, {20, "4,096"}, {30, "4,096"}}) {
    text += titan_time(step, tps, "[rank1]:") + titan_time(step, "1", "[rank0]:");
  }
  text += "[rank1]:[titan] - validate step: 30  loss:  7.0000  memory: 45.10GiB(57.02%)  tps: 9,999\n";
  const LoggedRun run = run_of(text);
  CHECK(run.gpus == 16);
  CHECK(run.gpu == "NVIDIA H100 80GB HBM3");
  CHECK(run.draft.machine.nodes == 2);
  CHECK(said(run.draft, "strategy.tensor") == "2");
  CHECK(notes(run, "times of 1 other rank are not read"));
  // 8 sequences of 8192 tokens by 16 GPUs of 4096 tokens a second.
  CHECK(steps_in(run).seconds == doctest::Approx(1.0));
  CHECK(steps_in(run).used == 3);
  CHECK(keys_not_stated(run) ==
        std::vector<std::string>{"model", "training.precision", "training.framework", "strategy.micro_batch"});
}

TEST_CASE("torchtitan's settings as JSON stand at their places") {
  const std::string text =
      "[titan] 2026 - root - INFO - Running with configs: {\n"
      "  \"model\": {\"name\": \"llama3\", \"flavor\": \"8B\"},\n"
      "  \"training\": {\"local_batch_size\": 2, \"seq_len\": 4096, \"global_batch_size\": 64},\n"
      "  \"parallelism\": {\"data_parallel_shard_degree\": 8}\n"
      "}\n" +
      titan_time(1, "5,000") + titan_time(2, "5,000");
  const LoggedRun run = run_of(text);
  CHECK(run.whole);
  CHECK(said(run.draft, "training.sequence_length") == "4096");
  CHECK(run.draft.origins().at("training.sequence_length").starts_with("train.log:3:"));
  const LoggedRun half = run_of(text + "Running with configs: {\n  \"model\": {\n");
  CHECK(said(half.draft, "training.sequence_length") == "4096");
  CHECK(notes(half, "the settings have no end"));
}

TEST_CASE("torchtitan 0.3.0 names its model by a specification, and recomputation by its fields") {
  const auto log = [](const std::string& recompute) {
    return "[titan] 2026 - root - INFO - Running with configs: {\n"
           "  \"model_spec\": {\"name\": \"llama3\", \"flavor\": \"8B\", \"model\": {\"dim\": 4096, \"layers\": "
           "[{}]}},\n"
           "  \"training\": {\"local_batch_size\": 1, \"seq_len\": 8192, \"global_batch_size\": 64},\n"
           "  \"parallelism\": {\"data_parallel_shard_degree\": 64},\n"
           "  \"activation_checkpoint\": " +
           recompute + "\n}\n" + titan_time(1, "5,000") + titan_time(2, "5,000");
  };
  const LoggedRun selective = run_of(log("{\"preserve_rng_state\": true, \"force_recompute_mm_shapes_by_fqns\": []}"));
  CHECK(said(selective.draft, "model").find("llama3-8b") != std::string::npos);
  CHECK(said(selective.draft, "strategy.recompute_modules") == "[op]");
  CHECK(said(run_of(log("{\"preserve_rng_state\": true}")).draft, "strategy.recompute") == "full");
  CHECK(said(run_of(log("null")).draft, "strategy.recompute") == "none");
}

TEST_CASE("MLPerf's lines state the job and its steps, and no layout") {
  const auto line = [](const std::string& key, const std::string& value, const std::string& metadata) {
    return fmt::format(
        ":::MLLOG {{\"namespace\": \"\", \"time_ms\": 1, \"event_type\": \"POINT_IN_TIME\", \"key\": \"{}\", "
        "\"value\": {}, "
        "\"metadata\": {{\"file\": \"p.py\", \"lineno\": 1{}}}}}\n",
        key, value, metadata);
  };
  std::string text = line("submission_benchmark", "\"llama31_8b\"", "") +
                     line("submission_platform", "\"18xNVIDIA GB200\"", "") + line("global_batch_size", "72", "") +
                     line("max_sequence_length", "8192", "");
  for (const auto& [seconds, samples] : {std::pair{0.014, 0}, {0.199, 72}, {0.198, 144}, {0.2, 216}}) {
    text += line("tracked_stats", fmt::format("{{\"train_step_time\": {}, \"reduced_train_loss\": 8.1}}", seconds),
                 fmt::format(", \"samples_count\": {}", samples));
  }
  text += line("tracked_stats", "{\"train_step_time\": 0.19}", ", \"samples_count\": 10");  // mean of a block
  const LoggedRun run = run_of(text);
  CHECK(run.program == "MLPerf");
  CHECK(said(run.draft, "model") == "llama3-8b");
  CHECK(said(run.draft, "training.global_batch") == "72");
  CHECK(run.gpu == "NVIDIA GB200");
  CHECK(steps_in(run).seconds == doctest::Approx(0.199));
  CHECK(steps_in(run).used == 3);
  CHECK(keys_not_stated(run).size() == 6);
}

TEST_CASE("DeepSpeed states rates of the global batch, and its settings as JSON") {
  const std::string settings =
      "[2026-01-01 10:00:00,000] [INFO] [config.py:1001:print] DeepSpeedEngine configuration:\n"
      "[2026-01-01 10:00:00,000] [INFO] [config.py:989:print_user_config]   json = {\n"
      "    \"train_batch_size\": 64, \n    \"zero_optimization\": {\n        \"stage\": 3\n    }\n}\n";
  std::string times;
  for (const auto& [step, rate] : {std::pair{10, 20.0}, {20, 32.0}, {30, 32.0}, {40, 32.0}}) {
    times += fmt::format(
        "[2026] [INFO] [timer.py:264:stop] epoch=0/micro_step=1/global_step={}, "
        "RunningAvgSamplesPerSec=30.1, CurrSamplesPerSec={}, MemAllocated=10.1GB\n",
        step, rate);
  }
  const LoggedRun run = run_of(settings + times);
  CHECK(said(run.draft, "strategy.zero") == "3");
  CHECK(steps_in(run).seconds == doctest::Approx(2.0));  // 64 sequences at 32 a second
  CHECK(refusal_of(times).find("training.global_batch") != std::string::npos);
}

TEST_CASE("the Trainer's progress bar is a clock of whole seconds") {
  std::string text =
      "***** Running training *****\n  Total train batch size (w. parallel, distributed & accumulation) = 1,024\n";
  for (int step = 0; step <= 100; step += 10) {
    const int clock = step == 0 ? 0 : 30 + 5 * step;  // the first steps take 30 s more
    text += fmt::format("\r {}%|###   | {}/100 [{:02}:{:02}<15:50,  5.00s/it]", step, step, clock / 60, clock % 60);
    text += "\r 10%|#    | 5/50 [00:01<00:09,  1.00it/s]";  // an evaluation
  }
  text += "\n{'train_runtime': 530.0, 'train_steps_per_second': 0.1, 'epoch': 1.0}\n";
  const MeasuredSteps steps = steps_in(run_of(text));
  CHECK(steps.seconds == doctest::Approx(5.0));  // 450 s in 90 steps
  CHECK(steps.low_s == doctest::Approx(449.0 / 90));
  CHECK(steps.warm_up == 10);
  const MeasuredSteps whole =
      steps_in(run_of("{\"epoch\": 1.0, \"log_history\": [{\"train_steps_per_second\": 0.25}]}\n"));
  CHECK(whole.seconds == doctest::Approx(4.0));
  CHECK(whole.basis.starts_with("mean of the whole run"));
}

TEST_CASE("NeMo's lines state the seconds of a step") {
  std::string text;
  for (const auto& [step, seconds] : {std::pair{0, 7.126}, {1, 2.5}, {2, 2.5}, {3, 2.5}}) {
    text += fmt::format(
        "Training epoch 0, iteration {}/249 | lr: 1.961e-06 | global_batch_size: 8 | global_step: {} | "
        "reduced_train_loss: 1.315 | train_step_timing in s: {}\n",
        step, step, seconds);
  }
  const LoggedRun run = run_of(text);
  CHECK(run.program == "NeMo");
  CHECK(said(run.draft, "training.global_batch") == "8");
  CHECK(steps_in(run).seconds == doctest::Approx(2.5));
}

TEST_CASE("other files are no logs") {
  const auto& hardware = import_sources().folders.hardware;
  for (const char* text : {"", "torchrun train.py --micro-batch-size 2\n", "model: llama3-8b\ncluster: {}\n",
                           "{\"train_batch_size\": 64, \"zero_optimization\": {\"stage\": 3}}\n",
                           "grep 'elapsed time per iteration (ms):' train.log\n", "10/20 [00:10<00:10, 1.0s/it]\n"}) {
    CAPTURE(text);
    CHECK_FALSE(is_training_log({"file", text}, hardware));
  }
}

TEST_CASE("numbers behind a text are read as programs write them") {
  CHECK(number_behind("tps: 1,234  tflops", "tps:") == 1234);
  CHECK(number_behind("'train_steps_per_second': '1.5',", "train_steps_per_second") == 1.5);
  CHECK(number_behind("batch = 12,345,678", "batch =") == 12345678);
  CHECK(number_behind("a: 1,2", "a:") == 1);
  CHECK(number_behind("lr: 1e-05 |", "lr:") == 1e-05);
  CHECK_FALSE(number_behind("lr: none", "lr:"));
  CHECK_FALSE(number_behind("lr:", "lr:"));
}

}  // namespace training_logs_test
