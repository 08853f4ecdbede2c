#include "base/csv.hpp"
#include "report/difference_report.hpp"

#include <fmt/format.h>

namespace mirfak {

namespace {

std::string number_field(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }

std::string difference_row(const std::string& section, const std::string& name, const std::optional<double>& a,
                           const std::optional<double>& b) {
  const std::optional<double> difference = a && b ? std::optional(*b - *a) : std::nullopt;
  return fmt::format("{},{},{},{},{}\n", section, csv_field(name), number_field(a), number_field(b),
                     number_field(difference));
}

std::string figure_rows(const std::string& section, const std::vector<ComparedFigure>& figures) {
  std::string out;
  for (const ComparedFigure& figure : figures) out += difference_row(section, figure.key, figure.a, figure.b);
  return out;
}

std::string kernel_rows(const std::string& section, const std::vector<ComparedKernel>& kernels) {
  std::string out;
  for (const ComparedKernel& kernel : kernels) {
    const auto seconds = [](const std::optional<KernelSeconds>& of) {
      return of ? std::optional(of->seconds) : std::nullopt;
    };
    out += difference_row(section, kernel.name, seconds(kernel.a), seconds(kernel.b));
  }
  return out;
}

std::string stage_rows(const ComparedStage& stage) {
  std::string out;
  const auto add = [&](const char* part, double StageSeconds::*seconds) {
    const auto of = [seconds](const std::optional<StageSeconds>& side) {
      return side ? std::optional((*side).*seconds) : std::nullopt;
    };
    out += difference_row(fmt::format("stage {}", stage.stage), part, of(stage.a), of(stage.b));
  };
  add("compute_s", &StageSeconds::compute);
  add("communication_s", &StageSeconds::communication);
  add("host_s", &StageSeconds::host);
  add("bubble_s", &StageSeconds::bubble);
  return out;
}

}  // namespace

std::string difference_csv(const ResultDifference& difference) {
  std::string out = "section,name,a,b,difference\n";
  out += figure_rows("figures", difference.figures) + figure_rows("activities", difference.activities);
  for (const ComparedStage& stage : difference.stages) out += stage_rows(stage);
  return out + kernel_rows("kernels_s", difference.kernels) + kernel_rows("communication_s", difference.communication) +
         figure_rows("memory", difference.memory);
}

}  // namespace mirfak
