#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// The lines of a training program's log, as hw_profiles/launch/logs.yaml describes them. Plain data. All texts are
// looked for as they stand, capital and small letters apart.

// A line that states one fact on the job.
struct LogFact {
  std::string setting;               // alternatively, an option of the program's table of arguments
  std::string in;                    // text by which the line is known
  std::string after;                 // text in front of the value, after `in` begins
  std::string until;                 // text behind a word; "": the value is a number
  std::vector<std::string> product;  // texts in front of several numbers, which are multiplied
  std::string key;  // key of the scenario, or of the machine: "gpus" (all of the job), "gpu" (name of the GPU)
  std::map<std::string, std::string> words;  // the program's words for values of the key; empty: the word itself
};

// A unit in which programs state how long a step takes.
enum class LogUnit : std::uint8_t {
  seconds,
  milliseconds,
  samples_per_second,         // sequences of the global batch
  tokens_per_second_per_gpu,  // of the global batch, over all GPUs
  steps_per_second,           // mean of the whole run
  elapsed,                    // seconds since the run began, in whole seconds
};

// A line that states how long steps take.
struct LogTime {
  std::vector<std::string> in;  // texts by which the line is known, all of them
  std::string without;          // text that the line does not have; "": none
  std::string step;             // text in front of the number that grows from step to step; "": none
  std::string batch;            // text in front of the step's global batch; "": none
  LogUnit unit = LogUnit::seconds;
  std::string value;  // text in front of the time; "" for a progress bar: "120/500 [10:02<31:46, 5.02s/it]"
};

struct LogFormat {
  std::string program;
  std::string reader;               // reader of the program's settings, if a log has all of them; "": none
  std::vector<std::string> tells;   // texts of which a log has one; empty: the lines below are enough
  std::vector<std::string> begins;  // texts at which a run begins, or begins again
  std::string table_begin, table_end;
  std::string json;  // text in front of all settings as JSON
  std::vector<LogFact> facts;
  std::vector<LogTime> times;
};

struct LogFormats {
  std::vector<std::string> ranks;  // marks of a process in front of its lines; {n} stands for its rank
  std::vector<LogFormat> programs;
};

// Reads logs.yaml. Error(input) at a place that does not follow hw_profiles/launch/README.md.
LogFormats log_formats(const std::filesystem::path& hardware);

// Returns the number behind the first `text` in a line: "1,234", "5.02", "1e-3", with blanks, quotes and a colon in
// front of it or without. `at`: becomes its first character. nullopt: there is none.
std::optional<double> number_behind(std::string_view line, std::string_view text, std::size_t* at = nullptr);

}  // namespace mirfak
