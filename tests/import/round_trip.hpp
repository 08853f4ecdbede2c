// Functions that tests share in which a job is written for a program and read back as the same strategy.

#pragma once

#include "program/job.hpp"

#include <initializer_list>
#include <random>

namespace mirfak {

template <typename T>
T drawn(std::mt19937& random, std::initializer_list<T> choices) {
  return *(choices.begin() + random() % choices.size());
}

// The strategy without what decides nothing where other fields say so.
Strategy meant_strategy(const Job& job);

// Checks each field of it, batch, length of sequences, precision and layers.
void check_same_strategy(const Job& before, const Job& after);

}  // namespace mirfak
