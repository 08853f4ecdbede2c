// Transfers between meshes of different shape, against what both shardings say that ranks hold and need.

#include "sharding/cross_mesh.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace mirfak;

namespace {

using Pieces = CrossMesh::Pieces;
using Place = CrossMesh::Place;

DeviceMesh mesh_of_sizes(int data, int tensor) {
  return {{"data", data}, {"expert", 1}, {"context", 1}, {"tensor", tensor}};
}

// A microbatch of 24 sequences of 24 tokens: sizes below divide both.
constexpr int kSequences = 24;
constexpr int kTokens = 24;

using Grid = std::vector<int>;  // of each token of each sequence, sequence after sequence

// Returns how often the tokens of a rank's own part stand in its memory; `divided`: tokens over tensor ranks.
Grid held(const DeviceMesh& mesh, const Place& place, bool divided) {
  Grid out(kSequences * kTokens, 0);
  const int tensor = divided ? mesh.size(MeshAxis::tensor) : 1;
  const int part = divided ? place.tensor : 0;
  for (int sequence = 0; sequence < kSequences; ++sequence) {
    for (int token = 0; token < kTokens; ++token) {
      const bool own =
          sequence * mesh.size(MeshAxis::data) / kSequences == place.data && token * tensor / kTokens == part;
      out[static_cast<std::size_t>(sequence * kTokens + token)] = own ? 1 : 0;
    }
  }
  return out;
}

void add(const CrossMesh::Piece& piece, Grid& to) {
  const auto bound = [](double share, int of) { return static_cast<int>(std::lround(share * of)); };
  for (int s = bound(piece.sequences.begin, kSequences); s < bound(piece.sequences.end, kSequences); ++s) {
    for (int t = bound(piece.tokens.begin, kTokens); t < bound(piece.tokens.end, kTokens); ++t) {
      ++to[static_cast<std::size_t>(s * kTokens + t)];
    }
  }
}

int size(const Grid& grid) {
  return static_cast<int>(std::count_if(grid.begin(), grid.end(), [](int n) { return n; }));
}

int sum(const CrossMesh::Piece& piece) {
  return static_cast<int>(std::lround(piece.sequences.length() * kSequences * piece.tokens.length() * kTokens));
}

// Checks the tokens that every rank gets, and that senders hold what they send, in equal messages.
void check(const DeviceMesh& from, const DeviceMesh& to, Pieces pieces, bool divided) {
  const CrossMesh mesh(from, to);
  int senders = 0;
  int receivers = 0;
  for (int group = 0; group < mesh.groups(); ++group) {
    CHECK(static_cast<int>(mesh.senders_of(group).size()) == mesh.senders());
    CHECK(static_cast<int>(mesh.receivers_of(group).size()) == mesh.receivers());
    senders += mesh.senders();
    receivers += mesh.receivers();
    for (const Place& receiver : mesh.receivers_of(group)) {
      Grid got(kSequences * kTokens, 0);
      for (const Place& sender : mesh.senders_of(group)) {
        const CrossMesh::Piece piece = mesh.piece(sender, receiver, pieces);
        const Grid holds = held(from, sender, divided);
        Grid sent(holds.size(), 0);
        add(piece, sent);
        CHECK(std::equal(sent.begin(), sent.end(), holds.begin(), [](int out, int has) { return out <= has; }));
        CHECK(sum(piece) * mesh.messages_in_sender(pieces, divided) == size(holds));
        add(piece, got);
      }
      // Parts of what tensor ranks need alike are what each would hold if tokens were divided.
      CHECK(got == held(to, receiver, divided || pieces == Pieces::parts));
    }
  }
  CHECK(senders == from.size(MeshAxis::data) * from.size(MeshAxis::tensor));
  CHECK(receivers == to.size(MeshAxis::data) * to.size(MeshAxis::tensor));
}

}  // namespace

TEST_CASE("cross-mesh: every receiver gets each token it needs once, in equal messages of what senders hold") {
  for (const int data : {1, 2, 3, 6}) {
    for (const int tensor : {1, 2, 4, 8}) {
      for (const int other_data : {1, 2, 6, 12}) {
        for (const int other_tensor : {1, 2, 4, 8}) {
          if (std::max(data, other_data) % std::min(data, other_data) != 0) continue;
          INFO(tensor << " x " << data << " to " << other_tensor << " x " << other_data);
          const DeviceMesh from = mesh_of_sizes(data, tensor);
          const DeviceMesh to = mesh_of_sizes(other_data, other_tensor);
          check(from, to, Pieces::whole, false);
          check(from, to, Pieces::parts, false);
          check(from, to, Pieces::parts, true);
        }
      }
    }
  }
}

TEST_CASE("cross-mesh: shapes by hand") {
  const CrossMesh fewer(mesh_of_sizes(1, 4), mesh_of_sizes(1, 2));  // two senders for each receiver
  CHECK(fewer.senders() == 2);
  CHECK(fewer.receivers() == 1);
  CHECK(fewer.messages_in_sender(Pieces::whole, false) == 2);  // halves of all that each receiver needs
  CHECK(fewer.messages_in_sender(Pieces::parts, false) == 4);  // halves of half
  CHECK(fewer.messages_in_sender(Pieces::parts, true) == 1);   // a sender's own quarter
  const CrossMesh more(mesh_of_sizes(1, 2), mesh_of_sizes(1, 4));
  CHECK(more.senders() == 1);
  CHECK(more.receivers() == 2);
  CHECK(more.messages_in_sender(Pieces::whole, false) == 1);
  CHECK(more.messages_in_sender(Pieces::parts, false) == 4);
  CHECK(more.messages_in_sender(Pieces::parts, true) == 2);
  const CrossMesh replicas(mesh_of_sizes(2, 1), mesh_of_sizes(4, 1));
  CHECK(replicas.groups() == 2);
  CHECK(replicas.receivers() == 2);
  CHECK(replicas.messages_in_sender(Pieces::whole, false) == 2);
  CHECK_THROWS(CrossMesh(mesh_of_sizes(2, 1), mesh_of_sizes(3, 1)));
}
