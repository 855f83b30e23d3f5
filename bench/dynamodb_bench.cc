// What a request to DynamoDB costs its sender: against a server on the other core that answers at
// once with the same bytes.
//
//     cmake --preset bench && cmake --build --preset bench --target dynamodb_bench
//     build/bench/bin/dynamodb_bench --benchmark_repetitions=5
//
// "CPU" is the processor time of this process for one request, "Time" how long one takes at so many
// in flight, divided by them.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "bench/bench_main.h"
#include "bench/canned_server.h"
#include "store/dynamodb/client.h"
#include "store/dynamodb/http.h"

namespace stint::store::dynamodb {
namespace {

constexpr std::int64_t kRequestsAtOnce = 4'000;

std::string update_body() {
  std::string body = R"({"TableName":"limits","UpdateExpression":"ADD )";
  while (body.size() < 700) body += "#a1 :v1, ";
  return body + "#z :z\"}";
}

// Keeps `in_flight` requests going on the client's own thread until `count` have ended well.
class Stream {
 public:
  /// `send` sends one and says with its argument whether that went well.
  using Send = std::function<void(std::function<void(bool)>)>;

  Stream(HttpClient& http, Send send) : http_(http), send_(std::move(send)) {}

  bool run(std::int64_t count, std::int64_t in_flight) {
    left_ = count;
    unsent_ = count;
    fine_ = true;
    ended_ = std::promise<void>();
    http_.call_at(Steady::now(), [this, in_flight] {
      for (std::int64_t i = 0; i < in_flight; ++i) send_next();
    });
    ended_.get_future().get();
    return fine_;
  }

 private:
  void send_next() {
    if (unsent_ == 0) return;
    --unsent_;
    send_([this](bool fine) {
      fine_ = fine_ && fine;
      if (--left_ == 0) return ended_.set_value();
      send_next();
    });
  }

  HttpClient& http_;
  const Send send_;
  std::int64_t left_ = 0;
  std::int64_t unsent_ = 0;
  bool fine_ = true;
  std::promise<void> ended_;
};

void run(benchmark::State& state, HttpClient& http, Stream::Send send) {
  Stream stream(http, std::move(send));
  // Connections are made before time is taken.
  bool fine = stream.run(4 * state.range(0), state.range(0));
  while (state.KeepRunningBatch(kRequestsAtOnce)) {
    fine = stream.run(kRequestsAtOnce, state.range(0)) && fine;
  }
  if (!fine) state.SkipWithError("a request failed");
}

// The bare exchange, with headers as long as those of a signed request.
void exchange(benchmark::State& state) {
  bench::CannedServer server(bench::canned_update_reply());
  std::shared_ptr<HttpClient> http = make_http_client().value();
  HttpRequest request;
  request.url = server.url() + "/";
  request.headers = {{"content-type", "application/x-amz-json-1.0"},
                     {"x-amz-target", "DynamoDB_20120810.UpdateItem"},
                     {"x-amz-date", "20261201T050000Z"},
                     {"authorization", std::string(250, 'a')}};
  request.body = update_body();
  HttpClient* client = http.get();
  run(state, *http, [&request, client](std::function<void(bool)> done) {
    request.deadline = Steady::now() + std::chrono::seconds(10);
    client->send(request, [done = std::move(done)](HttpReply reply) {
      done(reply.end == HttpEnd::kReply && reply.status == 200);
    });
  });
}

class FixedKeys final : public CredentialProvider {
 public:
  FixedKeys() {
    auto keys = std::make_shared<Credentials>();
    keys->access_key_id = "AKIDEXAMPLEAKIDEXAMP";
    keys->secret_access_key = std::string(40, 's');
    keys_ = keys;
  }
  void get(Done done) override { done(keys_); }
  void refused(const CredentialsPtr&) override {}

 private:
  CredentialsPtr keys_;
};

// The same with a signature for each request, and its checksum verified.
void signed_call(benchmark::State& state) {
  bench::CannedServer server(bench::canned_update_reply());
  std::shared_ptr<HttpClient> http = make_http_client().value();
  ClientOptions options;
  options.region = "us-east-1";
  options.endpoint = server.url();
  std::shared_ptr<Client> client = make_client(http, std::make_shared<FixedKeys>(), options);
  const std::string body = update_body();
  run(state, *http, [&](std::function<void(bool)> done) {
    client->start("UpdateItem", body, true, Steady::now() + std::chrono::seconds(10),
                  [done = std::move(done)](CallResult result) {
                    done(std::holds_alternative<std::string>(result));
                  });
  });
}

}  // namespace
}  // namespace stint::store::dynamodb

int main(int argc, char** argv) {
  using namespace stint::store::dynamodb;
  for (auto [name, function] : {std::pair("dynamodb/exchange", &exchange),
                                std::pair("dynamodb/signed_call", &signed_call)}) {
    benchmark::RegisterBenchmark(name, function)
        ->Arg(1)
        ->Arg(64)
        ->MeasureProcessCPUTime()
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
  return stint::bench::run_benchmarks(argc, argv);
}
