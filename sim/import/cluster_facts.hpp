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
  std::set<std::string> partitions = {};  // empty: not said
  std::optional<std::int64_t> gpus = {};  // 0: none; absent: not said
  std::string gpu = {};                   // "h100"; "": not said
  std::string instance = {};              // what a cloud calls the machine: "p5.48xlarge"; "": not said
  std::vector<std::string> features = {};
  std::string state = {};  // "idle", "IDLE+DRAIN"; "": not said
  bool usable = true;      // jobs can run on it, now or when others end
  Location where = {};     // of its GPUs where these are said, else of its line
  std::string text = {};   // what stands there
};

// Machines that a task asks a cloud for.
struct RentedNodes {
  std::int64_t nodes = 1;
  std::optional<std::int64_t> gpus = {};  // of a node
  std::string gpu = {};
  std::string cloud = {};  // "aws"; "": any
  std::string instance = {};
  Location where = {};
  std::string text = {};
};

// How the GPUs of one node are joined.
struct GpuMatrix {
  enum class Joined { none, some, all };
  std::int64_t gpus = 0;
  std::int64_t ports = 0;  // network ports
  Joined joined = Joined::none;
  std::int64_t links_of_pair = 0;  // NVLinks between the first GPU and the next that it is joined with
  std::int64_t links_of_gpu = 0;   // of the first GPU, summed over the others
  Location where = {};
  Location ports_where = {};
};

// What files say of a cluster.
class ClusterFacts {
 public:
  // A node that was named before is the same: what is said of it is put together. Error(input) for more than 100,000.
  void add(ListedNode node);
  const std::vector<ListedNode>& listed() const { return listed_; }

  std::optional<RentedNodes> rented;
  std::optional<GpuMatrix> matrix;
  std::map<std::string, std::string> environment;  // that is set for the launch
  std::vector<ImportObstacle> notes;               // what was taken for granted
  std::vector<ImportObstacle> unclear;             // why the nodes are not known, whatever else is said

 private:
  std::vector<ListedNode> listed_;
  std::map<std::string, std::size_t> index_;
};

// A kind of file that says what a cluster is made of.
struct ClusterFormat {
  std::string_view name;  // "slurm-sinfo"
  std::string_view sentence;
  bool (*recognises)(const ImportFile& file);
  void (*read)(const ImportFile& file, ClusterFacts& out);  // Error(input) with its place
};

extern const ClusterFormat kSinfoTable;     // sinfo_table.cpp
extern const ClusterFormat kScontrolNodes;  // scontrol_nodes.cpp
extern const ClusterFormat kSkypilotTask;   // skypilot_task.cpp
extern const ClusterFormat kGpuMatrix;      // gpu_matrix.cpp

std::span<const ClusterFormat> cluster_formats();
const ClusterFormat* cluster_format_of(const ImportFile& file);  // nullptr: none
// The one of this name, else the one that recognises the file; Error(input) where there is none.
ClusterFacts read_cluster_files(std::span<const ImportFile> files, std::string_view format);

// Words of a line between blanks, each with its place.
struct PlacedWord {
  std::string text;
  Location where;
};
std::vector<PlacedWord> placed_words(std::string_view line, const std::string& file, int number);
// The lines of a text without their ends.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace mirfak
