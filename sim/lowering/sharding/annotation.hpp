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

// A statement about how a tensor lies: for each axis of the tensor the mesh axes that divide it (an empty set: not
// divided), or nullopt, which leaves the axis to completion.
struct Annotation {
  TensorId tensor = -1;
  InlineList<std::optional<MeshAxisSet>, kMaxRank> axes;
  std::string text;  // the text as it was written, for errors
  Location at;
};

// An annotation whose tensor is not resolved yet: "w1: (hidden, ffn@tensor)" (README.md, "Annotations").
struct AnnotationText {
  struct Entry {
    std::string axis;
    bool open = false;                 // ffn@?
    std::vector<std::string> divided;  // ffn@tensor, ffn@(data,tensor); empty: not divided
  };
  std::string tensor;  // with or without the name of the block before it
  std::vector<Entry> entries;
  bool rest_open = false;  // "...": axes without an entry are open
  std::string text;
};

// Parses an annotation. Throws Error(input) naming the text and the column where it stops being an annotation.
AnnotationText parse_annotation(std::string_view text);

// Returns the annotation of a tensor of a graph. Throws Error(input), with the nearest name, for an axis that the
// tensor does not have, that is mentioned twice or not at all, and for a mesh axis that the mesh does not have or that
// the annotation uses twice.
Annotation annotation_of(const AnnotationText& text, const OperatorGraph& graph, TensorId tensor,
                         const DeviceMesh& mesh);

// Returns the sharding of a tensor in the notation of annotations: "(hidden, ffn@tensor)".
std::string sharding_text(const OperatorGraph& graph, TensorId tensor, const Sharding& sharding,
                          const DeviceMesh& mesh);

// Parses "data=8,tensor=4". Throws Error(input) for a size that is not a whole number from 1 on, for a name that is
// given twice, and for too many axes.
DeviceMesh parse_mesh(std::string_view text, const std::string& option);

}  // namespace mirfak
