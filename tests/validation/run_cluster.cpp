#include "validation/run_cluster.hpp"

#include <doctest/doctest.h>

using namespace mirfak;

namespace {

std::string cluster_of(const std::string& gpu, int gpus, int per_node, const std::string& interconnect) {
  MeasuredRun run;
  run.gpu = gpu;
  run.gpus = gpus;
  run.gpus_per_node = per_node;
  run.interconnect = interconnect;
  return cluster_yaml_of(run);
}

}  // namespace

TEST_CASE("ports and rate come from the words of the interconnect") {
  const auto says = [](const std::string& interconnect, const char* expected) {
    INFO(interconnect);
    CHECK(cluster_of("A100-80GB", 64, 8, interconnect).find(expected) != std::string::npos);
  };
  says("NVLink3 NVSwitch; 8x HDR200 IB per node (Selene)", "network: ib-hdr, ports: 8}");
  says("intra-node 150 GB/s, inter-node 800 Gbps per node as configured", "network: ib-hdr, ports: 4}");
  says("inter-node fabric not stated (8x HDR200 IB on Selene)", "network: ib-hdr, ports: 8}");
  says("1600 Gbps node-node RoCE", "network: roce-200g, ports: 8}");
  says("4x100Gb RoCE per node", "network: roce-100g, ports: 4}");
  says("NVLink2 in node; 25 Gbps Ethernet between nodes", "network: tcp-25g, ports: 1}");
  says("NVLINK Gen4 900 GB/s | Storage: 2x ConnectX-7 IB NDR 400Gb/s, Compute: 8x ConnectX-7 IB NDR 400Gb/s",
       "network: ib-ndr, ports: 8}");
  says("NVLINK 4.0 | 1x Ethernet 100Gb/Sec, 8x NVIDIA Quantum-2 CX7 InfiniBand (400Gb/s)",
       "network: ib-ndr, ports: 8}");
  says("NVLINK Gen5 1800 GB/s + NVSWITCH Gen5 | 4x ConnectX-8 IB XDR 800 Gb/s", "network: ib-xdr, ports: 4}");
}

TEST_CASE("NVLink between H100s does not make them H100 NVLs") {
  CHECK(cluster_of("H100", 16, 8, "NVLink4 8-GPU + IB (DGX-H100)").find("type: hgx-h100,") != std::string::npos);
  CHECK(cluster_of("H100 NVL 94GB", 8, 8, "PCIe").find("type: h100-") != std::string::npos);
  CHECK(cluster_of("H100-NVL-94GB", 8, 8, "").find("type: h100-nvl-8,") != std::string::npos);
}

TEST_CASE("an interconnect that says nothing leaves the node type its own network") {
  for (const char* text : {"", "NVLink3 NVSwitch (DGX A100)", "NVLINK Gen5 1800 GB/s + NVSWITCH Gen5 | Ethernet",
                           "18x 5th Gen NVLink, 14.4 TB/s aggregated bandwidth", "NVL72"}) {
    INFO(text);
    CHECK(cluster_of("H100-80GB", 16, 8, text).find("network") == std::string::npos);
  }
}

TEST_CASE("GPUs fill whole nodes, and one in part") {
  CHECK(cluster_of("A100", 4, 8, "") == "cluster:\n  nodes:\n    - {type: dgx-a100-80g, count: 1, gpus: 4}\n");
  const std::string mixed = cluster_of("GB300", 10, 4, "");
  CHECK(mixed.find("{type: gb300-nvl72, count: 2, gpus: 4}") != std::string::npos);
  CHECK(mixed.find("{type: gb300-nvl72, count: 1, gpus: 2}") != std::string::npos);
}

TEST_CASE("the more special name decides") {
  CHECK(cluster_of("H100-80GB PCIe", 8, 8, "").find("h100-pcie-8") != std::string::npos);
  CHECK(cluster_of("H100-80GB", 8, 8, "NVLink4; DGX-H100 NVLink").find("type: hgx-h100,") != std::string::npos);
  CHECK(cluster_of("A100-40GB (DGX-A100)", 8, 8, "").find("dgx-a100-40g") != std::string::npos);
  CHECK(cluster_of("V100-32GB (DGX-2)", 16, 16, "").find("type: dgx-2") != std::string::npos);
  CHECK_THROWS_WITH_AS(cluster_of("Abacus", 1, 1, ""), doctest::Contains("'Abacus'"), Error);
}
