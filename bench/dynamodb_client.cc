// One client process of a table, for scripts that measure it beside another program or several of
// it on one bucket: scripts/bench-beside-python, scripts/bench-contention.
//
//     dynamodb_client TABLE [SHORTEST_US LONGEST_US]
//
// Region, endpoint and keys come from the standard places. The two numbers are microseconds that
// each request, and each answer, spends on an artificial way.
//
// One command a line on standard input, one JSON object a line on standard output. Entities of the
// first three are ENTITY-0, ENTITY-1 and so on.
//
//     create                                      the table, compatible with the Python package
//     limits ENTITIES ENTITY RESOURCE NAME=TOKENS_A_MINUTE...   for so many entities
//     steady COUNT IN_FLIGHT ENTITY RESOURCE NAME=TOKENS...
//         COUNT acquires, so many at a time, each of an entity of its own; one at a time: blocking.
//     arrivals A_SECOND SECONDS SETTLED ENTITY RESOURCE NAME=TOKENS...
//         Acquires of this one entity that arrive at random, whether or not others have ended. Of
//         those admitted the part SETTLED (0 to 1) gives half of it back.
#include <sys/resource.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/distant_table.h"
#include "limiter/dynamodb/connection.h"
#include "limiter/store_handle.h"
#include "stint/async.h"
#include "stint/counters.h"
#include "stint/dynamodb.h"
#include "store/dynamodb/dynamodb_engine.h"

namespace stint::bench {
namespace {

#ifdef NDEBUG
constexpr bool kAssertions = false;
#else
constexpr bool kAssertions = true;
#endif

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "dynamodb_client: %s\n", why.c_str());
  std::exit(1);
}

template <typename T>
T checked(Result<T> result) {
  if (!result) give_up(result.error().message());
  return std::move(*result);
}

double number(const std::string& text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || !(value >= 0)) {
    give_up("\"" + text + "\" is not a number of 0 or more");
  }
  return value;
}

std::int64_t whole_number(const std::string& text) {
  return static_cast<std::int64_t>(number(text));
}

/// Processor time of all threads of this process, in seconds.
double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double seconds_since(Steady::time_point begin) {
  return std::chrono::duration<double>(Steady::now() - begin).count();
}

/// The words of one command, taken one after the other.
class Words {
 public:
  explicit Words(const std::string& line) : in_(line) {}

  std::string next() {
    std::string word;
    if (!(in_ >> word)) give_up("the command is too short");
    return word;
  }
  /// What is left, as pairs of a name and a number.
  std::vector<Consume> amounts() {
    std::vector<Consume> found;
    for (std::string word; in_ >> word;) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) give_up("\"" + word + "\" is not NAME=NUMBER");
      found.push_back({word.substr(0, equals), Tokens(whole_number(word.substr(equals + 1)))});
    }
    return found;
  }

 private:
  std::istringstream in_;
};

/// The table with its way, as `open_dynamodb` opens it.
std::pair<Store, std::shared_ptr<DistantTable>> open_distant(const DynamoDbOptions& options,
                                                             Distance distance) {
  const limiter::DynamoDbConnection connection = checked(limiter::connect_dynamodb(options));
  std::shared_ptr<store::dynamodb::TableEngine> engine = store::dynamodb::make_table_engine(
      connection.http, connection.client, connection.table, connection.place());
  StoreOptions as_it_is;
  as_it_is.create_if_missing = false;
  const Store store = checked(limiter::open_store(engine, as_it_is));
  engine->set_layout(store.handle()->record.layout);
  auto distant = std::make_shared<DistantTable>(engine, distance, std::random_device()());
  return {checked(limiter::open_store(distant, as_it_is)), distant};
}

class Client {
 public:
  Client(const DynamoDbOptions& options, Distance distance)
      : Client(open_distant(options, distance)) {}

  void set_limits(Words& words) {
    const std::int64_t entities = whole_number(words.next());
    const std::string entity = words.next();
    const std::string resource = words.next();
    std::vector<Limit> limits;
    for (const Consume& amount : words.amounts()) {
      limits.push_back(
          checked(Limit::per_minute(amount.limit, amount.amount.milli().whole_tokens())));
    }
    for (std::int64_t i = 0; i < entities; ++i) {
      checked(limiter_.blocking().set_limits(entity + "-" + std::to_string(i), resource, limits));
    }
    std::printf("{}\n");
  }

  void run_steadily(Words& words) {
    const std::int64_t count = whole_number(words.next());
    const std::int64_t in_flight = whole_number(words.next());
    const AcquireRequest request = read_request(words);
    const std::uint64_t requests = table_->counts().requests;
    const double processor = processor_seconds();
    const Steady::time_point begin = Steady::now();
    if (in_flight == 1) {
      for (std::int64_t i = 0; i < count; ++i) {
        Decision decision = checked(limiter_.blocking().acquire(for_entity(request, 0)));
        if (!decision) give_up("an acquire was refused");
        if (Status settled = decision.lease().settle(); !settled) {
          give_up(settled.error().message());
        }
      }
    } else {
      keep_in_flight(count, in_flight, request);
    }
    const double wall = seconds_since(begin);
    std::printf("{\"count\":%lld,\"cpu_s\":%.9g,\"wall_s\":%.9g,\"requests\":%llu}\n",
                static_cast<long long>(count), processor_seconds() - processor, wall,
                static_cast<unsigned long long>(table_->counts().requests - requests));
  }

  void take_arrivals(Words& words) {
    const double rate = number(words.next());
    const double seconds = number(words.next());
    const double settled_part = number(words.next());
    const AcquireRequest request = for_entity(read_request(words), 0);
    Arrivals arrivals;
    const TableCounts counts = table_->counts();
    const CounterSnapshot events = counters_.snapshot();
    const double processor = processor_seconds();
    std::mt19937_64 random(std::random_device{}());
    std::exponential_distribution<double> gap(rate);
    std::uniform_real_distribution<double> part(0, 1);

    const Steady::time_point begin = Steady::now();
    std::int64_t begun = 0;
    double at = gap(random);
    for (; at < seconds; at += gap(random)) {
      const Steady::time_point due =
          begin + std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(at));
      std::this_thread::sleep_until(due);
      ++begun;
      const bool settles = part(random) < settled_part;
      // From when it should have begun: a client that is late keeps its callers waiting.
      limiter_.acquire(request, [this, &arrivals, &request, due, settles](Result<Decision> answer) {
        arrivals.took(Steady::now() - due);
        if (!answer) return arrivals.failed(answer.error());
        if (!*answer || !settles) return arrivals.ended(static_cast<bool>(*answer), false);
        Lease lease = std::move(answer->lease());
        for (const Consume& amount : request.consume) {
          const MilliTokens half(amount.amount.milli().count() / 2);
          if (Status given = lease.release(amount.limit, half); !given) {
            return arrivals.failed(given.error());
          }
        }
        limiter_.settle(std::move(lease), [&arrivals](Settled settled) {
          if (!settled.status) return arrivals.failed(settled.status.error());
          arrivals.ended(true, true);
        });
      });
    }
    arrivals.wait_for(begun);
    const double wall = seconds_since(begin);
    const TableCounts now = table_->counts();
    const CounterSnapshot snapshot = counters_.snapshot();
    std::printf(
        "{\"count\":%lld,\"admitted\":%lld,\"settled\":%lld,\"conflicts\":%lld,\"errors\":%lld,"
        "\"from_memory\":%llu,\"requests\":%llu,\"failed_conditions\":%llu,\"troubles\":%llu,"
        "\"cpu_s\":%.9g,\"wall_s\":%.9g,\"latencies_us\":[",
        static_cast<long long>(begun), static_cast<long long>(arrivals.admitted),
        static_cast<long long>(arrivals.settled), static_cast<long long>(arrivals.conflicts),
        static_cast<long long>(arrivals.errors),
        static_cast<unsigned long long>(snapshot.rejected_from_memory -
                                        events.rejected_from_memory),
        static_cast<unsigned long long>(now.requests - counts.requests),
        static_cast<unsigned long long>(now.failed_conditions - counts.failed_conditions),
        static_cast<unsigned long long>(now.troubles - counts.troubles),
        processor_seconds() - processor, wall);
    const char* separator = "";
    for (std::int64_t latency : arrivals.latencies_us) {
      std::printf("%s%lld", separator, static_cast<long long>(latency));
      separator = ",";
    }
    std::printf("]}\n");
  }

 private:
  /// What becomes of acquires that arrive. Told on the threads where they end.
  struct Arrivals {
    std::mutex mutex;
    std::condition_variable changed;
    std::int64_t ends = 0;
    std::int64_t admitted = 0;
    std::int64_t settled = 0;
    std::int64_t conflicts = 0;
    std::int64_t errors = 0;
    std::vector<std::int64_t> latencies_us;

    void took(Steady::duration time) {
      std::lock_guard lock(mutex);
      latencies_us.push_back(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
    }
    void ended(bool was_admitted, bool was_settled) {
      std::lock_guard lock(mutex);
      admitted += was_admitted ? 1 : 0;
      settled += was_settled ? 1 : 0;
      ++ends;
      changed.notify_one();
    }
    void failed(const Error& error) {
      std::lock_guard lock(mutex);
      std::int64_t& so_many = error.code() == ErrorCode::kConflict ? conflicts : errors;
      // The first of each kind tells enough.
      if (so_many == 0) std::fprintf(stderr, "dynamodb_client: %s\n", error.message().c_str());
      ++so_many;
      ++ends;
      changed.notify_one();
    }
    void wait_for(std::int64_t count) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [this, count] { return ends == count; });
    }
  };

  explicit Client(std::pair<Store, std::shared_ptr<DistantTable>> opened)
      : table_(std::move(opened.second)),
        limiter_(std::move(opened.first), LimiterOptions{.observer = &counters_}) {}

  static AcquireRequest read_request(Words& words) {
    AcquireRequest request;
    request.entity = words.next();
    request.resource = words.next();
    request.consume = words.amounts();
    return request;
  }

  static AcquireRequest for_entity(AcquireRequest request, std::int64_t number) {
    request.entity += "-" + std::to_string(number);
    return request;
  }

  void keep_in_flight(std::int64_t count, std::int64_t in_flight, const AcquireRequest& request) {
    std::mutex mutex;
    std::int64_t unsent = count;
    std::int64_t left = count;
    std::promise<void> ended;
    std::vector<AcquireRequest> requests;
    for (std::int64_t i = 0; i < in_flight; ++i) requests.push_back(for_entity(request, i));
    std::function<void(std::size_t)> send_next = [&](std::size_t entity) {
      {
        std::lock_guard lock(mutex);
        if (unsent == 0) return;
        --unsent;
      }
      limiter_.acquire(requests[entity], [&, entity](Result<Decision> answer) {
        if (!checked(std::move(answer))) give_up("an acquire was refused");
        // The lease has ended with the answer: nothing is to be corrected, so nothing is written.
        send_next(entity);
        std::lock_guard lock(mutex);
        if (--left == 0) ended.set_value();
      });
    };
    for (std::size_t i = 0; i < requests.size(); ++i) send_next(i);
    ended.get_future().get();
    // Whoever gave the last answer has left the lock.
    std::lock_guard lock(mutex);
  }

  Counters counters_;
  std::shared_ptr<DistantTable> table_;
  AsyncLimiter limiter_;
};

int serve(const DynamoDbOptions& options, Distance distance) {
  std::unique_ptr<Client> client;
  for (std::string line; std::getline(std::cin, line);) {
    Words words(line);
    const std::string command = words.next();
    if (command == "create") {
      checked(create_table(options, TableLayout::kCompatible));
      std::printf("{\"assertions\":%s}\n", kAssertions ? "true" : "false");
    } else {
      if (!client) client = std::make_unique<Client>(options, distance);
      if (command == "limits") {
        client->set_limits(words);
      } else if (command == "steady") {
        client->run_steadily(words);
      } else if (command == "arrivals") {
        client->take_arrivals(words);
      } else {
        give_up("there is no command \"" + command + "\"");
      }
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace stint::bench

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) {
    std::fputs("usage: dynamodb_client TABLE [SHORTEST_US LONGEST_US]\n", stderr);
    return 2;
  }
  stint::DynamoDbOptions options;
  options.table = argv[1];
  stint::bench::Distance distance;
  if (argc == 4) {
    distance.shortest = std::chrono::microseconds(std::atoll(argv[2]));
    distance.longest = std::chrono::microseconds(std::atoll(argv[3]));
    if (distance.shortest.count() < 0 || distance.longest < distance.shortest) {
      std::fputs("dynamodb_client: the delays have to be 0 or more, the shorter first\n", stderr);
      return 2;
    }
  }
  return stint::bench::serve(options, distance);
}
