#include "measure_program.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

using namespace mirfak::test;

TEST_CASE("too few processes: the command that starts enough") {
  const ScratchFolder folder;
  folder.write("job.yaml", tiny_scenario("dgx-a100-80g", 1, "pipeline: 2"));
  const Finished alone = run_shell("mirfak-measure run job.yaml", folder.path());
  CHECK(alone.status == 2);
  CHECK_MESSAGE(contains(alone.err, "mpirun -n 2 mirfak-measure run job.yaml"), alone.err);
}

TEST_CASE("faults of the input are rank 0's to tell, once") {
  const ScratchFolder folder;
  folder.write("job.yaml", tiny_scenario("dgx-a100-80g", 1, "pipeline: 2"));
  const auto check = [&](const std::string& arguments, const std::string& message, int status) {
    const Finished finished = measure(2, arguments, folder);
    CHECK_MESSAGE(finished.status == status, finished.err);
    CHECK_MESSAGE(count(finished.err, "mirfak-measure: error:") == 1, finished.err);
    CHECK_MESSAGE(contains(finished.err, message), finished.err);
  };
  check("run job.yaml --set training.precision=bf16", "training.precision=fp32", 2);
  check("run job.yaml --backend abacus", "--backend: expected cpu", 2);
  check("run job.yaml --timeout 0", "--timeout", 2);
  check("run job.yaml --out nowhere/trace.h5", "there is no folder", 2);
  check("kernels job.yaml", "--out is missing", 2);
  check("run job.yaml --graphs on", "--backend cuda", 2);
  check("run job.yaml --graphs perhaps", "--graphs: expected auto", 2);
  check("collectives --out measured --loopback 2", "--backend cuda", 2);
  check("energy job.yaml --backend cpu --out measured", "--backend cuda", 2);
  check("sing", "unknown command", 2);
}

TEST_CASE("without a GPU, what needs one says so and writes nothing") {
  const ScratchFolder folder;
  folder.write("job.yaml", tiny_scenario("dgx-a100-80g", 1, "pipeline: 2"));
  for (const char* arguments : {"run job.yaml --backend cuda --set cluster.nodes[0].gpus=1 --set "
                                "cluster.nodes[0].ranks_per_gpu=2 --out trace.h5",
                                "collectives --backend cuda --loopback 2 --out measured"}) {
    const Finished finished = measure(1, arguments, folder);
    if (finished.status == 0) {
      MESSAGE("skipped: there is a device");
      return;
    }
    const bool built = !contains(finished.err, "built without CUDA");
    CHECK_MESSAGE(finished.status == (built ? 3 : 2), finished.err);
    CHECK_MESSAGE((!built || contains(finished.err, "no CUDA device: ")), finished.err);
  }
  CHECK(!std::filesystem::exists(folder.path() / "trace.h5"));
}

TEST_CASE("recipes that scale blocks are refused, whatever the card") {
  const ScratchFolder folder;
  folder.write("job.yaml", tiny_scenario("hgx-h100", 1, "pipeline: 2"));
  const Finished finished = measure(1,
                                    "run job.yaml --backend cuda --set cluster.nodes[0].gpus=1 --set "
                                    "cluster.nodes[0].ranks_per_gpu=2 --set training.precision=fp8-block",
                                    folder);
  CHECK(finished.status == 2);
  const bool built = !contains(finished.err, "built without CUDA");
  CHECK_MESSAGE((!built || contains(finished.err, "a scale per tensor")), finished.err);
}

TEST_CASE("ranks that read different schedules under one name are not run") {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.path() / "0");
  std::filesystem::create_directory(folder.path() / "1");
  folder.write("0/order.csv", "0F0,0F1,0F2,0F3,0B0,0B1,0B2,0B3\n1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n");
  folder.write("1/order.csv", "0F0,0F2,0F1,0F3,0B0,0B2,0B1,0B3\n1F0,1B0,1F2,1B2,1F1,1B1,1F3,1B3\n");
  for (const char* rank : {"0/job.yaml", "1/job.yaml"}) {
    folder.write(rank, tiny_scenario("dgx-a100-80g", 1, "pipeline: 2, schedule: ./order.csv"));
  }
  folder.write("run.sh", "cd $OMPI_COMM_WORLD_RANK && mirfak-measure run job.yaml --out trace.h5\n");
  const Finished finished = run_shell(
      fmt::format("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 '{}' --oversubscribe -n 2 sh run.sh",
                  MIRFAK_MPIRUN),
      folder.path());
  CHECK(finished.status == 2);
  CHECK_MESSAGE(count(finished.err, "mirfak-measure: error:") == 1, finished.err);
  CHECK_MESSAGE(contains(finished.err, "ranks 0 and 1 make different programs of job.yaml"), finished.err);
  CHECK(!std::filesystem::exists(folder.path() / "0" / "trace.h5"));
}

TEST_CASE("a rank that dies ends the job, and leaves no file") {
  const ScratchFolder folder;
  folder.write("job.yaml", tiny_scenario("dgx-a100-80g", 1, "pipeline: 2"));
  folder.write("die.sh",
               "mirfak-measure run job.yaml --iterations 1000000 --out trace.h5 &\n"
               "if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then sleep 1; kill -9 $!; fi\n"
               "wait $!\n");
  const Finished finished = run_shell(
      fmt::format("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 '{}' --oversubscribe -n 2 sh die.sh",
                  MIRFAK_MPIRUN),
      folder.path());
  CHECK(finished.status != 0);
  CHECK(folder.names() == std::vector<std::string>{"die.sh", "job.yaml"});
}

TEST_CASE("a rank that never comes is not waited for longer than told") {
  const ScratchFolder folder;
  folder.write("job.yaml", tiny_scenario("dgx-a100-80g", 1, "pipeline: 2"));
  folder.write("stop.sh",
               "mirfak-measure run job.yaml --iterations 1000000 --timeout 2 --out trace.h5 &\n"
               // Stops it once it iterates (more than a second of a processor), and not for ever.
               "if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then\n"
               "  until [ \"$(awk '{print $14 + $15}' /proc/$!/stat)\" -gt 150 ]; do sleep 0.1; done\n"
               "  kill -STOP $!; sleep 10; kill -CONT $!; sleep 5; kill -9 $!\n"
               "fi\n"
               "wait $!\n");
  const Finished finished = run_shell(
      fmt::format("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 '{}' --oversubscribe -n 2 sh stop.sh",
                  MIRFAK_MPIRUN),
      folder.path());
  CHECK(finished.status != 0);
  CHECK_MESSAGE(contains(finished.err, "nothing went on for 2 s"), finished.err);
  CHECK_MESSAGE(contains(finished.err, "rank 0"), finished.err);
  CHECK(folder.names() == std::vector<std::string>{"job.yaml", "stop.sh"});
}

TEST_CASE("Ctrl-C ends all ranks in order: rank 0 says so, once, and no file is left") {
  const ScratchFolder folder;
  folder.write("job.yaml", tiny_scenario("dgx-a100-80g", 1, "pipeline: 2"));
  const Finished alone = run_shell(
      "mirfak-measure run job.yaml --set strategy.pipeline=1 --set cluster.nodes[0].gpus=1 "
      "--iterations 1000000 --out trace.h5 & sleep 2; kill -INT $!; wait $!",
      folder.path());
  CHECK_MESSAGE(alone.status == 128 + 2, alone.err);
  CHECK_MESSAGE(contains(alone.err, "ended by SIGINT, nothing was written"), alone.err);
  // Interrupts both once they iterate, which takes more than a second of a processor.
  const Finished together = run_shell(
      fmt::format("export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"
                  "'{}' --oversubscribe -n 2 mirfak-measure run job.yaml --iterations 1000000 --out trace.h5 &\n"
                  "launcher=$!\n"
                  "busy() {{ for p in $(cat /proc/$launcher/task/*/children); do\n"
                  "  awk '$14 + $15 > 150' /proc/$p/stat; done | wc -l; }}\n"
                  "until [ \"$(busy)\" = 2 ]; do sleep 0.1; done\n"
                  "kill -INT $launcher; wait $launcher\n",
                  MIRFAK_MPIRUN),
      folder.path());
  CHECK_MESSAGE(together.status != 0, together.err);
  CHECK_MESSAGE(count(together.err, "mirfak-measure: error: ") == 1, together.err);
  CHECK_MESSAGE(contains(together.err, "ended by SIG"), together.err);
  CHECK(folder.names() == std::vector<std::string>{"job.yaml"});
}

TEST_CASE("a full disk: the file and the reason, and nothing of the file") {
  const ScratchFolder folder;
  folder.write("job.yaml", tiny_scenario("dgx-a100-80g", 1, "pipeline: 1"));
  std::filesystem::create_directory(folder.path() / "full");
  const std::string mount = "unshare --user --map-root-user --mount sh -c 'mount -t tmpfs -o size=16k none full && ";
  if (run_shell(mount + "true'", folder.path()).status != 0) {
    MESSAGE("skipped: no file system can be mounted here");
    return;
  }
  for (const char* command :
       {"run job.yaml --set cluster.nodes[0].gpus=1 --out full/trace.h5", "kernels job.yaml --repeats 1 --out full"}) {
    CAPTURE(command);
    const Finished finished = run_shell(
        mount + fmt::format("mirfak-measure {} >&2; status=$?; ls -A full; exit $status'", command), folder.path());
    CHECK_MESSAGE(finished.status == 1, finished.err);
    CHECK_MESSAGE(contains(finished.err, "mirfak-measure: error: full/"), finished.err);
    CHECK_MESSAGE(!contains(finished.out, ".partial"), finished.out);
    CHECK_MESSAGE(!contains(finished.out, ".h5"), finished.out);
  }
}
