#include "executor/nvml.hpp"

#include "base/error.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cmath>

namespace mirfak::measure {

namespace {

constexpr int kSuccess = 0;
constexpr unsigned kDieTemperature = 0;
constexpr unsigned kInstantPower = 186;  // NVML_FI_DEV_POWER_INSTANT, in milliwatts

// A field of a device, as NVML lays it out (nvmlFieldValue_t).
struct FieldValue {
  unsigned field = 0;
  unsigned scope = 0;
  long long timestamp_us = 0;  // NOLINT(google-runtime-int): the library's type
  long long latency_us = 0;    // NOLINT(google-runtime-int): the library's type
  unsigned type = 0;
  int result = 0;
  union {
    unsigned number;
    unsigned long long long_number;  // NOLINT(google-runtime-int): the library's type
    double real;
  } value = {};
};

}  // namespace

// The few functions of NVML's documented interface that are used, by their exported names.
struct NvmlDevice::Library {
  Library() : handle(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (handle == nullptr) return;
    bool all = true;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      all = all && function != nullptr;
    };
    find(start, "nvmlInit_v2");
    find(stop, "nvmlShutdown");
    find(words, "nvmlErrorString");
    find(driver_version, "nvmlSystemGetDriverVersion");
    find(by_bus, "nvmlDeviceGetHandleByPciBusId_v2");
    find(total_energy, "nvmlDeviceGetTotalEnergyConsumption");
    find(power, "nvmlDeviceGetPowerUsage");
    find(power_limit, "nvmlDeviceGetEnforcedPowerLimit");
    find(temperature, "nvmlDeviceGetTemperature");
    find(clock, "nvmlDeviceGetClockInfo");
    find(max_clock, "nvmlDeviceGetMaxClockInfo");
    find(supported, "nvmlDeviceGetSupportedGraphicsClocks");
    find(lock, "nvmlDeviceSetGpuLockedClocks");
    find(unlock, "nvmlDeviceResetGpuLockedClocks");
    usable = all && start() == kSuccess;
    find(field_values, "nvmlDeviceGetFieldValues");  // of newer drivers
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (usable) stop();
    if (handle != nullptr) dlclose(handle);
  }

  void* handle;
  bool usable = false;
  int (*start)() = nullptr;
  int (*stop)() = nullptr;
  const char* (*words)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*by_bus)(const char*, void**) = nullptr;
  int (*total_energy)(void*, unsigned long long*) = nullptr;  // NOLINT(google-runtime-int): the library's type
  int (*power)(void*, unsigned*) = nullptr;
  int (*power_limit)(void*, unsigned*) = nullptr;
  int (*field_values)(void*, int, FieldValue*) = nullptr;
  int (*temperature)(void*, unsigned, unsigned*) = nullptr;
  int (*clock)(void*, unsigned, unsigned*) = nullptr;
  int (*max_clock)(void*, unsigned, unsigned*) = nullptr;
  int (*supported)(void*, unsigned, unsigned*, unsigned*) = nullptr;
  int (*lock)(void*, unsigned, unsigned) = nullptr;
  int (*unlock)(void*) = nullptr;
};

std::optional<NvmlDevice> NvmlDevice::open(int pci_domain, int pci_bus, int pci_device) {
  auto library = std::make_shared<Library>();
  if (!library->usable) return std::nullopt;
  const std::string bus = fmt::format("{:08x}:{:02x}:{:02x}.0", pci_domain, pci_bus, pci_device);
  void* device = nullptr;
  if (library->by_bus(bus.c_str(), &device) != kSuccess) return std::nullopt;
  return NvmlDevice(std::move(library), device);
}

void NvmlDevice::check(int result, const char* what) const {
  if (result != kSuccess) fail_internal(fmt::format("NVML could not {}: {}", what, library_->words(result)));
}

std::string NvmlDevice::driver() const {
  std::array<char, 96> text{};
  check(library_->driver_version(text.data(), text.size()), "find the driver's version");
  return text.data();
}

double NvmlDevice::energy_j() const {
  unsigned long long millijoules = 0;  // NOLINT(google-runtime-int): the library's type
  check(library_->total_energy(device_, &millijoules), "read the energy");
  return static_cast<double>(millijoules) * 1e-3;
}

double NvmlDevice::power_w() const {
  unsigned milliwatts = 0;
  check(library_->power(device_, &milliwatts), "read the power");
  return milliwatts * 1e-3;
}

std::optional<double> NvmlDevice::instant_power_w() const {
  FieldValue field;
  field.field = kInstantPower;
  if (library_->field_values == nullptr || library_->field_values(device_, 1, &field) != kSuccess) return std::nullopt;
  if (field.result != kSuccess) return std::nullopt;
  return field.value.number * 1e-3;
}

double NvmlDevice::power_limit_w() const {
  unsigned milliwatts = 0;
  check(library_->power_limit(device_, &milliwatts), "read the power limit");
  return milliwatts * 1e-3;
}

double NvmlDevice::temperature_c() const {
  unsigned degrees = 0;
  check(library_->temperature(device_, kDieTemperature, &degrees), "read the temperature");
  return degrees;
}

double NvmlDevice::clock_hz(Clock clock) const {
  unsigned megahertz = 0;
  check(library_->clock(device_, static_cast<unsigned>(clock), &megahertz), "read a clock");
  return megahertz * 1e6;
}

double NvmlDevice::max_clock_hz() const {
  unsigned megahertz = 0;
  check(library_->max_clock(device_, static_cast<unsigned>(Clock::multiprocessors), &megahertz), "read a clock");
  return megahertz * 1e6;
}

std::vector<double> NvmlDevice::supported_clocks_hz() const {
  const auto memory = static_cast<unsigned>(std::lround(clock_hz(Clock::memory) * 1e-6));
  std::array<unsigned, 1024> megahertz{};
  unsigned count = megahertz.size();
  check(library_->supported(device_, memory, &count, megahertz.data()), "list the clocks");
  std::vector<double> out;
  for (unsigned i = 0; i < count; ++i) out.push_back(megahertz[i] * 1e6);
  return out;
}

void NvmlDevice::lock_clock(double hz) const {
  const auto megahertz = static_cast<unsigned>(std::lround(hz * 1e-6));
  check(library_->lock(device_, megahertz, megahertz), "set the clock (it takes an administrator's rights)");
}

void NvmlDevice::reset_clock() const noexcept { library_->unlock(device_); }

}  // namespace mirfak::measure
