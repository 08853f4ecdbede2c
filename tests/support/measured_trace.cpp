// measured-trace JOB TRACE [FACTOR]: the trace that mirfak-measure would write of a job that takes what is predicted,
// or a whole FACTOR times as long.

#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"
#include "support/source_root.hpp"
#include "trace/trace_hdf5.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

using namespace mirfak;

int main(int count, char** words) {
  try {
    if (count != 3 && count != 4) return 2;
    const Picoseconds factor = count == 4 ? std::atoi(words[3]) : 1;
    const Scenario scenario = load_scenario(words[1], {}, {source_root() + "/models", source_root() + "/hw_profiles"});
    Simulation simulation = simulate(scenario.job, {true, true});
    Timeline timeline = simulation.timeline;
    for (auto* const times : {&timeline.start, &timeline.end}) {
      for (Picoseconds& time : *times) time *= factor;
    }
    timeline.makespan *= factor;
    set_timeline(simulation, std::move(timeline));
    const double time = simulation.result.iteration_time_s;
    Measurement measured;
    measured.machine = "a stand-in";
    measured.backend = "none";
    measured.iterations = 1;
    measured.shortest_s = measured.longest_s = time;
    write_trace(words[2], scenario, simulation, measured);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "measured-trace: error: %s\n", error.what());
    return 1;
  }
}
