#pragma once

#include "../block/block_fixture.hpp"

#include <string>
#include <vector>

namespace mirfak::test {

// Blocks of every kind that plans are made for.
struct BlockText {
  std::string name;
  std::string text;
  block::Sizes sizes;
};

inline const std::string kMlpText = R"(block mlp(hidden, ffn):
  axes   b=batch s=sequence h=hidden f=ffn
  input  x[b s h]
  param  w1[h f] linear  w2[f h] linear
  u[b s f]   = gelu(x[b s h] w1[h f])
  out[b s h] = u[b s f] w2[f h])";

inline const std::string kLayerText = R"(block layer(hidden, heads, head_dim, ffn):
  axes   b=batch s=sequence h=hidden k=heads d=head_dim f=ffn
  input  x[b s h]
  param  n1[h] wq[h k d] linear  wk[h k d] linear  wv[h k d] linear  wo[k d h] linear  n2[h]
         w1[h f] linear  b1[f]  w2[f h] linear
  a[b s h]      = rms_norm(x, n1; h)
  q[b s k d]    = a[b s h] wq[h k d]
  t[b s' k d]   = a[b s' h] wk[h k d]
  v[b s' k d]   = a[b s' h] wv[h k d]
  c[b s k d]    = attention(q, t, v; s, s', causal)
  r[b s h]      = x + (c[b s k d] wo[k d h])[b s h]
  m[b s h]      = rms_norm(r, n2; h)
  u[b s f]      = gelu((m[b s h] w1[h f])[b s f] + b1)
  out[b s h]    = r + (u[b s f] w2[f h])[b s h])";

inline const std::string kMixtureText = R"(block mixture(hidden, experts, expert_ffn, per_token):
  axes   b=batch s=sequence h=hidden c=experts e=experts f=expert_ffn
  input  x[b s h]
  param  router[h c] fp32  w1[e h f]  w2[e f h]
  p[b s c] fp32        = x[b s h] router[h c]
  g[b s c] fp32        = route(p; c, k=per_token)
  (y[b s e h], o[b s e] fp32) = dispatch(x, g; c -> e, k=per_token)
  u[b s e f]           = gelu(y[b s e h] w1[e h f])
  z[b s e h]           = (u[b s e f] w2[e f h])[b s e h] * o
  out[b s h]           = combine(z; e))";

inline const std::string kConvolutionText = R"(block convolution(channels, wide, image, taps):
  axes   b=batch i=image j=image p=taps q=taps c=channels @tensor o=wide @tensor
  input  x[b i j c]
  param  w[p q c o] linear  n[o]
  y[b i j o]   = x[b i+p-1 j+q-1 c] w[p q c o]
  out[b i j o] = relu(y * n))";

inline const std::string kEmbeddingText = R"(block embedding(hidden, vocab):
  axes   b=batch s=sequence h=hidden v=vocab
  input  ids[b s] int64
  param  table[v h]  n[h]
  e[b s h]   = gather(table, ids; v)
  out[b s h] = rms_norm(e, n; h))";

inline const std::string kHeadText = R"(block head(hidden, vocab):
  axes   b=batch s=sequence h=hidden v=vocab
  input  x[b s h]
  param  n[h]  table[v h] linear
  a[b s h]      = rms_norm(x, n; h)
  logits[b s v] = a[b s h] table[v h]
  loss[b s] fp32 = cross_entropy(logits; v))";

inline std::vector<BlockText> block_texts() {
  return {
      {"mlp", kMlpText, {{"batch", 16}, {"sequence", 64}, {"hidden", 256}, {"ffn", 1024}}},
      {"layer",
       kLayerText,
       {{"batch", 16}, {"sequence", 64}, {"hidden", 1024}, {"heads", 16}, {"head_dim", 64}, {"ffn", 4096}}},
      {"mixture",
       kMixtureText,
       {{"batch", 16}, {"sequence", 64}, {"hidden", 256}, {"experts", 16}, {"expert_ffn", 512}, {"per_token", 2}}},
      {"convolution",
       kConvolutionText,
       {{"batch", 32}, {"sequence", 1}, {"channels", 64}, {"wide", 128}, {"image", 16}, {"taps", 3}}},
      {"embedding", kEmbeddingText, {{"batch", 16}, {"sequence", 64}, {"hidden", 256}, {"vocab", 4096}}},
      {"head", kHeadText, {{"batch", 16}, {"sequence", 64}, {"hidden", 256}, {"vocab", 4096}}},
  };
}

}  // namespace mirfak::test
