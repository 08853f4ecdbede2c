#pragma once

#include "interpreter/device_memory.hpp"
#include "interpreter/divided.hpp"

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace mirfak::interpreter {

// The devices of a mesh, all of which execute the same steps, each on what it holds.
class Devices {
 public:
  Devices(const DividedProgram& program, const Layout& layout, Proof& proof);

  DeviceMemory& memory() { return memory_; }
  const DeviceMemory& memory() const { return memory_; }

  // Executes a list of steps, and what runs without steps of its own among these operators.
  void run(const std::vector<BlockStep>& steps, const std::set<OperatorId>& operators);
  // Forgets activations but those that are kept, which lie at home. What operators keep as they used it, and what
  // passed round a ring, where that left it, stays aside.
  void forget(const std::vector<TensorId>& kept);
  // Forgets copies: what lies at home stays.
  void forget_copies();
  // True if an operator has read the tensor since forget().
  bool was_read(TensorId tensor) const { return read_.contains(tensor); }

 private:
  using Results = std::vector<std::vector<Piece>>;  // by device, then by output

  const OperatorGraph& graph() const { return program_.block.graph; }
  const Sharding& home(TensorId id) const { return program_.block.shardings[static_cast<std::size_t>(id)]; }
  MeshAxisSet used(MeshAxisSet axes) const;
  std::int64_t count_of_devices() const { return layout_.devices(); }

  // devices.cpp
  void make_available(TensorId tensor);
  void run_operator(OperatorId id, const LabelSharding& labels);
  void check_extents(const BlockStep& step, const std::vector<Ranges>& ranges) const;
  const Version& version_for(OperatorId id, const Operand& operand, const std::vector<Ranges>& ranges) const;
  Results compute_all(OperatorId id, const std::vector<Ranges>& ranges,
                      const std::vector<const Version*>& inputs) const;
  void put_results(OperatorId id, const LabelSharding& labels, MeshAxisSet ring, MeshAxisSet partial, Results results);
  void finish_losses(OperatorId id);
  void settle(OperatorId id);
  std::vector<Ranges> ranges_of(const LabelSharding& labels) const;
  std::vector<Operand> operands_of(OperatorId id) const;
  [[noreturn]] void fail(OperatorId id, const std::string& message) const;

  // collectives.cpp
  void run_collective(const BlockStep& step);
  void run_exchange(const BlockStep& step);
  double bytes_of(const BlockStep& step) const;
  void check_bytes(const BlockStep& step, double bytes) const;
  double bytes_of(TensorId tensor, const Piece& piece) const;
  bool takes_largest(TensorId tensor) const;

  // ring.cpp
  using PiecesOfDevices = std::vector<Piece>;
  struct Ring;
  void run_ring(std::span<const BlockStep> steps);
  void start_ring(Ring& ring) const;
  void shift_ring(Ring& ring, const BlockStep& step) const;
  void run_piece_of_ring(Ring& ring, const BlockStep& step) const;
  // Returns the pieces that each device receives from the device `from` places further on.
  PiecesOfDevices received(const PiecesOfDevices& sent, MeshAxis mesh, int from) const;

  // edges.cpp
  struct Edge;
  bool is_of_edges(const BlockStep& step) const;
  void run_edges(std::span<const BlockStep> steps);
  std::size_t run_edges_of_input(const Operand& operand, std::span<const BlockStep> steps);
  std::size_t run_edges_of_result(const Operand& operand, std::span<const BlockStep> steps);
  bool passes_rows(OperatorId id, const Operand& operand) const;
  std::vector<Edge> edges_of(OperatorId id, const Operand& operand) const;
  void check_hop(const BlockStep& step, const Edge& edge, const std::vector<Edge>& edges, std::int64_t rows) const;
  std::vector<Piece> rows_of_part(const Edge& edge, const std::vector<Piece>& pieces, std::int64_t behind,
                                  std::int64_t rows, bool last) const;
  std::vector<Piece> passed_on(const Edge& edge, const std::vector<Piece>& sent, int towards) const;

  // loops.cpp
  void run_loop(std::span<const BlockStep> steps);
  void run_gathering(std::span<const BlockStep> steps);
  void run_scattering(std::span<const BlockStep> steps);
  std::vector<Ranges> ranges_at(const LabelSharding& labels, MeshAxis mesh, int further, Axis label) const;

  const DividedProgram& program_;
  const Layout& layout_;
  Proof& proof_;
  DeviceMemory memory_;
  DeviceMemory aside_;  // as operators used it, of passes before
  mutable std::set<TensorId> read_;
  std::set<OperatorId> waiting_;  // operators without steps that have not run
  std::map<OperatorId, std::pair<std::vector<Ranges>, MeshAxisSet>> unfinished_;  // losses whose classes are divided
  // The pieces that passed round the ring of a forward operator, by tensor and device, as the last kernel read them.
  std::map<OperatorId, std::map<TensorId, std::vector<Piece>>> left_by_ring_;
};

}  // namespace mirfak::interpreter
