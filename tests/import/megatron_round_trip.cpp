#include "emitted.hpp"

#include <doctest/doctest.h>

using namespace mirfak;

TEST_CASE("what is written for Megatron-LM is read back as the same strategy") {
  check_read_back(LaunchTarget::megatron, Launcher::none, 500, drawn_megatron_job);
}

TEST_CASE("what is written as Megatron-LM's YAML is read back as the same strategy") {
  check_read_back(LaunchTarget::megatron_yaml, Launcher::none, 500, drawn_megatron_job);
}

TEST_CASE("what is written as overrides of Megatron-Bridge is read back as the same strategy") {
  check_read_back(LaunchTarget::megatron_bridge, Launcher::none, 500, drawn_megatron_job);
}
