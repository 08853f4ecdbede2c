// config.json of published models against Transformers' own counts of their parameters. They are no part of the
// project: without them beside the source tree this case only says so.
#include "base/csv.hpp"
#include "model/hugging_face.hpp"
#include "model/model_loader.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

using namespace mirfak;

TEST_CASE("config.json of published models: the parameters that Transformers counts") {
  const std::filesystem::path folder = source_root() + "/../shared/hf-configs";
  if (!std::filesystem::exists(folder / "expected.csv")) {
    MESSAGE("skipped: no ../shared/hf-configs");
    return;
  }
  const std::filesystem::path models = source_root() + "/models";
  const CsvTable table = CsvTable::from_file(folder / "expected.csv");
  const std::size_t files = table.require("file");
  const std::size_t parameters = table.require("parameters");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string file = table.text(row, files);
    CAPTURE(file);
    const Document document = Document::from_file(folder / file);
    const double total = count_parameters(parse_model(document, models)).total;
    CHECK(total == table.number(row, parameters, 0, 1e15));
  }
}
