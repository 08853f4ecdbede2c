#include "engine/execute.hpp"

#include "base/error.hpp"
#include "engine/event_engine.hpp"
#include "engine/sweep.hpp"

namespace mirfak {

Timeline execute(const Program& program, Executor executor) {
  const bool shares_links = program.shares_links();
  if (executor == Executor::sweep && shares_links) {
    fail_internal("the sweep cannot execute a program whose tasks share links");
  }
  if (executor == Executor::events || shares_links) return execute_events(program);
  return execute_sweep(program);
}

}  // namespace mirfak
