#pragma once

#include "interpreter/divided.hpp"
#include "sharding/completion.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace mirfak::test {

// A graph with what the undivided run makes of it.
struct Subject {
  std::string text;
  OperatorGraph graph;
  OperatorGraph unfused;
  interpreter::Meaning meaning;
  interpreter::Values whole;

  Subject(std::string of, OperatorGraph graph_of, OperatorGraph before_fusion = {})
      : text(std::move(of)),
        graph(std::move(graph_of)),
        unfused(std::move(before_fusion)),
        meaning(graph, unfused.operators.empty() ? nullptr : &unfused),
        whole(interpreter::run(graph, meaning, interpreter::entering_values(graph))) {}
};

int below(std::mt19937& random, int n);

// Returns a mesh of one to three axes and two to eight devices.
DeviceMesh random_mesh(std::mt19937& random);
// "x=2,y=4"
std::string described(const DeviceMesh& mesh);

// Returns annotations of one to four tensors, as users write them.
std::vector<std::string> random_annotations(std::mt19937& random, const OperatorGraph& graph, const DeviceMesh& mesh);
std::vector<Annotation> read_annotations(const std::vector<std::string>& texts, const OperatorGraph& graph,
                                         const DeviceMesh& mesh);

// A change of a program, before it is executed.
using Change = std::function<void(PartitionedBlock&)>;
// Partitions the graph, executes it on the devices and compares. nullopt: no layout is possible. Else what is wrong;
// empty: nothing.
std::optional<std::string> fault_of(const Subject& subject, const DeviceMesh& mesh, const ShardingPlan& plan,
                                    const std::vector<TensorId>& dropped, interpreter::Proof* proof = nullptr,
                                    const Change& change = {});

// A random block's graph; null: the language refuses it.
std::unique_ptr<Subject> random_subject(std::mt19937& random, bool windows, bool uneven, bool accumulated);

}  // namespace mirfak::test
