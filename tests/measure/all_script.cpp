// validate/measure/all.sh from its beginning to its table, with a stand-in for the card.

#include "measure_program.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

using namespace mirfak::test;

TEST_CASE("all.sh measures, calibrates, predicts, runs, compares, and prints a table last") {
  namespace fs = std::filesystem;
  const ScratchFolder folder;
  const fs::path source = mirfak::source_root();
  fs::create_directory(folder.path() / "bin");
  fs::create_symlink(program(), folder.path() / "bin/mirfak");
  fs::create_symlink(MIRFAK_MEASURED_TRACE, folder.path() / "bin/measured-trace");
  fs::copy_file(source / "tests/measure/stand_in_card.sh", folder.path() / "bin/mirfak-measure");
  const Finished finished =
      run_shell(fmt::format("MIRFAK_BIN='{0}/bin' MIRFAK_JOBS='(gpt-1k-s512-mb4|gpt-2k-pp2|llama-2k-s2k-mb1) ' "
                            "'{1}/validate/measure/all.sh' '{0}/measured'",
                            folder.path().string(), source.string()),
                folder.path());
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  for (const char* line : {"NVIDIA H200, driver 1, none: ", "gpt-1k-s512-mb4", "gpt-2k-pp2 ", "llama-2k-s2k-mb1",
                           "3 jobs: mean error 0.0%, largest 0.0%\n"}) {
    CHECK_MESSAGE(finished.out.find(line) != std::string::npos, finished.out);
  }
  const std::string gpu = read_text(folder.path() / "measured/profile/gpu.yaml");
  for (const char* figure : {"kernel_launch_s: [2.2e-06, ", "idle_w: [82, ", "blocked_w: [130, "}) {
    CHECK_MESSAGE(gpu.find(figure) != std::string::npos, gpu);
  }
  CHECK(gpu.find("gemm_like") == std::string::npos);
  CHECK(read_text(folder.path() / "measured/jobs/gpt-2k-pp2.yaml").find("ranks_per_gpu: 2") != std::string::npos);
}

TEST_CASE("packed programs take their libraries along") {
  const ScratchFolder folder;
  const std::string& source = mirfak::source_root();
  const Finished packed = run_shell(
      fmt::format("'{}/validate/measure/pack.sh' pack \"$(dirname '{}')\"", source, program().string()), folder.path());
  REQUIRE_MESSAGE(packed.status == 0, packed.err);
  const Finished run = run_shell(
      fmt::format("LD_DEBUG=libs LD_DEBUG_OUTPUT=loaded ./pack/mirfak simulate '{}/scenarios/gpt3-175b-a100.yaml' "
                  "--trace trace.h5 && grep -h 'calling init:' loaded.* | grep hdf5",
                  source),
      folder.path());
  CHECK_MESSAGE(run.status == 0, run.err);
  CHECK_MESSAGE(contains(run.out, "pack/programs/mirfak-hdf5.so"), run.out);
  CHECK_MESSAGE(contains(run.out, "pack/lib/libhdf5"), run.out);
}
