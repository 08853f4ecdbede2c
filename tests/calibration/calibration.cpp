#include "calibration/calibration.hpp"

#include "base/error.hpp"
#include "calibration/profile_update.hpp"
#include "calibration/table_columns.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <fmt/format.h>

#include <doctest/doctest.h>

#include <fstream>

namespace calibration_test {

using namespace mirfak;

namespace {

const Catalog& catalog() {
  static const Catalog catalog(source_root() + "/hw_profiles");
  return catalog;
}

CalibrationTarget target() { return {catalog(), "a100-80g", {}, Precision::bf16, {}, {}, false}; }

// Products of a GPU that takes 10 us and reaches 200 TFLOP/s, whatever the shape.
std::string gemm_table() {
  std::string out = "gpu,m,n,k,latency_us\n";
  for (const int m : {256, 1024, 2048, 4096, 8192}) {
    for (const int n : {1024, 2048, 3072, 4096, 8192, 12288}) {
      for (const int k : {2048, 4096, 8192}) {
        out += fmt::format("A,{},{},{},{}\n", m, n, k, 10 + 2.0 * m * n * k / 200e6);
        out += fmt::format("B,{},{},{},{}\n", m, n, k, 1000 + 2.0 * m * n * k / 20e6);
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("a table that nobody recognises is refused with the headers that are known") {
  CHECK_THROWS_WITH_AS(calibrate({CsvTable::from_text("a,b\n1,2\n", "odd.csv")}, target()),
                       doctest::Contains("latency_us"), Error);
}

TEST_CASE("a table of products without a GPU is refused") {
  CalibrationTarget nobody = target();
  nobody.gpu.clear();
  CHECK_THROWS_WITH_AS(calibrate({CsvTable::from_text(gemm_table(), "t.csv")}, nobody), doctest::Contains("--gpu"),
                       Error);
}

TEST_CASE("rows that are filtered out have no part in the fit") {
  CalibrationTarget only_a = target();
  only_a.filters = {{"gpu", "A"}};
  const std::vector<FittedSection> sections = calibrate({CsvTable::from_text(gemm_table(), "t.csv")}, only_a);
  REQUIRE(sections.size() == 1);
  const FitScore& score = sections[0].scores.front();
  CHECK(score.fitted.count + score.held_out.count == 5 * 6 * 3);
  CHECK(score.held_out.median_ape < 0.1);
}

TEST_CASE("a field that is no size is named with its place") {
  CHECK_THROWS_WITH_AS(calibrate({CsvTable::from_text("m,n,k,latency_us\n1,2,x,4\n", "t.csv")}, target()),
                       doctest::Contains("t.csv:2:5"), Error);
}

TEST_CASE("a misspelt column is refused at its place, with the column that it is near to") {
  const auto refused = [](const std::string& header, const std::string& said) {
    CAPTURE(header);
    const std::string text = header + "\n";
    CHECK_THROWS_WITH_AS(kind_of(CsvTable::from_text(text, "t.csv")), doctest::Contains(said.c_str()), Error);
  };
  refused("gpu,m,n,k,latencyus", "t.csv:1:11: unknown column 'latencyus'\n  did you mean 'latency_us'?");
  refused("kernel,byte,time_us", "t.csv:1:8: unknown column 'byte'\n  did you mean 'bytes'?");
  refused("collectiv,n_gpus,n_nodes,bytes,time_us", "t.csv:1:1: unknown column 'collectiv'");
  refused("kernel,clock_hz,clock_st,power_w", "t.csv:1:17: unknown column 'clock_st'");
  refused("batch,seq,heads,kv_heads,head_dim,latency_us,windw",
          "t.csv:1:46: unknown column 'windw'\n  did you mean 'window'?");
  refused("batch,seq,heads,kv_heads,head_dim,latency_us,casual", "did you mean 'causal'?");
  refused("collective,n_gpus,n_nodes,bytes,time_us,nccl_verison", "did you mean 'nccl_version'?");
  refused("m,n,k", "the table has no column");
  refused("kernel,clock_hz,clock_set", "the table has no column power_w");
}

TEST_CASE("columns that are not read are listed with their places") {
  const std::vector<CsvTable> tables = {
      CsvTable::from_text("gpu,m,n,k,latency_us,tflops,source\nA,1,2,3,4,5,x\n", "t.csv")};
  const std::vector<UnreadColumn> all = unread_columns(tables, {});
  REQUIRE(all.size() == 2);
  CHECK(all[0].where.text() == "t.csv:1:1");
  CHECK(all[0].name == "gpu");
  CHECK(all[1].where.text() == "t.csv:1:29");
  const std::vector<RowFilter> filters = {{"gpu", "A"}};
  CHECK(unread_columns(tables, filters).size() == 1);
}

TEST_CASE("a batch of products counts by either name") {
  const auto seconds = [](const char* header) {
    const CsvTable table = CsvTable::from_text(std::string(header) + "\n8,64,64,64,100\n", "t.csv");
    return calibrate({table}, {catalog(), "a100-80g", {}, Precision::bf16, {}, {}, true}).front().scores[0];
  };
  CHECK(seconds("b,m,n,k,latency_us").fitted.mape + seconds("b,m,n,k,latency_us").held_out.mape ==
        seconds("B,m,n,k,latency_us").fitted.mape + seconds("B,m,n,k,latency_us").held_out.mape);
}

TEST_CASE("a time that the hardware cannot reach is refused at its field") {
  const auto refused = [](const std::string& text, const CalibrationTarget& of, const std::string& said) {
    CHECK_THROWS_WITH_AS(calibrate({CsvTable::from_text(text, "t.csv")}, of), doctest::Contains(said.c_str()), Error);
  };
  // 2 x 8192^3 FLOP at 312 TFLOP/s take 3524 us; a table in milliseconds says 4.
  refused("m,n,k,latency_us\n8192,8192,8192,4\n", target(), "t.csv:2:16: latency_us: 4.00 us is 881 times as fast");
  refused("m,n,k,tflops\n8192,8192,8192,400\n", target(), "a100-80g's peak of 312 TFLOP/s in bf16");
  refused("kernel,bytes,time_us\nsoftmax,2e9,500\n", target(), "t.csv:2:13: time_us");
  refused("batch,seq,heads,kv_heads,head_dim,latency_us\n1,8192,64,64,128,100\n", target(), "t.csv:2:");
  CalibrationTarget link = target();
  link.link = "nvlink3";
  refused("collective,n_gpus,n_nodes,bytes,time_us\nsendrecv,2,1,1e9,100\n", link, "nvlink3's bandwidth");
}

TEST_CASE("a collective by a name that nccl-tests has not is refused") {
  CalibrationTarget link = target();
  link.link = "nvlink3";
  const CsvTable table =
      CsvTable::from_text("collective,n_gpus,n_nodes,bytes,time_us\nall_gahter,8,1,1e6,100\n", "t.csv");
  CHECK_THROWS_WITH_AS(calibrate({table}, link), doctest::Contains("t.csv:2:1: collective: 'all_gahter'"), Error);
}

TEST_CASE("tables of which no row counts are refused") {
  CalibrationTarget link = target();
  link.link = "nvlink3";
  const std::string text = "collective,n_gpus,n_nodes,bytes,time_us\nall_reduce,16,2,1e6,100\n";
  CHECK_THROWS_WITH_AS(calibrate({CsvTable::from_text(text, "t.csv")}, link), doctest::Contains("no row"), Error);
  CalibrationTarget scored = target();
  scored.score_only = true;
  scored.filters = {{"gpu", "C"}};
  CHECK_THROWS_WITH_AS(calibrate({CsvTable::from_text(gemm_table(), "t.csv")}, scored), doctest::Contains("no row"),
                       Error);
}

namespace {

FittedSection section_of(std::vector<std::string> path, std::vector<FittedConstant> constants, double error) {
  FittedSection out;
  out.path = std::move(path);
  out.constants = std::move(constants);
  out.source = "a fit";
  out.source_key = "fitted";
  out.scores = {{"all", {100, error, error, error, 0, 0}, {50, error, error, error, 0, 0}}};
  return out;
}

}  // namespace

TEST_CASE("a profile that its reader would refuse is not written") {
  const ScratchFolder folder;
  const auto refused = [&](const std::vector<FittedSection>& sections, const std::string& said) {
    CAPTURE(said);
    CHECK_THROWS_WITH_AS(update_profile(folder / "p.yaml", sections, target()), doctest::Contains(said.c_str()), Error);
    CHECK(folder.files().empty());
  };
  refused({section_of({"clock_power"}, {{"static_share", 0.3}, {"exponent", 11}}, 0.01)}, "exponent");
  refused({section_of({}, {{"idle_w", 450}}, 0.01)}, "idle_w and blocked_w");
  refused({section_of({"clock_pwer"}, {{"static_share", 0.3}}, 0.01)}, "clock_pwer");
  refused({section_of({"clock_power"}, {{"static_share", 0.3}, {"exponent", 3}}, 0.6)},
          "clock_power: the fit is off by 60.0 % in the median");
  FittedSection of_link = section_of({"protocols"}, {}, 0.01);
  of_link.profile = ProfileKind::link;
  refused({section_of({"clock_power"}, {{"static_share", 0.3}, {"exponent", 3}}, 0.01), of_link},
          "of a GPU and of a link");
}

TEST_CASE("a new profile is a whole one, and an old one keeps its text where it is refused") {
  const ScratchFolder folder;
  const std::vector<FittedSection> good = {
      section_of({"clock_power"}, {{"static_share", 0.25}, {"exponent", 3.5}}, 0.01)};
  update_profile(folder / "p.yaml", good, target());
  const GpuSpec read = catalog().gpu((folder / "p.yaml").string());
  CHECK(read.clock_power.static_share.value == 0.25);
  CHECK(read.peak_flops.at(Precision::bf16).value == catalog().gpu("a100-80g").peak_flops.at(Precision::bf16).value);
  const std::string before = read_text_file(folder / "p.yaml");
  CHECK_THROWS_AS(update_profile(folder / "p.yaml", {section_of({}, {{"idle_w", 450}}, 0.01)}, target()), Error);
  CHECK(read_text_file(folder / "p.yaml") == before);
  std::ofstream(folder / "no.yaml") << "title: none\n";
  CHECK_THROWS_WITH_AS(update_profile(folder / "no.yaml", good, target()), doctest::Contains("no.yaml:"), Error);
}

}  // namespace calibration_test
