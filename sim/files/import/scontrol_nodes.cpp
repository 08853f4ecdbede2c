// Reads the output of `scontrol show node`: KEY=VALUE words, where each NodeName= begins a node; with --oneliner one
// line per node.

#include "base/text.hpp"
#include "import/cluster_facts.hpp"
#include "import/slurm_nodes.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kNodeName = "NodeName=";

bool is_scontrol_output(const ImportFile& file) {
  // slurm.conf has NodeName= too, but with State=UNKNOWN, and without address, load or version.
  const std::size_t at = file.text.find(kNodeName);
  if (at == std::string::npos || (at != 0 && file.text[at - 1] != '\n')) return false;
  return file.text.find("CPUAlloc=") != std::string::npos || file.text.find("NodeHostName=") != std::string::npos ||
         (file.text.find("State=") != std::string::npos && file.text.find("RealMemory=") != std::string::npos);
}

struct ShownNode {
  ListedNode node;
  std::set<std::string> said;
  bool several = false;
};

void take_word(ShownNode& out, const std::string& key, const std::string& value, const PlacedWord& word) {
  if (!out.said.insert(key).second) return;
  if (key == "State") {
    out.node.state = value;
    out.node.usable = is_usable_state(value);
  } else if (key == "Gres") {
    SlurmGpus gpus = slurm_gpus(value, word.where);
    out.node.gpus = gpus.count;
    out.node.gpu = std::move(gpus.name);
    out.node.where = word.where;
    out.node.text = word.text;
    out.several = gpus.several;
  } else if (key == "InstanceType" && value != "(null)" && value != "N/A") {
    out.node.instance = value;
  } else if (key == "ActiveFeatures") {
    out.node.features = slurm_list(value);
  } else if (key == "Partitions") {
    for (std::string& name : slurm_list(value)) out.node.partitions.insert(std::move(name));
  }
}

void end_node(ShownNode& shown, ClusterFacts& out) {
  if (shown.node.name.empty()) return;
  if (!shown.said.contains("State"))
    fail_input(shown.node.where, fmt::format("node {} has no State=", excerpt(shown.node.name)),
               "give all that scontrol show node prints");
  if (!shown.node.gpus) shown.node.gpus = 0;
  if (shown.several) {
    shown.node.usable = false;
    shown.node.state = "of several kinds of GPU";
  }
  out.add(std::move(shown.node));
}

// True if the rest of the line is a sentence, whose words are no keys.
bool begins_sentence(const std::string& key) { return key == "Reason" || key == "Comment" || key == "Extra"; }

void read_scontrol_output(const ImportFile& file, ClusterFacts& out) {
  ShownNode shown;
  int number = 0;
  for (const std::string_view line : lines_of(file.text)) {
    ++number;
    bool sentence = false;
    for (const PlacedWord& word : placed_words(line, file.name, number)) {
      const std::size_t equals = word.text.find('=');
      if (equals == std::string::npos || sentence) continue;
      const std::string key = word.text.substr(0, equals);
      const std::string value = word.text.substr(equals + 1);
      if (key == "NodeName") {
        end_node(shown, out);
        shown = {};
        if (value.empty()) fail_input(word.where, "a node without a name", "expected NodeName=NAME");
        shown.node.name = value;
        shown.node.where = word.where;
        shown.node.text = word.text;
        continue;
      }
      sentence = begins_sentence(key);
      if (!shown.node.name.empty()) take_word(shown, key, value, word);
    }
  }
  if (shown.node.name.empty())
    fail_input({file.name, 1, 1}, "scontrol: no NodeName=", "give the output of scontrol show node");
  end_node(shown, out);
}

}  // namespace

const ClusterFormat kScontrolNodes = {"slurm-nodes", "what Slurm's scontrol show node prints", is_scontrol_output,
                                      read_scontrol_output};

}  // namespace mirfak
