// A process of stint that lives on: one command a line on standard input, as a JSON object; one
// answer a line on standard output. For tests that alternate with another program and want this one
// to remember what it has seen.
//
//     interop_driver STORE [NAMESPACE]
//
// Every command may carry "now_ms", where the clock is set to. Amounts are texts such as "1.5".
//
//     {"op":"acquire","entity":E,"resource":R,"consume":{L:A},"limits":[SPEC],"lease":NAME}
//         "limits" of this call, optional. With "lease" the lease stays open under that name.
//     {"op":"take","lease":NAME,"limit":L,"amount":A}     more of it, into debt if need be
//     {"op":"release","lease":NAME,"limit":L,"amount":A}
//     {"op":"settle","lease":NAME}, {"op":"roll_back","lease":NAME}
//     {"op":"available","entity":E,"resource":R}
//     {"op":"burst","entity":E,"resource":R,"consume":{L:A},"release":{L:A},"count":N,"threads":T}
//         N acquires on T threads at once, each of which gives back what "release" says if it is
//         there; how many ended how, and how many of the admitted could not be settled.
//     {"op":"set_access","entity":E or absent,"resource":R,"access":"enforce|disabled|bypass"}
//     {"op":"set_cascade","entity":E or absent,"resource":R,"cascade":true or false}
//     {"op":"forget"}, {"op":"requests"}
#include <atomic>
#include <cstdint>
#include <iostream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/json_writer.h"
#include "cli/limit_grammar.h"
#include "cli/number_text.h"
#include "cli/render.h"
#include "cli/store_address.h"
#include "stint/limiter.h"
#include "stint/store.h"
#include "testing/fake_clock.h"

namespace stint::test {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& command, const char* member) {
  return command.at(member).get<std::string>();
}

Result<std::vector<Consume>> read_amounts(const Json& command, const char* member) {
  std::vector<Consume> amounts;
  for (const auto& [limit, text] : command.at(member).items()) {
    Result<MilliTokens> amount = cli::parse_amount(member, text.get<std::string>());
    if (!amount) return amount.error();
    amounts.push_back({limit, *amount});
  }
  return amounts;
}

Result<AcquireRequest> read_request(const Json& command) {
  AcquireRequest request;
  request.entity = text_of(command, "entity");
  request.resource = text_of(command, "resource");
  Result<std::vector<Consume>> consume = read_amounts(command, "consume");
  if (!consume) return consume.error();
  request.consume = *std::move(consume);
  if (!command.contains("limits")) return request;
  std::vector<Limit> limits;
  for (const Json& spec : command.at("limits")) {
    Result<Limit> limit = cli::parse_limit(spec.get<std::string>());
    if (!limit) return limit.error();
    limits.push_back(*std::move(limit));
  }
  request.limits = LimitList(std::move(limits));
  return request;
}

void write_statuses(cli::JsonWriter& json, const std::vector<LimitStatus>& statuses) {
  json.key("limits");
  json.begin_array();
  for (const LimitStatus& status : statuses) cli::write_status(json, status);
  json.end_array();
}

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAdmitted: return "admitted";
    case Outcome::kRejected: return "rejected";
    case Outcome::kDisabled: return "disabled";
  }
  return "";
}

class Driver {
 public:
  Driver(Store store, std::string name_space)
      : limiter_(std::move(store), options(std::move(name_space), clock_)) {}

  /// Carries out one command and writes its answer, without the line end.
  Status run(const Json& command, cli::JsonWriter& json) {
    if (command.contains("now_ms")) {
      clock_.set(TimePoint(Millis(command.at("now_ms").get<std::int64_t>())));
    }
    const std::string operation = text_of(command, "op");
    if (operation == "acquire") return acquire(command, json);
    if (operation == "take" || operation == "release") return correct(command, operation);
    if (operation == "settle") return end_lease(command, &Lease::settle);
    if (operation == "roll_back") return end_lease(command, &Lease::roll_back);
    if (operation == "available") return available(command, json);
    if (operation == "burst") return burst(command, json);
    if (operation == "set_access") return set_access(command);
    if (operation == "set_cascade") return set_cascade(command);
    if (operation == "requests") {
      json.member("requests", limiter_.stats().requests);
      return {};
    }
    if (operation == "forget") {
      limiter_.forget_caches();
      return {};
    }
    return Error::invalid("op", operation, "is unknown");
  }

 private:
  static LimiterOptions options(std::string name_space, Clock& clock) {
    LimiterOptions options;
    options.name_space = std::move(name_space);
    options.clock = &clock;
    return options;
  }

  Status acquire(const Json& command, cli::JsonWriter& json) {
    Result<AcquireRequest> request = read_request(command);
    if (!request) return request.error();
    Result<Decision> decision = limiter_.acquire(*request);
    if (!decision) return decision.error();
    json.member("admitted", static_cast<bool>(*decision));
    json.member("outcome", name_of(decision->outcome()));
    write_statuses(json, decision->limits());
    const bool rejected = decision->outcome() == Outcome::kRejected;
    json.member("retry_after_ms", rejected ? decision->rejection().retry_after : std::nullopt);
    json.member("never_fits", rejected && decision->rejection().never_fits);
    if (!*decision) return {};
    if (!command.contains("lease")) return decision->lease().settle();
    leases_.insert_or_assign(text_of(command, "lease"), std::move(decision->lease()));
    return {};
  }

  Status correct(const Json& command, const std::string& operation) {
    Lease* lease = find(command);
    if (lease == nullptr) return unknown_lease(command);
    Result<MilliTokens> amount = cli::parse_amount("amount", text_of(command, "amount"));
    if (!amount) return amount.error();
    const std::string limit = text_of(command, "limit");
    return operation == "take" ? lease->adjust(limit, *amount) : lease->release(limit, *amount);
  }

  Status end_lease(const Json& command, Status (Lease::*end)()) {
    Lease* lease = find(command);
    if (lease == nullptr) return unknown_lease(command);
    Status ended = (lease->*end)();
    leases_.erase(text_of(command, "lease"));
    return ended;
  }

  Lease* find(const Json& command) {
    auto found = leases_.find(text_of(command, "lease"));
    return found == leases_.end() ? nullptr : &found->second;
  }
  static Error unknown_lease(const Json& command) {
    return Error::invalid("lease", text_of(command, "lease"), "is not open");
  }

  Status available(const Json& command, cli::JsonWriter& json) {
    Result<Availability> found =
        limiter_.available(text_of(command, "entity"), text_of(command, "resource"));
    if (!found) return found.error();
    write_statuses(json, found->limits);
    return {};
  }

  Status burst(const Json& command, cli::JsonWriter& json) {
    Result<AcquireRequest> request = read_request(command);
    if (!request) return request.error();
    Result<std::vector<Consume>> released = std::vector<Consume>();
    if (command.contains("release")) released = read_amounts(command, "release");
    if (!released) return released.error();
    std::atomic<std::int64_t> left = command.at("count").get<std::int64_t>();
    std::mutex mutex;
    std::map<std::string, std::int64_t> counts;
    std::vector<std::thread> threads;
    for (std::int64_t i = command.at("threads").get<std::int64_t>(); i > 0; --i) {
      threads.emplace_back([&] {
        while (left.fetch_sub(1) > 0) {
          Result<Decision> decision = limiter_.acquire(*request);
          const bool admitted = decision && *decision;
          const Status ended = admitted ? settle(decision->lease(), *released) : Status();
          const std::string name(decision ? name_of(decision->outcome())
                                          : to_string(decision.error().code()));
          std::lock_guard lock(mutex);
          ++counts[name];
          if (!ended) ++counts["unsettled"];
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    json.key("counts");
    json.begin_object();
    for (const auto& [name, count] : counts) json.member(name, count);
    json.end_object();
    return {};
  }

  static Status settle(Lease& lease, const std::vector<Consume>& released) {
    for (const Consume& one : released) {
      if (Status done = lease.release(one.limit, one.amount); !done) return done;
    }
    return lease.settle();
  }

  Status set_access(const Json& command) {
    SetLimitsOptions options;
    for (AccessPolicy access :
         {AccessPolicy::kEnforce, AccessPolicy::kDisabled, AccessPolicy::kBypass}) {
      if (cli::to_string(access) == text_of(command, "access")) options.access = access;
    }
    if (!options.access) return Error::invalid("access", text_of(command, "access"), "is unknown");
    return set_policy(command, options);
  }

  Status set_cascade(const Json& command) {
    SetLimitsOptions options;
    options.cascade = command.at("cascade").get<bool>();
    return set_policy(command, options);
  }

  /// Keeps the limits of the scope.
  Status set_policy(const Json& command, const SetLimitsOptions& options) {
    const std::string resource = text_of(command, "resource");
    const Scope scope = command.contains("entity")
                            ? Scope::entity_resource(text_of(command, "entity"), resource)
                            : Scope::resource(resource);
    Result<ScopeConfig> stored = limiter_.get_limits(scope);
    if (!stored && stored.error().code() != ErrorCode::kNotFound) return stored.error();
    Result<LimitsChange> changed =
        limiter_.set_limits(scope, stored ? stored->limits : std::vector<Limit>(), options);
    if (!changed) return changed.error();
    return {};
  }

  FakeClock clock_;
  Limiter limiter_;
  std::map<std::string, Lease> leases_;  // destroyed before the limiter
};

void write_error(cli::JsonWriter& json, const Error& error) {
  json.begin_object();
  json.key("error");
  json.begin_object();
  json.member("code", to_string(error.code()));
  json.member("message", error.message());
  json.end_object();
  json.end_object();
}

int drive(const std::string& store_name, const std::string& name_space) {
  cli::Globals globals(std::cout, std::cerr, cli::Terminal());
  Result<cli::StoreAddress> address = cli::parse_store_address(store_name);
  if (!address) {
    std::cerr << address.error().message() << '\n';
    return 2;
  }
  globals.store_address = *std::move(address);
  Result<Store> store = globals.open_store(cli::IfMissing::kFail);
  if (!store) {
    std::cerr << store.error().message() << '\n';
    return 1;
  }
  Driver driver(*std::move(store), name_space);
  for (std::string line; std::getline(std::cin, line);) {
    cli::JsonWriter answer;
    try {
      answer.begin_object();
      Status status = driver.run(Json::parse(line), answer);
      answer.end_object();
      if (!status) {
        answer = cli::JsonWriter();
        write_error(answer, status.error());
      }
    } catch (const Json::exception& malformed) {
      answer = cli::JsonWriter();
      write_error(answer, Error::invalid("command", line, malformed.what()));
    }
    std::cout << answer.text() << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace stint::test

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: interop_driver STORE [NAMESPACE]\n";
    return 2;
  }
  return stint::test::drive(argv[1], argc > 2 ? argv[2] : "default");
}
