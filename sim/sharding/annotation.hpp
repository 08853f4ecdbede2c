#pragma once

#include "base/error.hpp"
#include "graph/operator_graph.hpp"
#include "sharding/device_mesh.hpp"
#include "sharding/sharding.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// What someone says of how a tensor lies: for each of its axes the mesh axes that divide it (none: not divided), or
// nothing, which leaves the axis to completion.
struct Annotation {
  TensorId tensor = -1;
  InlineList<std::optional<MeshAxisSet>, kMaxRank> axes;
  std::string text;  // as it was written, for errors
  Location at;
};

// The annotation before it is known whose tensor it is: "w1: (hidden, ffn@tensor)" (README.md, "Annotations").
struct AnnotationText {
  struct Entry {
    std::string axis;
    bool open = false;                 // ffn@?
    std::vector<std::string> divided;  // ffn@tensor, ffn@(data,tensor); empty: not divided
  };
  std::string tensor;  // with the block's name before it, or not
  std::vector<Entry> entries;
  bool rest_open = false;  // "...": axes without an entry are open
  std::string text;
};

// Error(input) naming the text and the column where it ends to be one.
AnnotationText parse_annotation(std::string_view text);

// What it says of a tensor of a graph. Error(input) for an axis that the tensor has not, or that is mentioned twice or
// not at all, for a mesh axis that the mesh has not, or that the annotation uses twice, with the nearest name.
Annotation annotation_of(const AnnotationText& text, const OperatorGraph& graph, TensorId tensor,
                         const DeviceMesh& mesh);

// "(hidden, ffn@tensor)": how a tensor lies, as annotations are written.
std::string sharding_text(const OperatorGraph& graph, TensorId tensor, const Sharding& sharding,
                          const DeviceMesh& mesh);

// "data=8,tensor=4". Error(input) for a size that is no whole number from 1 on, a name twice, or too many axes.
DeviceMesh parse_mesh(std::string_view text, const std::string& option);

}  // namespace mirfak
