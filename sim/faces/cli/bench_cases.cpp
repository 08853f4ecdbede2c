#include "cli/bench_cases.hpp"

#include <array>

namespace mirfak {

namespace {

constexpr LoweringOptions kFolded{false, false};
constexpr LoweringOptions kUnfolded{true, false};
constexpr LoweringOptions kOperators{false, true};
constexpr LoweringOptions kUnfoldedOperators{true, true};

constexpr std::array kCases = {
    BenchCase{"gpt-22b one node", "gpt-22b-one-node", kFolded},
    BenchCase{"gpt-22b one node, every rank, operators", "gpt-22b-one-node", kUnfoldedOperators},
    BenchCase{"gpt3-13b gpipe", "gpt3-13b-gpipe", kFolded},
    BenchCase{"gpt3-13b gpipe, event queue", "gpt3-13b-gpipe", kFolded, Executor::events},
    BenchCase{"gpt3-13b 1f1b", "gpt3-13b-1f1b", kFolded},
    BenchCase{"gpt3-13b 1f1b, every rank", "gpt3-13b-1f1b", kUnfolded},
    BenchCase{"gpt3-13b 1f1b, operators, event queue", "gpt3-13b-1f1b", kOperators, Executor::events},
    BenchCase{"gpt3-175b interleaved", "gpt3-175b-interleaved", kFolded},
    BenchCase{"gpt3-175b interleaved, operators", "gpt3-175b-interleaved", kOperators},
    BenchCase{"gpt-1t 64 stages", "gpt-1t-64-stages", kFolded},
    BenchCase{"gpt-1t 64 stages, event queue", "gpt-1t-64-stages", kFolded, Executor::events},
    BenchCase{"gpt2-1.5b data parallel", "gpt2-1.5b-data-parallel", kUnfolded},
    BenchCase{"bloom-176b uneven layers", "bloom-176b-uneven-layers", kFolded},
    BenchCase{"llama2-70b interleaved, overlapped", "llama2-70b-interleaved-overlapped", kFolded},
    BenchCase{"llama2-70b mixed cluster", "llama2-70b-mixed-cluster", kFolded},
};

}  // namespace

std::span<const BenchCase> bench_cases() { return kCases; }

}  // namespace mirfak
