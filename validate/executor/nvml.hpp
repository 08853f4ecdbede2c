#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mirfak::measure {

// A GPU as the driver's management library (NVML) sees it. The library comes with the driver and is opened at run time,
// so neither its header nor a stub of it is needed to build. Throws Error(internal) with NVML's words where it refuses.
class NvmlDevice {
 public:
  enum class Clock : unsigned { multiprocessors = 1, memory = 2 };  // as NVML numbers them

  // Opens a device; nothing where the library or the device is not to be had.
  static std::optional<NvmlDevice> open(int pci_domain, int pci_bus, int pci_device);

  std::string driver() const;
  double energy_j() const;  // since the driver was loaded
  double power_w() const;   // as the driver averages it, over a second on most cards
  // The power at this moment, as far as the sensor tells moments apart; nothing where the driver knows only averages.
  std::optional<double> instant_power_w() const;
  double power_limit_w() const;
  double temperature_c() const;
  double clock_hz(Clock clock) const;
  double max_clock_hz() const;                      // of the multiprocessors
  std::vector<double> supported_clocks_hz() const;  // ... at the present memory clock, descending

  // Needs the rights of an administrator. reset_clock() is safe to call from anywhere and never throws.
  void lock_clock(double hz) const;
  void reset_clock() const noexcept;

 private:
  struct Library;
  NvmlDevice(std::shared_ptr<Library> library, void* device) : library_(std::move(library)), device_(device) {}
  void check(int result, const char* what) const;

  std::shared_ptr<Library> library_;
  void* device_ = nullptr;
};

}  // namespace mirfak::measure
