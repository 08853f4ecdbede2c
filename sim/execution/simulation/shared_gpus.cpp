#include "simulation/shared_gpus.hpp"

#include <map>
#include <vector>

namespace mirfak {

namespace {

int gpu_of(const Program& program, const Stream& stream, const Cluster& cluster) {
  return cluster.place_of(static_cast<int>(program.ranks[stream.rank].rank)).gpu;
}

}  // namespace

Timeline execute_sharing_gpus(Program program, const Cluster& cluster, Executor executor) {
  std::map<int, StreamId> of_gpu;  // first compute stream of each GPU
  std::vector<StreamId> runs_on(program.streams.size());
  for (StreamId id = 0; id < program.streams.size(); ++id) {
    const Stream& stream = program.streams[id];
    runs_on[id] = id;
    if (stream.kind == StreamKind::compute)
      runs_on[id] = of_gpu.try_emplace(gpu_of(program, stream, cluster), id).first->second;
  }
  // A program's order is topological for any assignment of tasks to streams, so no task waits for itself.
  for (StreamId& stream : program.stream) stream = runs_on[stream];
  return execute(program, executor);
}

double seconds_of_others(const Program& program, const Timeline& timeline, const Cluster& cluster) {
  std::map<int, int> sharers;
  for (const ProgramRank& rank : program.ranks) ++sharers[cluster.place_of(static_cast<int>(rank.rank)).gpu];
  double seconds = 0;
  double ranks = 0;
  for (const ProgramRank& rank : program.ranks) ranks += rank.multiplicity;
  for (TaskId task = 0; task < program.size(); ++task) {
    const Stream& stream = program.streams[program.stream[task]];
    if (stream.kind != StreamKind::compute) continue;
    seconds += to_seconds(timeline.end[task] - timeline.start[task]) *
               (sharers.at(gpu_of(program, stream, cluster)) - 1) * program.ranks[stream.rank].multiplicity;
  }
  return seconds / ranks;
}

}  // namespace mirfak
