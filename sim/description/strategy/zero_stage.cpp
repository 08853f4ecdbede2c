#include "strategy/zero_stage.hpp"

namespace mirfak {

ZeroStage zero_stage(const Framework& framework, int zero) {
  ZeroStage out;
  out.state = zero >= 1;
  out.gradients = zero >= 2;
  out.until_backward = zero >= 3;
  out.parameters = zero >= 3 || (zero == 2 && framework.sharding.stage2_gathers_parameters);
  out.all_reduces_gradients = zero == 1 && framework.sharding.all_reduce_gradients;
  return out;
}

}  // namespace mirfak
