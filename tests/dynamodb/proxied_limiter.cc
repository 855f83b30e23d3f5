#include "tests/dynamodb/proxied_limiter.h"

#include <atomic>
#include <utility>

#include "tests/support/dynamodb_table.h"
#include "tests/support/seed.h"

namespace stint::test {
namespace {

std::atomic<std::uint64_t> worlds_made{0};
std::atomic<std::uint64_t> limiters_made{0};

DynamoDbOptions through(const FaultyProxy& proxy, Millis attempt) {
  DynamoDbOptions options = proxy.options(common_table());
  options.attempt_timeout = attempt;
  return options;
}

/// Shared by all bystanders: opened once, past every proxy.
const Store& straight_store() {
  static const Store store = [] {
    DynamoDbOptions patient = server_options(common_table());
    patient.attempt_timeout = kAmpleTime;
    return open_dynamodb(patient).value();
  }();
  return store;
}

}  // namespace

const std::string& common_table() {
  static const std::string name = [] {
    std::string made = new_table_name();
    create_table(server_options(made), TableLayout::kCompatible).value();
    return made;
  }();
  return name;
}

ProxiedLimiter::ProxiedLimiter() : ProxiedLimiter(Times()) {}

ProxiedLimiter::ProxiedLimiter(Times times)
    : name_space_("world-" + std::to_string(++worlds_made)),
      seed_(seed()),
      times_(times),
      store(open_dynamodb(through(*proxy, times.attempt)).value()),
      limiter(store, options()) {}

LimitList ProxiedLimiter::limits(std::int64_t capacity) {
  return {Limit::rate("r", capacity, 1, 1s), Limit::session("s", capacity, 1h)};
}

void ProxiedLimiter::configure(const LimitList& limits) {
  bystander().set_limits(Scope::system(), limits).value();
}

void ProxiedLimiter::cascade() {
  Limiter other = bystander();
  other.create_entity(kParent).value();
  other.create_entity(kUser, {.parent = kParent, .cascade = true}).value();
}

LimiterOptions ProxiedLimiter::options() {
  LimiterOptions made;
  made.name_space = name_space_;
  made.clock = &clock;
  made.observer = &events;
  made.timeout = times_.call;
  made.seed = seed_ + (++limiters_made << 32);
  // What a limiter remembers must not answer for the table.
  made.rejection_ttl = Millis(0);
  return made;
}

Limiter ProxiedLimiter::bystander() {
  LimiterOptions made = options();
  made.observer = nullptr;
  made.timeout = kAmpleTime;
  return Limiter(straight_store(), made);
}

AcquireRequest ProxiedLimiter::request(std::int64_t amount, OnUnavailable policy) {
  return {.entity = kUser,
          .resource = kApi,
          .consume = {{"r", amount}, {"s", amount}},
          .on_unavailable = policy};
}

Result<Decision> ProxiedLimiter::acquire(std::int64_t amount, OnUnavailable policy) {
  return limiter.acquire(request(amount, policy));
}

Result<Decision> ProxiedLimiter::acquire_calmly(std::int64_t amount) {
  AcquireRequest calm = request(amount);
  calm.timeout = kAmpleTime;
  return limiter.acquire(calm);
}

std::int64_t ProxiedLimiter::left(const std::string& limit, const std::string& entity) {
  return find_status(bystander().available(entity, kApi).value().limits, limit, entity)
      .remaining.whole_tokens();
}

std::optional<TimePoint> ProxiedLimiter::window_start(const std::string& entity) {
  Explanation seen = bystander().explain(entity, kApi).value();
  for (const LimitExplanation& limit : seen.buckets.at(0).limits) {
    if (limit.limit.name() == "s") return limit.window_start;
  }
  ADD_FAILURE() << "no limit s of " << entity;
  return std::nullopt;
}

}  // namespace stint::test
