#pragma once

#include "import/import_draft.hpp"
#include "import/import_formats.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// A node of a cluster, as a scheduler prints it.
struct ListedNode {
  std::string name;
  std::set<std::string> partitions = {};  // empty: not stated
  std::optional<std::int64_t> gpus = {};  // 0: none; absent: not stated
  std::string gpu = {};                   // "h100"; "": not stated
  std::string instance = {};              // the cloud's name for the machine: "p5.48xlarge"; "": not stated
  std::vector<std::string> features = {};
  std::string state = {};  // "idle", "IDLE+DRAIN"; "": not stated
  bool usable = true;      // jobs can run on the node, now or when other jobs end
  Location where = {};     // place of the node's GPUs if they are stated, else of the node's line
  std::string text = {};   // the file's text at that place
};

// Machines that a task requests from a cloud.
struct RentedNodes {
  std::int64_t nodes = 1;
  std::optional<std::int64_t> gpus = {};  // GPUs per node
  std::string gpu = {};
  std::string cloud = {};  // "aws"; "": any
  std::string instance = {};
  Location where = {};
  std::string text = {};
};

// The links between the GPUs of one node.
struct GpuMatrix {
  enum class Joined { none, some, all };
  std::int64_t gpus = 0;
  std::int64_t ports = 0;  // network ports
  Joined joined = Joined::none;
  std::int64_t links_of_pair = 0;  // NVLinks between the first GPU and the next GPU that it is joined with
  std::int64_t links_of_gpu = 0;   // NVLinks of the first GPU, summed over the other GPUs
  Location where = {};
  Location ports_where = {};
};

// The statements of files on a cluster.
class ClusterFacts {
 public:
  // Adds a node. Statements on a node that was named before are merged. Error(input) for more than 100,000 nodes.
  void add(ListedNode node);
  const std::vector<ListedNode>& listed() const { return listed_; }

  std::optional<RentedNodes> rented;
  std::optional<GpuMatrix> matrix;
  std::map<std::string, std::string> environment;  // variables that are set for the launch
  std::vector<ImportObstacle> notes;               // assumptions that were made
  std::vector<ImportObstacle> unclear;  // reasons why the nodes are not known, in spite of all other statements

 private:
  std::vector<ListedNode> listed_;
  std::map<std::string, std::size_t> index_;
};

// A kind of file that states the nodes of a cluster.
struct ClusterFormat {
  std::string_view name;  // "slurm-sinfo"
  std::string_view sentence;
  bool (*recognises)(const ImportFile& file);
  void (*read)(const ImportFile& file, ClusterFacts& out);  // Error(input) at the place of the fault
};

extern const ClusterFormat kSinfoTable;     // sinfo_table.cpp
extern const ClusterFormat kScontrolNodes;  // scontrol_nodes.cpp
extern const ClusterFormat kSkypilotTask;   // skypilot_task.cpp
extern const ClusterFormat kGpuMatrix;      // gpu_matrix.cpp

std::span<const ClusterFormat> cluster_formats();
const ClusterFormat* cluster_format_of(const ImportFile& file);  // nullptr: none
// Reads each file by the format that recognises it, else by the format named `format`; Error(input) if there is
// neither.
ClusterFacts read_cluster_files(std::span<const ImportFile> files, std::string_view format);

// A word of a line between blanks, with its place.
struct PlacedWord {
  std::string text;
  Location where;
};
std::vector<PlacedWord> placed_words(std::string_view line, const std::string& file, int number);
// Returns the lines of a text without their line ends.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace mirfak
