// What a request to DynamoDB costs its sender: against a server on the other core that answers at
// once with the same bytes.
//
//     cmake --preset bench && cmake --build --preset bench --target dynamodb_bench
//     build/bench/bin/dynamodb_bench --benchmark_repetitions=5
//
// "CPU" is the processor time of this process for one request or acquire, "Time" how long one takes
// at so many in flight, divided by them. "requests" is what an acquire asked of the table, so that
// one sees whether the case is what it says.
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
#include "limiter/store_handle.h"
#include "stint/async.h"
#include "store/dynamodb/client.h"
#include "store/dynamodb/dynamodb_engine.h"
#include "store/dynamodb/http.h"
#include "store/image.h"
#include "store/memory/memory_engine.h"
#include "testing/fake_clock.h"

namespace stint::store::dynamodb {
namespace {

constexpr std::int64_t kRequestsAtOnce = 4'000;

/// A store that is a table for the one write of a warm acquire, and memory for everything else:
/// what is remembered is real, and what is measured goes over the wire.
class WarmTable final : public Engine {
 public:
  WarmTable() {
    Capabilities capabilities;
    capabilities.shared_writers = true;
    capabilities.partition_write_ceiling = 1000;
    capabilities.burst_tolerance_divisor = 16;
    capabilities.index_layout = IndexLayout::kCompatible;
    memory_ = make_memory_engine(capabilities);
  }

  Engine& memory() { return *memory_; }
  /// From here on updates go to `table`.
  void use(std::shared_ptr<Engine> table) { table_ = std::move(table); }

  const Capabilities& capabilities() const noexcept override { return memory_->capabilities(); }
  void execute(std::span<Call> calls) noexcept override { memory_->execute(calls); }
  void start(std::span<Call> calls, Steady::time_point deadline,
             Completion& completion) noexcept override {
    bool update = std::holds_alternative<const UpdateRequest*>(calls.front().request);
    if (table_ && update) return table_->start(calls, deadline, completion);
    memory_->execute(calls);
    completion.answered();
  }

 private:
  std::shared_ptr<Engine> memory_;
  std::shared_ptr<Engine> table_;
};

/// A bucket of two limits as its table holds it after an acquire, found in a store in memory.
class Bucket {
 public:
  Bucket()
      : store_(limiter::open_store(engine_, StoreOptions()).value()),
        limiter_(store_, LimiterOptions{.clock = &clock_}) {
    limiter_.blocking()
        .set_limits("entity-1", "api",
                    {Limit::session("session", 1'000'000'000, std::chrono::hours(5)),
                     Limit::per_minute("rpm", 1'000'000'000)})
        .value();
    limiter_.acquire(request()).get().value();
    ScanRequest scan(1000);
    Call call{&scan, {}};
    engine_->memory().execute(std::span<Call>(&call, 1));
    for (const ImagePtr& image : std::get<ScanReply>(call.reply).images) {
      if (image->pk().find("/BUCKET#") != std::string_view::npos) item_ = to_dynamo_json(*image);
    }
  }

  static AcquireRequest request() {
    return {.entity = "entity-1", .resource = "api", .consume = {{"session", 1}, {"rpm", 1}}};
  }
  const std::string& item() const { return item_; }
  WarmTable& engine() { return *engine_; }
  AsyncLimiter& limiter() { return limiter_; }

 private:
  // Stands still, as the canned item does.
  test::FakeClock clock_{TimePoint(std::chrono::seconds(1'800'000'000))};
  std::shared_ptr<WarmTable> engine_ = std::make_shared<WarmTable>();
  Store store_;
  AsyncLimiter limiter_;
  std::string item_;
};

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
  state.SetItemsProcessed(state.iterations());
  if (!fine) state.SkipWithError("a request failed");
}

// The bare exchange, with headers as long as those of a signed request.
void exchange(benchmark::State& state) {
  bench::CannedServer server(bench::canned_update_reply(Bucket().item()));
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
  bench::CannedServer server(bench::canned_update_reply(Bucket().item()));
  std::shared_ptr<HttpClient> http = make_http_client().value();
  ClientOptions options;
  options.region = "us-east-1";
  options.endpoint = server.url();
  std::shared_ptr<Client> client = make_client(http, std::make_shared<FixedKeys>(), options);
  const std::string body = update_body();
  run(state, *http, [&](std::function<void(bool)> done) {
    client->start("UpdateItem", body, Effect::kWrite, Steady::now() + std::chrono::seconds(10),
                  [done = std::move(done)](CallResult result) {
                    done(std::holds_alternative<std::string>(result));
                  });
  });
}

// A whole warm acquire of two limits: decided, written, answered, remembered.
void acquire(benchmark::State& state) {
  Bucket bucket;
  bench::CannedServer server(bench::canned_update_reply(bucket.item()));
  std::shared_ptr<HttpClient> http = make_http_client().value();
  ClientOptions options;
  options.region = "us-east-1";
  options.endpoint = server.url();
  std::shared_ptr<Client> client = make_client(http, std::make_shared<FixedKeys>(), options);
  bucket.engine().use(make_table_engine(http, client, "limits", server.url()));
  const std::uint64_t before = bucket.limiter().blocking().stats().requests;
  run(state, *http, [&bucket](std::function<void(bool)> done) {
    bucket.limiter().acquire(Bucket::request(),
                             [done = std::move(done)](Result<Decision> decision) {
                               done(decision.ok() && static_cast<bool>(*decision));
                             });
  });
  const auto asked = static_cast<double>(bucket.limiter().blocking().stats().requests - before);
  const auto acquires = static_cast<double>(state.iterations() + 4 * state.range(0));
  state.counters["requests"] = asked / acquires;
}

}  // namespace
}  // namespace stint::store::dynamodb

int main(int argc, char** argv) {
  using namespace stint::store::dynamodb;
  for (auto [name, function] :
       {std::pair("dynamodb/exchange", &exchange), std::pair("dynamodb/signed_call", &signed_call),
        std::pair("dynamodb/acquire", &acquire)}) {
    benchmark::RegisterBenchmark(name, function)
        ->Arg(1)
        ->Arg(64)
        ->MeasureProcessCPUTime()
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
  return stint::bench::run_benchmarks(argc, argv);
}
