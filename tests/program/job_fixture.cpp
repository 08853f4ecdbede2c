#include "job_fixture.hpp"

#include "cluster/catalog.hpp"
#include "support/frameworks.hpp"
#include "support/source_root.hpp"
#include "support/transformers.hpp"

namespace mirfak::test {

Cluster cluster_of(const std::string& node, int count) {
  const Catalog catalog(source_root() + "/hw_profiles");
  const NodeHardware hardware = catalog.node(node);
  const auto price = catalog.price("on-demand", hardware.spec.gpu);
  return Cluster({{hardware, count, price}}, default_fabric());
}

Fabric fabric_from(const std::string& yaml) {
  const Document document = Document::from_text(yaml, "job.yaml");
  return read_fabric(Node(document));
}

Cluster nodes_on(const std::string& fabric, int nodes) {
  return Cluster({cluster_of("dgx-a100-80g", nodes).groups()[0]}, fabric_from(fabric));
}

Job job_on_16_nodes(const std::string& fabric, int tensor, int pipeline, bool overlap) {
  Strategy s = sized(tensor, 128 / (tensor * pipeline), pipeline);
  s.overlap_grad_reduce = overlap;
  Job job = small_job(8, 16, s, 4 * s.data);
  job.cluster = nodes_on(fabric, 16);
  return job;
}

std::string rails_of_two_nodes(double oversubscription) {
  return "{type: rail-optimized, leaf_ports: 2, oversubscription: " + std::to_string(oversubscription) + "}";
}

Job small_job(int layers, int nodes, const Strategy& strategy, std::int64_t global_batch) {
  ModelSpec model = with_blocks({});
  model.name = "small";
  model.layers = layers;
  model.hidden = 1024;
  model.heads = model.kv_heads = 16;
  model.head_dim = 64;
  model.ffn = 4096;
  model.vocab = 8192;
  model.max_sequence = 512;
  TrainingSpec training;
  training.global_batch = global_batch;
  training.sequence_length = 512;
  training.framework = "megatron-lm-2021";
  return {model, cluster_of("dgx-a100-80g", nodes), training, strategy, test::framework_named(training.framework)};
}

Job free_communication(Job job) {
  std::vector<NodeAllotment> nodes;
  for (const NodeGroup& group : job.cluster.groups()) {
    nodes.push_back(group);
    for (LinkSpec* link : {&nodes.back().hardware.scale_up, &nodes.back().hardware.network}) {
      link->bandwidth.value = 1e30;
      link->latency_s.value = link->base_latency_s.value = link->send_latency_s.value = link->settling_s.value = 0;
      const Figure nothing = {0, ""};
      const Figure all = {1, ""};
      link->protocols = RingProtocols{all, nothing, nothing, all, nothing, nothing, all, nothing, {}};
      link->exchange = ExchangeFit{nothing, nothing, all, nothing, nothing, all, nothing, nothing, all, {}};
    }
  }
  job.cluster = Cluster(nodes, job.cluster.fabric());
  job.framework.host.forward_s = job.framework.host.backward_s = job.framework.host.collective_s = 0;
  return job;
}

Strategy sized(int tensor, int data, int pipeline) {
  Strategy s;
  s.tensor = tensor;
  s.data = data;
  s.pipeline = pipeline;
  return s;
}

Job perturbed_by(Job job, Perturbations perturbations) {
  std::vector<NodeAllotment> nodes(job.cluster.groups().begin(), job.cluster.groups().end());
  job.cluster = Cluster(std::move(nodes), job.cluster.fabric(), std::move(perturbations));
  return job;
}

double bytes_on(const Program& program, StreamKind stream) {
  double bytes = 0;
  for (TaskId task = 0; task < program.size(); ++task) {
    if (program.streams[program.stream[task]].kind == stream) bytes += program.class_of(task).bytes;
  }
  return bytes;
}

}  // namespace mirfak::test
