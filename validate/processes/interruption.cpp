#include "processes/interruption.hpp"

#include "base/error.hpp"
#include "base/interrupt_watch.hpp"

#include <fmt/format.h>

#include <cstring>

namespace mirfak::measure {

void check_interruption() {
  if (!InterruptWatch::interrupted()) return;
  fail_internal(fmt::format("ended by SIG{}, nothing was written", sigabbrev_np(InterruptWatch::signal())));
}

}  // namespace mirfak::measure
