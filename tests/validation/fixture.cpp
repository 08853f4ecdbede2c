#include "fixture.hpp"

#include "scenario/scenario.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace mirfak::test {

DataFolders folders() {
  const std::string source = source_root();
  return {source + "/models", source + "/hw_profiles"};
}

const RunMappings& mappings() {
  static const RunMappings all =
      RunMappings::from_folder(std::filesystem::path(source_root()) / "validate" / "published");
  return all;
}

CsvTable table(const std::string& text) { return CsvTable::from_text(text, "runs.csv"); }

std::vector<ValidatedRun> read(const std::string& text) { return read_runs(table(text), mappings(), folders()); }

ValidatedRun row_with(const std::vector<Cell>& cells) {
  std::vector<Cell> all = {{"model", "GPT 22B"},
                           {"n_layers", "48"},
                           {"hidden", "6144"},
                           {"n_heads", "64"},
                           {"vocab", "51200"},
                           {"seq_len", "2048"},
                           {"gpu", "A100-80GB"},
                           {"n_gpus", "8"},
                           {"tp", "8"},
                           {"micro_batch", "4"},
                           {"global_batch", "4"},
                           {"dtype", "fp16"},
                           {"recompute", "full"},
                           {"flags", "Megatron-LM (2021)"},
                           {"s_per_iter_derived", "1.42"}};
  for (const Cell& cell : cells) {
    const auto known =
        std::find_if(all.begin(), all.end(), [&](const Cell& each) { return each.column == cell.column; });
    if (known == all.end()) {
      all.push_back(cell);
    } else {
      known->text = cell.text;
    }
  }
  std::string header;
  std::string row;
  for (const Cell& cell : all) {
    header += (header.empty() ? "" : ",") + cell.column;
    row += (&cell == &all.front() ? "" : ",") + csv_field(cell.text);
  }
  return read(header + "\n" + row + "\n").front();
}

Job job_of(const ValidatedRun& run) {
  REQUIRE_MESSAGE(run.skipped.empty(), run.skipped);
  return parse_scenario(Document::from_text(run.scenario, "row"), folders()).job;
}

}  // namespace mirfak::test
