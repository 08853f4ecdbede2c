#include "validation/run_words.hpp"

#include <doctest/doctest.h>

using namespace mirfak;

TEST_CASE("switches are read without regard to case, whole keys only") {
  const RunWords words("MC_TP_OVERLAP_AG=True; TP_COMM_OVERLAP=0; framework=\"pytorch-fsdp\", SP=maybe");
  CHECK(words.switch_of("mc_tp_overlap_ag") == true);
  CHECK(words.switch_of("tp_comm_overlap") == false);
  CHECK_FALSE(words.switch_of("tp_overlap_ag"));  // only the end of a longer key
  CHECK_FALSE(words.switch_of("sp"));
  CHECK(words.value_of("framework") == "pytorch-fsdp");
}

TEST_CASE("a name has words of letters and of digits") {
  CHECK(name_words("LLaMA3.1-8B") == std::vector<std::string>{"llama", "3", "1", "8", "b"});
  CHECK(name_words("").empty());
}
