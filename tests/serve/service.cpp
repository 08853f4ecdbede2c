#include "serve/service.hpp"

#include "serve/request_rules.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace service_test {

using namespace mirfak::serve;
using Json = nlohmann::json;

namespace {

const Service& service() {
  static const Service one(mirfak::source_root());
  return one;
}

const std::string kText =
    "model: gpt3-1.3b\n"
    "cluster: {nodes: [{type: dgx-a100-80g, count: 1}]}\n"
    "training: {global_batch: 64}\n"
    "strategy: {tensor: 2, pipeline: 4}\n";

struct Answered {
  int status;
  Json body;
};

Answered answered(const std::string& target, const std::string& body, bool given_up = false) {
  const std::atomic<bool> flag{given_up};
  const HttpAnswer answer = service().answer({"POST", target, {}, body}, flag);
  CHECK(answer.content_type == "application/json");
  return {answer.status, Json::parse(answer.body)};
}

Answered answered(const std::string& target, const Json& body) { return answered(target, body.dump()); }

}  // namespace

TEST_CASE("files that a reader gives become a scenario: as it is, with their model, or imported") {
  const auto given = [](const Json& files) {
    return answered("/api/import", Json{{"files", files}, {"scenario", kText}});
  };
  const Answered scenario = given({{{"name", "s.yaml"}, {"text", kText}}});
  CHECK(scenario.body["text"] == kText);
  CHECK(scenario.body["read_as"] == "scenario");

  const Json config = {{"model_type", "llama"},       {"hidden_size", 4096},     {"intermediate_size", 14336},
                       {"num_attention_heads", 32},   {"num_hidden_layers", 32}, {"num_key_value_heads", 8},
                       {"vocab_size", 128256},        {"hidden_act", "silu"},    {"max_position_embeddings", 8192},
                       {"tie_word_embeddings", false}};
  const Answered model = given({{{"name", "config.json"}, {"text", config.dump()}}});
  REQUIRE(model.status == 200);
  CHECK(model.body["read_as"] == "model");
  const Answered of_config = answered("/api/simulate", Json{{"scenario", model.body["text"]}});
  REQUIRE(of_config.status == 200);
  const Answered of_name = answered("/api/simulate", Json{{"scenario", kText}, {"set", {{"model", "llama3-8b"}}}});
  CHECK(of_config.body["page"]["result"]["model_flop"] == of_name.body["page"]["result"]["model_flop"]);
  CHECK(of_config.body["page"]["result"]["iteration_time_s"] == of_name.body["page"]["result"]["iteration_time_s"]);

  const Answered tuned =
      given({{{"name", "sft.yaml"},
              {"text", "per_device_train_batch_size: 2\nmax_length: 2048\nbf16: true\noutput_dir: o\n"}},
             {{"name", "config.json"}, {"text", config.dump()}},
             {{"name", "config.yaml"}, {"text", "distributed_type: FSDP\nnum_machines: 1\nnum_processes: 8\n"}}});
  REQUIRE(tuned.status == 200);
  CHECK(tuned.body["read_as"] == "trainer");
  const std::string with_nodes =
      tuned.body["text"].get<std::string>() + "\ncluster: {nodes: [{type: hgx-h100, count: 1}]}\n";
  const Answered simulated = answered("/api/simulate", Json{{"scenario", with_nodes}});
  REQUIRE_MESSAGE(simulated.status == 200, simulated.body.dump());
  CHECK(simulated.body["scenario"]["resolved"]["model"]["layers"] == 32);

  const std::string script =
      "torchrun --nproc-per-node 8 --nnodes 2 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads "
      "16 "
      "--seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --vocab-size 50304 "
      "--tensor-model-parallel-size 2 --bf16\n";
  const Answered imported = given({{{"name", "run.sh"}, {"text", script}}});
  REQUIRE(imported.status == 200);
  CHECK(imported.body["read_as"] == "launch-script");
  CHECK(imported.body["text"].get<std::string>().find("tensor: 2") != std::string::npos);
  CHECK(imported.body["obstacles"][0].get<std::string>().find("--nodes") != std::string::npos);
}

TEST_CASE("a script that is given to the page reads no file of this machine") {
  const std::string here = mirfak::source_root() + "/scenarios/launch/pretrain_llama3_8b.sh";
  const auto given = [](const std::string& sourced) {
    const std::string script =
        "source " + sourced + "\ntorchrun pretrain_gpt.py --num-layers 24 --hidden-size 2048 $REST\n";
    return answered("/api/import", Json{{"files", {{{"name", "run.sh"}, {"text", script}}}}});
  };
  const Answered there = given(here);
  const Answered nowhere = given("/nowhere/pretrain_llama3_8b.sh");
  CHECK(there.status == nowhere.status);
  std::string text = there.body.dump();
  for (std::size_t at = text.find(here); at != std::string::npos; at = text.find(here)) {
    text.replace(at, here.size(), "/nowhere/pretrain_llama3_8b.sh");
  }
  CHECK(text == nowhere.body.dump());
}

TEST_CASE("a body of files that is none is refused") {
  for (const char* body :
       {"{}", R"({"files": []})", R"({"files": {}})", R"({"files": [1]})", R"({"files": [{"name": "a"}]})",
        R"({"files": [{"name": "", "text": ""}]})", R"({"files": [{"name": "a", "text": 1}]})",
        R"({"files": [{"name": "a", "text": "", "path": "b"}]})", R"({"set": {}, "files": []})"}) {
    CAPTURE(body);
    CHECK(answered("/api/import", std::string(body)).status == 400);
  }
}

TEST_CASE("a scenario is simulated as text or as an object") {
  const Answered text = answered("/api/simulate", Json{{"scenario", kText}});
  REQUIRE(text.status == 200);
  CHECK(text.body["scenario"]["text"] == kText);
  CHECK(text.body["scenario"]["stated"]["strategy"]["tensor"] == 2);
  CHECK(text.body["scenario"]["resolved"]["strategy"]["micro_batch"] == 1);
  CHECK(text.body["shortage"].is_null());
  const Json object = {{"model", "gpt3-1.3b"},
                       {"cluster", {{"nodes", {{{"type", "dgx-a100-80g"}, {"count", 1}}}}}},
                       {"training", {{"global_batch", 64}}},
                       {"strategy", {{"tensor", 2}, {"pipeline", 4}}}};
  const Answered same = answered("/api/simulate", Json{{"scenario", object}});
  REQUIRE(same.status == 200);
  CHECK(same.body["page"]["result"]["iteration_time_s"] == text.body["page"]["result"]["iteration_time_s"]);
}

TEST_CASE("keys are changed before, and an error stands at its place in the changed text") {
  const Answered changed = answered(
      "/api/simulate", Json{{"scenario", kText}, {"set", {{"strategy.tensor", 4}, {"strategy.pipeline", nullptr}}}});
  REQUIRE(changed.status == 200);
  CHECK(changed.body["scenario"]["stated"]["strategy"] == Json{{"tensor", 4}});
  const Answered wrong = answered("/api/simulate", Json{{"scenario", kText}, {"set", {{"strategy.tensr", 4}}}});
  CHECK(wrong.status == 400);
  CHECK(wrong.body["error"]["line"] == 4);
  CHECK(wrong.body["error"]["column"].get<int>() ==
        static_cast<int>(std::string("strategy: {tensor: 2, pipeline: 4, ").size()) + 1);
  CHECK(wrong.body["error"]["hint"] == "did you mean 'tensor'?");
  CHECK(wrong.body["text"].get<std::string>().find("tensr: 4}") != std::string::npos);
  CHECK(wrong.body["stated"]["strategy"]["tensr"] == 4);
  const Answered indivisible = answered("/api/simulate", Json{{"scenario", kText}, {"set", {{"strategy.tensor", 3}}}});
  CHECK(indivisible.status == 422);
}

TEST_CASE("a job that does not fit in memory is an answer") {
  const Answered full = answered("/api/simulate", Json{{"scenario", kText}, {"set", {{"model", "gpt3-175b"}}}});
  REQUIRE(full.status == 200);
  CHECK(full.body["page"]["result"]["fits"] == false);
  CHECK(full.body["shortage"]["message"].get<std::string>().find("GiB") != std::string::npos);
}

TEST_CASE("bodies that are none of this are refused with a word on what was expected") {
  for (const std::string body :
       {"", "nonsense", "[]", "{}", "{\"scenario\": 1}", "{\"scenario\": \"\", \"sett\": {}}",
        "{\"scenario\": \"a: 1\", \"set\": []}", "{\"scenario\": \"a: 1\", \"time_limit_s\": -1}",
        "{\"scenario\": \"a: 1\", \"time_limit_s\": 1e9}", "{\"scenario\": \"\\ud800\"}",
        "{\"scenario\": \"a: \xff\"}"}) {
    CAPTURE(body);
    const Answered refused = answered("/api/simulate", body);
    CHECK(refused.status == 400);
    CHECK(!refused.body["error"]["message"].get<std::string>().empty());
  }
}

TEST_CASE("deep and large texts end in a message") {
  const std::string deep(100'000, '[');
  CHECK(answered("/api/simulate", deep).status == 400);
  CHECK(answered("/api/simulate", "{\"scenario\": " + deep).status == 400);
  CHECK(answered("/api/simulate", Json{{"scenario", "a: " + deep}}).status == 400);
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'l'; ++c)
    bomb += std::string(1, c) + ": &" + c + " [*" + static_cast<char>(c - 1) + ", *" + static_cast<char>(c - 1) +
            ", *" + static_cast<char>(c - 1) + ", *" + static_cast<char>(c - 1) + "]\n";
  CHECK(answered("/api/simulate", Json{{"scenario", bomb}}).status == 400);
}

TEST_CASE("files are refused at their place, and so are several jobs") {
  const Answered file = answered("/api/simulate", Json{{"scenario", kText}, {"set", {{"model", "/etc/passwd"}}}});
  CHECK(file.status == 400);
  CHECK(file.body["error"]["line"] == 1);
  CHECK(file.body["error"]["column"] == 8);
  const Answered missing = answered("/api/simulate", Json{{"scenario", kText}, {"set", {{"model", "/no/such/file"}}}});
  CHECK(missing.body["error"]["message"].get<std::string>().find("files are not read here") != std::string::npos);
  const Answered jobs = answered(
      "/api/simulate", Json{{"scenario", "cluster: {nodes: [{type: hgx-h100, count: 2}]}\njobs: {a: x.yaml}\n"}});
  CHECK(jobs.status == 400);
  CHECK(jobs.body["error"]["message"].get<std::string>().find("several jobs") != std::string::npos);
  CHECK(answered("/api/search", Json{{"scenario", kText}, {"set", {{"search.space.schedule", "./a.csv"}}}}).status ==
        400);
}

TEST_CASE("keys that change nothing are told apart") {
  const Answered notes = answered("/api/notes", Json{{"scenario", kText}, {"set", {{"strategy.microbatch_group", 2}}}});
  REQUIRE(notes.status == 200);
  REQUIRE(notes.body["notes"].size() == 1);
  CHECK(notes.body["notes"][0].get<std::string>().starts_with("scenario:4:"));
}

TEST_CASE("a search finds scenarios that simulate to what it says") {
  const Answered found =
      answered("/api/search", Json{{"scenario", kText}, {"set", {{"strategy", nullptr}, {"search.top", 3}}}});
  REQUIRE(found.status == 200);
  CHECK(found.body["page"]["result"]["complete"] == true);
  const Json& strategies = found.body["page"]["result"]["strategies"];
  REQUIRE(strategies.size() == 3);
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    const Answered again = answered("/api/simulate", Json{{"scenario", found.body["page"]["scenarios"][i]}});
    REQUIRE(again.status == 200);
    CHECK(again.body["page"]["result"]["iteration_time_s"] == strategies[i]["iteration_time_s"]);
    CHECK(again.body["page"]["explanation"] == found.body["page"]["explanations"][i]);
  }
}

TEST_CASE("a search that is out of time says so") {
  const std::string large =
      "model: gpt3-175b\ncluster: {nodes: [{type: dgx-a100-80g, count: 384}]}\ntraining: {global_batch: 3072}\n";
  const Answered stopped = answered("/api/search", Json{{"scenario", large}, {"time_limit_s", 0.01}});
  REQUIRE(stopped.status == 200);
  CHECK(stopped.body["page"]["result"]["complete"] == false);
}

TEST_CASE("what nobody waits for is given up") {
  CHECK(answered("/api/simulate", Json{{"scenario", kText}}.dump(), true).status == 503);
}

namespace {

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

// Lowering, execution, accounts of time and links, and what is explained: whatever it is at, it looks at its flag.
TEST_CASE("a large simulation is given up soon, whenever that is") {
  const std::string text =
      "model: gpt3-175b\ncluster: {nodes: [{type: dgx-a100-80g, count: 160}], fabric: {type: fat-tree, routing: "
      "hashed, "
      "oversubscription: 4}}\ntraining: {global_batch: 1280}\nstrategy: {tensor: 8, pipeline: 8, data: 20}\n";
  const HttpRequest request{"POST", "/api/simulate", {}, Json{{"scenario", text}}.dump()};
  std::atomic<bool> never{false};
  int status = 0;
  const double whole_s = seconds_of([&] { status = service().answer(request, never).status; });
  REQUIRE(status == 200);
  int given_up_count = 0;
  for (int tenth = 1; tenth < 9; tenth += 2) {
    CAPTURE(tenth);
    std::atomic<bool> given_up{false};
    const double limit_s = whole_s * tenth / 10;
    std::thread clock([&] {
      std::this_thread::sleep_for(std::chrono::duration<double>(limit_s));
      given_up = true;
    });
    const double took_s = seconds_of([&] { status = service().answer(request, given_up).status; });
    clock.join();
    CHECK(took_s - limit_s < 0.5 * whole_s);
    if (status == 503) ++given_up_count;
  }
  CHECK(given_up_count >= 2);  // the others were faster than the first
}

TEST_CASE("many threads are answered alike") {
  const std::string body = Json{{"scenario", kText}}.dump();
  const auto time_of = [&] { return answered("/api/simulate", body).body["page"]["result"]["iteration_time_s"]; };
  const Json expected = time_of();
  std::vector<Json> times(8);
  std::vector<std::thread> threads;
  for (Json& time : times) threads.emplace_back([&] { time = time_of(); });
  for (std::thread& thread : threads) thread.join();
  for (const Json& time : times) CHECK(time == expected);
}

TEST_CASE("the catalogue has what the form offers") {
  const std::atomic<bool> flag{false};
  const Json catalogue = Json::parse(service().answer({"GET", "/api/catalogue", {}, {}}, flag).body);
  for (const char* key : {"models", "nodes", "frameworks", "schedules"}) CHECK(catalogue[key].size() > 3);
  CHECK(catalogue["schema"]["properties"].contains("strategy"));
  CHECK(answered("/api/simulate", Json{{"scenario", catalogue["start"]}}).status == 200);
}

}  // namespace service_test
