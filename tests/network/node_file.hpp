#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>

namespace mirfak::test {

// A topology file of NCCL of one's own making: GPUs in pairs, each pair with its network card below a PCI Express
// switch; half of the switches on either processor.
struct NodeFile {
  int gpus = 8;
  int sm = 80;
  int width = 16;     // lanes of GPUs
  int upstream = 16;  // ... of switches
  std::string speed = "16.0 GT/s PCIe";
  double net = 200'000;                                         // Mb/s, of each card
  std::function<bool(int)> has_net = [](int) { return true; };  // of each GPU: a card for itself
  std::function<std::string(int)> links;                        // elements inside a <gpu>
  std::string extra;                                            // attributes of each <gpu>

  static std::string bus(int gpu) { return fmt::format("0000:{:02x}:00.0", 0x10 + gpu); }
  // The NVLinks of a GPU to six switches, as on a DGX A100.
  static std::string switched(int count) {
    std::string out;
    for (int i = 0; i < 6; ++i) {
      out += fmt::format("<nvlink target=\"0000:c{}:00.0\" count=\"{}\" tclass=\"0x068000\"/>\n", i, count);
    }
    return out;
  }
  static std::string to(int peer, int count) {
    return fmt::format("<nvlink target=\"{}\" count=\"{}\" tclass=\"0x030200\"/>\n", bus(peer), count);
  }

  std::string gpu(int number) const {
    return fmt::format(
        "<pci busid=\"{}\" class=\"0x030200\" link_speed=\"{}\" link_width=\"{}\">\n"
        "<gpu dev=\"{}\" sm=\"{}\" rank=\"{}\" gdr=\"1\"{}>\n{}</gpu>\n</pci>\n",
        bus(number), speed, width, number, sm, number, extra, links ? links(number) : "");
  }

  std::string text() const {
    std::string out = "<system version=\"1\">\n";
    for (int first = 0; first < gpus; first += 2) {
      if (first == 0 || first == (gpus / 2 + 1) / 2 * 2) {
        out += fmt::format("{}<cpu numaid=\"{}\">\n", first == 0 ? "" : "</cpu>\n", first == 0 ? 0 : 1);
      }
      out += fmt::format("<pci busid=\"0000:{:02x}:00.0\" class=\"0x060400\" link_speed=\"{}\" link_width=\"{}\">\n",
                         0x50 + first, speed, upstream);
      for (int number = first; number < first + 2 && number < gpus; ++number) {
        out += gpu(number);
        if (!has_net(number)) continue;
        out += fmt::format(
            "<pci busid=\"0000:{:02x}:00.0\" class=\"0x020700\" link_speed=\"{}\" link_width=\"16\">\n"
            "<nic><net name=\"card_{}\" dev=\"{}\" speed=\"{}\" gdr=\"1\"/></nic>\n</pci>\n",
            0x80 + number, speed, number, number, net);
      }
      out += "</pci>\n";
    }
    return out + "</cpu>\n</system>\n";
  }
};

}  // namespace mirfak::test
