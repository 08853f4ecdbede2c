#include "report/document_report.hpp"

#include "base/units.hpp"
#include "simulation/document_contexts.hpp"

#include <fmt/format.h>

namespace mirfak {

Table documents_table(const Simulation& simulation) {
  const DocumentContexts& contexts = *simulation.contexts;
  const double ranks = contexts.job.strategy.replicas();
  Table table(
      ">tokens:tokens | >ranks:ranks | >documents:documents | >forward and backward:seconds | >context "
      "exchanges:context_s | "
      ">of all passes:share | >memory:memory_peak_bytes");
  for (const DocumentFigures& of : contexts.shapes) {
    const double all = of.seconds * static_cast<double>(of.documents) * of.shape.ranks / ranks;
    const double exchanges = of.activity_s[static_cast<std::size_t>(Activity::context_communication)];
    table.add({of.shape.tokens, of.shape.ranks, of.documents, in_seconds(of.seconds), in_seconds(exchanges),
               in_percent(all / contexts.mean_s), in_bytes(of.memory_peak_bytes)});
  }
  return table;
}

std::optional<Section> documents_section(const Simulation& simulation, std::size_t most) {
  if (!simulation.contexts) return std::nullopt;
  const DocumentContexts& contexts = *simulation.contexts;
  Section out = {fmt::format("Documents on as many of {} data and context ranks as hold them, {} tokens each at most",
                             contexts.job.strategy.replicas(), contexts.job.strategy.context_tokens),
                 {documents_table(simulation).text(most)}};
  if (contexts.shapes.size() > most) {
    out.add(fmt::format("  ... and {} more, which --explain shows\n", contexts.shapes.size() - most));
  }
  out.add(fmt::format("  busiest ranks of {} round{}: {} of passes; a rank on average: {}, and it waits for {}\n",
                      contexts.rounds, contexts.rounds == 1 ? "" : "s", format_seconds(contexts.busiest_s),
                      format_seconds(contexts.mean_s), format_seconds(contexts.busiest_s - contexts.mean_s)));
  if (!contexts.alike) {
    out.add(fmt::format("  once: {} of reductions that passes do not hide and of the optimizer\n",
                        format_seconds(contexts.fixed_s)));
  }
  for (const BatchDocuments& of : contexts.batch) {
    if (of.count > 0) continue;
    out.add(fmt::format("  none of {} tokens is in the batch: by their share it would have {:.2g}\n", of.tokens,
                        of.expected));
  }
  if (!contexts.alike) {
    const TrainingSpec& shown = simulation.job.training;
    out.add(fmt::format(
        "  memory is that of documents of {} tokens on {} ranks, which need most, and so are explained passes\n",
        shown.sequence_length, simulation.job.strategy.context));
  }
  return out;
}

}  // namespace mirfak
