#include "bench/cases.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "bench/world.h"

namespace stint::bench {
namespace {

using namespace std::chrono_literals;

template <typename Step>
class ScenarioOf final : public Scenario {
 public:
  ScenarioOf(const WorldOptions& options, Step one_step)
      : world_(options), step_(std::move(one_step)) {}
  World& world() { return world_; }
  void step(int caller) override { step_(world_, world_.caller(caller)); }
  RequestStats stats() const override { return world_.limiter.stats(); }

 private:
  World world_;
  Step step_;
};

/// `prepare(world)` runs once, `step(world, caller)` again and again.
template <typename Prepare, typename Step>
auto maker(WorldOptions options, Prepare prepare, Step step) {
  return [options, prepare, step]() -> std::unique_ptr<Scenario> {
    auto scenario = std::make_unique<ScenarioOf<Step>>(options, step);
    prepare(scenario->world());
    return scenario;
  };
}

Store open_rocksdb(const std::string& directory) { return open_embedded(directory).value(); }

void fill(World& world) { world.fill(); }

/// What was remembered is never too old to reject by.
void fill_and_stop_time(World& world) {
  world.clock.set_step(0ms);
  world.fill();
}

void acquire(World& world, Caller& caller) {
  Decision decision = world.limiter.acquire(caller.request).value();
  require(static_cast<bool>(decision), "a request was rejected");
}

void decide(World& world, Caller& caller) {
  caller.choose();
  acquire(world, caller);
}

void decide_ahead(World& world, Caller& caller) {
  world.limiter.prefetch(caller.choose_ahead(), kResource);
  acquire(world, caller);
}

void decide_one_entity(World& world, Caller& caller) {
  caller.request.entity = "entity-0";
  acquire(world, caller);
}

void be_rejected(World& world, Caller& caller) {
  caller.choose();
  Decision decision = world.limiter.acquire(caller.request).value();
  require(decision.outcome() == Outcome::kRejected, "a request was not rejected");
}

void adjust_and_settle(World& world, Caller& caller) {
  caller.choose();
  Decision decision = world.limiter.acquire(caller.request).value();
  require(static_cast<bool>(decision), "a request was rejected");
  decision.lease().adjust("rpm", 5).value();
  decision.lease().settle().value();
}

void ask_what_is_left(World& world, Caller& caller) {
  caller.choose();
  require(world.limiter.available(caller.request.entity, kResource, caller.request.consume)
              .value()
              .fits,
          "nothing is available");
}

void explain(World& world, Caller& caller) {
  caller.choose();
  require(!world.limiter.explain(caller.request.entity, kResource).value().buckets.empty(),
          "no bucket is explained");
}

/// Every entity but the first ten is a child of one of these ten, which have `parent_limits` of
/// their own, if any.
void found_families(World& world, std::size_t entities, const LimitList& parent_limits) {
  constexpr std::size_t kParents = 10;
  std::string name;
  std::string parent;
  for (std::size_t i = 0; i < entities; ++i) {
    name_entity(i, name);
    EntityOptions options;
    if (i >= kParents) {
      name_entity(i % kParents, parent);
      options.parent = parent;
      options.cascade = true;
    }
    world.limiter.create_entity(name, options).value();
    if (i < kParents && !parent_limits.limits().empty()) {
      world.limiter.set_limits(name, kResource, parent_limits).value();
    }
  }
  world.fill();
}

/// Decisions of children only.
void decide_for_child(World& world, Caller& caller) {
  do {
    caller.choose();
  } while (caller.request.entity.size() == std::string_view("entity-0").size());
  acquire(world, caller);
}

LimitList calendar_with_schedule() {
  return {Limit::calendar("session", kPlenty, "0 0 1 * *", "Europe/Berlin")
              .value()
              .with_schedule({LevelEntry::scaled("* 8-17 * * 1-5", 0.5).value(),
                              LevelEntry::scaled("* * * * 0,6", 2).value()},
                             "Europe/Berlin"),
          Limit::per_second("rpm", 1'000'000)};
}

class Cases {
 public:
  Cases() {
    add_memory_decisions();
    add_memory_operations();
    add_memory_threads();
    add_rocksdb();
  }
  std::vector<Case> take() { return std::move(cases_); }

 private:
  Case& add(std::string name, std::string about, std::function<std::unique_ptr<Scenario>()> make) {
    return cases_.emplace_back(
        Case{.name = std::move(name), .about = std::move(about), .make = std::move(make)});
  }

  static WorldOptions of(std::size_t entities, LimitList limits = two_limits()) {
    WorldOptions options;
    options.entities = shrunk(entities);
    options.limits = std::move(limits);
    return options;
  }

  void add_memory_decisions() {
    for (std::size_t entities : {100, 100'000}) {
      const std::string number = "/" + std::to_string(entities);
      add("memory/decision" + number, "acquire of a session quota and a rate, warm",
          maker(of(entities), fill, decide))
          .latency = true;
      add("memory/decision_ahead" + number, "the same, with a prefetch of the request 12 ahead",
          maker(of(entities), fill, decide_ahead))
          .latency = true;
      add("memory/local_rejection" + number, "rejected by what is remembered, nothing asked",
          maker(of(entities, two_limits(1)), fill_and_stop_time, be_rejected))
          .latency = true;
    }
    WorldOptions counted = of(100);
    counted.counted = true;
    add("memory/decision_counted/100", "the decision with an observer that counts its events",
        maker(counted, fill, decide));
    counted.limits = two_limits(1);
    add("memory/local_rejection_counted/100", "the rejection with an observer that counts",
        maker(counted, fill_and_stop_time, be_rejected));
    for (int limits : {1, 4, 12}) {
      add("memory/limits_" + std::to_string(limits),
          "acquire of so many limits, quotas and rates in turn",
          maker(of(100, many_limits(limits)), fill, decide));
    }
    add("memory/fast_form", "two limits while no time passes: debits that move no refill stamp",
        maker(of(100), fill_and_stop_time, decide));
    add("memory/calendar_schedule", "a calendar quota with a level schedule, and a rate",
        maker(of(100, calendar_with_schedule()), fill, decide));
    WorldOptions forgetful = of(100);
    forgetful.config_ttl = 0ms;
    add("memory/config_read", "two limits whose configuration is too old and read anew every time",
        maker(forgetful, fill, decide));
  }

  void add_memory_operations() {
    // Ten of them are parents; at least one child must be left.
    const std::size_t family = std::max<std::size_t>(shrunk(100), 20);
    WorldOptions families;
    families.entities = family;
    add("memory/cascade_equal", "child and parent of the same two limits",
        maker(
            families, [family](World& world) { found_families(world, family, {}); },
            decide_for_child));
    LimitList of_parents = {Limit::session("session", kPlenty, 24h * 7),
                            Limit::per_second("rpm", 2'000'000),
                            Limit::per_hour("hourly", 1'000'000'000)};
    add("memory/cascade_unequal", "child of two limits, parent of three others",
        maker(
            families,
            [family, of_parents](World& world) { found_families(world, family, of_parents); },
            decide_for_child));
    add("memory/adjust_and_settle", "acquire, a correction of one limit, settle",
        maker(of(100), fill, adjust_and_settle));
    add("memory/available", "what is left of two limits", maker(of(100), fill, ask_what_is_left));
    add("memory/explain", "explanation of a bucket of two limits", maker(of(100), fill, explain));
    add_first_use("memory/first_use", {});
  }

  void add_memory_threads() {
    for (int callers : {1, 2, 4, 16}) {
      WorldOptions options = of(1);
      add_threads("memory/one_entity", "every caller wants the same bucket", options, callers,
                  decide_one_entity);
      if (callers <= 2) {
        add_threads("memory/many_entities", "100,000 entities, any caller", of(100'000), callers,
                    decide);
      }
    }
  }

  template <typename Step>
  Case& add_threads(const std::string& name, const std::string& about, WorldOptions options,
                    int callers, Step step) {
    // One caller, too, goes by the system's clock, or it could not be compared.
    options.system_clock = true;
    options.callers = callers;
    Case& added = add(name, about, maker(options, fill, step));
    added.callers = callers;
    added.waits = true;
    return added;
  }

  void add_rocksdb() {
    for (std::size_t entities : {100, 100'000}) {
      for (int callers : {1, 2}) {
        WorldOptions options = of(entities);
        options.open = open_rocksdb;
        add_threads("rocksdb/decision/" + std::to_string(entities),
                    "acquire of a session quota and a rate, warm, log not synced", options, callers,
                    decide)
            .latency = true;
      }
    }
    add_first_use("rocksdb/first_use", open_rocksdb);
  }

  void add_first_use(const std::string& name,
                     const std::function<Store(const std::string&)>& open) {
    WorldOptions options = of(50'000);
    options.open = open;
    auto step = [number = std::size_t{0}](World& world, Caller& caller) mutable {
      name_entity(number++, caller.request.entity);
      acquire(world, caller);
    };
    Case& added = add(name, "the first request of an entity, which creates its bucket",
                      maker(
                          options, [](World&) {}, step));
    added.steps = static_cast<std::int64_t>(options.entities);
    added.waits = static_cast<bool>(open);
  }

  std::vector<Case> cases_;
};

}  // namespace

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = Cases().take();
  return cases;
}

const Case* find_case(std::string_view name) {
  for (const Case& one : all_cases()) {
    if (one.name == name && one.callers == 1) return &one;
  }
  return nullptr;
}

}  // namespace stint::bench
