#include "processes/machine.hpp"

#include "processes/processor_time.hpp"

#include <Eigen/Core>

#include <fmt/format.h>
#include <mpi.h>

#include <sched.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <fstream>

namespace mirfak::measure {

namespace {

// The value behind the first line of a file that begins with `key`, as /proc writes them: "key : value".
std::string value_in(const char* path, std::string_view key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

double last_cache_bytes() {
  for (const int level : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    if (const long bytes = sysconf(level); bytes > 0) return static_cast<double>(bytes);
  }
  return 0;
}

double clock_hz() {
  const std::string mhz = value_in("/proc/cpuinfo", "cpu MHz");
  return mhz.empty() ? 0 : std::strtod(mhz.c_str(), nullptr) * 1e6;
}

std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string all(text.data(), static_cast<std::size_t>(length));
  return all.substr(0, all.find_first_of(",\n"));
}

}  // namespace

std::string Machine::summary() const {
  return fmt::format("{}, {} core{}, {}, {}, {}", processor, cores, cores == 1 ? "" : "s", system, mpi, libraries);
}

std::vector<std::pair<std::string, std::string>> Machine::entries() const {
  std::vector<std::pair<std::string, std::string>> out = {{"processor", processor},
                                                          {"cores", fmt::format("{}", cores)},
                                                          {"memory_bytes", fmt::format("{:.0f}", memory_bytes)},
                                                          {"cache_bytes", fmt::format("{:.0f}", cache_bytes)},
                                                          {"clock_hz", fmt::format("{:.0f}", clock_hz)},
                                                          {"system", system},
                                                          {"mpi", mpi},
                                                          {"libraries", libraries}};
  if (stolen_share) out.emplace_back("stolen_share", fmt::format("{:.4f}", *stolen_share));
  out.insert(out.end(), device.begin(), device.end());
  return out;
}

Machine describe_machine() {
  Machine out;
  out.processor = value_in("/proc/cpuinfo", "model name");
  if (out.processor.empty()) out.processor = "unknown processor";
  out.cores = usable_cores();
  struct sysinfo memory {};
  if (sysinfo(&memory) == 0) out.memory_bytes = static_cast<double>(memory.totalram) * memory.mem_unit;
  out.cache_bytes = last_cache_bytes();
  out.clock_hz = clock_hz();
  utsname system{};
  if (uname(&system) == 0) out.system = fmt::format("{} {}", system.sysname, system.release);
  out.mpi = mpi_version();
  out.libraries = fmt::format("Eigen {}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
  out.stolen_share = stolen_share_of_process();
  return out;
}

MachineId this_machine() {
  MachineId out{};
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  in.read(out.data(), out.size() - 1);
  return out;
}

}  // namespace mirfak::measure
