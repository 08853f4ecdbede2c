#pragma once

namespace mirfak::measure {

// Throws Error(internal) that names the signal where an InterruptWatch has noticed one. All waits and all loops of
// benchmarks call it, so that files under construction go and a GPU gets its own clock back.
void check_interruption();

}  // namespace mirfak::measure
