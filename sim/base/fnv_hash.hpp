#pragma once

#include <cstdint>
#include <string_view>

namespace mirfak {

// FNV-1a, a hash of 64 bits (Fowler, Noll, Vo): the same on every machine, for identifying contents and not
// against attackers.
inline constexpr std::uint64_t kFnvStart = 0xcbf29ce484222325;
inline constexpr std::uint64_t kFnvPrime = 0x100000001b3;

// Return `hash` with more bytes: those of a text, or the lowest `bytes` bytes of a number, lowest first.
constexpr std::uint64_t fnv_hash(std::uint64_t hash, std::string_view text) {
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * kFnvPrime;
  return hash;
}
constexpr std::uint64_t fnv_hash(std::uint64_t hash, std::uint64_t number, int bytes) {
  for (int byte = 0; byte < bytes; ++byte) hash = (hash ^ (number >> (8 * byte) & 0xff)) * kFnvPrime;
  return hash;
}

}  // namespace mirfak
