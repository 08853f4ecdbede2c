#pragma once

#include "capture/captured_scenario.hpp"
#include "support/source_root.hpp"

#include <string>

// Parts of captures of two ranks, for several tests.
namespace mirfak::test {

inline const CaptureSources& sources() {
  static const CaptureSources of(ScenarioSources({source_root() + "/models", source_root() + "/hw_profiles"}));
  return of;
}

// A sum of two tensors of 64 Mi elements, which are in no cache.
inline const std::string kSum =
    R"({"name":"aten::add","overload":"Tensor","arguments":[["self",1],["other",1]],"in":[["bfloat16",[67108864]],)"
    R"(["bfloat16",[67108864]]],"out":[["bfloat16",[67108864]]],"settings":{},"read_bytes":268435456,)"
    R"("written_bytes":134217728})";
inline const std::string kLargeReduction =
    R"({"kind":"all_reduce","ranks":[0,1],"dtype":"float32","via":"c10d","op":"SUM","in_bytes":1000000000,)"
    R"("out_bytes":1000000000})";
inline const std::string kSumAndReduction = R"([["op",0,0,0,0],["comm",0,0,0,0,1],["wait",1,0]])";

}  // namespace mirfak::test
