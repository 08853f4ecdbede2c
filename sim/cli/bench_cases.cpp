#include "cli/bench_cases.hpp"

#include <array>

namespace mirfak {

namespace {

constexpr std::string_view kGpt22bOneNode = R"(
model: gpt-22b
cluster: {nodes: [{type: dgx-a100-80g, count: 1}]}
training: {global_batch: 4, sequence_length: 2048, precision: fp16, framework: megatron-lm-2021}
strategy: {tensor: 8, micro_batch: 4, sequence_parallel: true, recompute: selective}
)";

constexpr std::string_view kGpt13bGpipe = R"(
model: gpt3-13b
cluster: {nodes: [{type: dgx-a100-80g, count: 2}]}
training: {global_batch: 64, sequence_length: 2048, precision: fp16, framework: megatron-lm-2021}
strategy: {tensor: 2, pipeline: 8, micro_batch: 1, schedule: gpipe, recompute: full}
)";

constexpr std::string_view kGpt13b1f1b = R"(
model: gpt3-13b
cluster: {nodes: [{type: dgx-a100-80g, count: 4}]}
training: {global_batch: 512, sequence_length: 2048, precision: bf16}
strategy: {tensor: 2, pipeline: 8, data: 2, micro_batch: 1, recompute: selective}
)";

constexpr std::string_view kGpt175bInterleaved = R"(
model: gpt3-175b
cluster: {nodes: [{type: dgx-a100-80g, count: 192}]}
training: {global_batch: 1536, sequence_length: 2048, precision: fp16, framework: megatron-lm-2021}
strategy: {tensor: 8, pipeline: 12, virtual_pipeline: 2, micro_batch: 1, recompute: full}
)";

constexpr std::string_view kGpt1tDeepPipeline = R"(
model: gpt-1t
cluster: {nodes: [{type: dgx-a100-80g, count: 64}]}
training: {global_batch: 512, sequence_length: 2048, precision: fp16, framework: megatron-lm-2021}
strategy: {tensor: 8, pipeline: 64, micro_batch: 1, sequence_parallel: true, recompute: selective}
)";

constexpr std::string_view kGpt2DataParallel = R"(
model: gpt2-1.5b
cluster: {nodes: [{type: dgx-1-v100-32g, count: 4}]}
training: {global_batch: 512, sequence_length: 1024, precision: fp16, framework: megatron-lm-2021}
strategy: {micro_batch: 2, zero: 1, recompute: full, overlap_grad_reduce: true}
)";

constexpr std::string_view kBloomUnevenLayers = R"(
model: bloom-176b
cluster: {nodes: [{type: dgx-a100-80g, count: 48}]}
training: {global_batch: 2048, sequence_length: 2048, precision: bf16, framework: megatron-lm-2021}
strategy: {tensor: 4, pipeline: 12, data: 8, layer_split: [5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 5], micro_batch: 2,
           recompute: full, zero: 1}
)";

constexpr std::string_view kLlama70bOverlapped = R"(
model: llama2-70b
cluster: {nodes: [{type: hgx-h100, count: 8}]}
training: {global_batch: 256, sequence_length: 4096, precision: bf16}
strategy: {tensor: 8, pipeline: 4, virtual_pipeline: 5, micro_batch: 1, sequence_parallel: true, zero: 1,
           overlap_grad_reduce: true}
)";

constexpr std::string_view kLlama70bMixed = R"(
model: llama2-70b
cluster: {nodes: [{type: hgx-h100, count: 4}, {type: dgx-a100-80g, count: 4}]}
training: {global_batch: 256, sequence_length: 4096, precision: bf16}
strategy: {tensor: 8, pipeline: 4, layer_split: [27, 27, 13, 13], micro_batch: 1, sequence_parallel: true, zero: 1}
)";

constexpr LoweringOptions kFolded{false, false};
constexpr LoweringOptions kUnfolded{true, false};
constexpr LoweringOptions kOperators{false, true};
constexpr LoweringOptions kUnfoldedOperators{true, true};

constexpr std::array kCases = {
    BenchCase{"gpt-22b one node", kGpt22bOneNode, kFolded},
    BenchCase{"gpt-22b one node, every rank, operators", kGpt22bOneNode, kUnfoldedOperators},
    BenchCase{"gpt3-13b gpipe", kGpt13bGpipe, kFolded},
    BenchCase{"gpt3-13b gpipe, event queue", kGpt13bGpipe, kFolded, Executor::events},
    BenchCase{"gpt3-13b 1f1b", kGpt13b1f1b, kFolded},
    BenchCase{"gpt3-13b 1f1b, every rank", kGpt13b1f1b, kUnfolded},
    BenchCase{"gpt3-13b 1f1b, operators, event queue", kGpt13b1f1b, kOperators, Executor::events},
    BenchCase{"gpt3-175b interleaved", kGpt175bInterleaved, kFolded},
    BenchCase{"gpt3-175b interleaved, operators", kGpt175bInterleaved, kOperators},
    BenchCase{"gpt-1t 64 stages", kGpt1tDeepPipeline, kFolded},
    BenchCase{"gpt-1t 64 stages, event queue", kGpt1tDeepPipeline, kFolded, Executor::events},
    BenchCase{"gpt2-1.5b data parallel", kGpt2DataParallel, kUnfolded},
    BenchCase{"bloom-176b uneven layers", kBloomUnevenLayers, kFolded},
    BenchCase{"llama2-70b interleaved, overlapped", kLlama70bOverlapped, kFolded},
    BenchCase{"llama2-70b mixed cluster", kLlama70bMixed, kFolded},
};

}  // namespace

std::span<const BenchCase> bench_cases() { return kCases; }

}  // namespace mirfak
