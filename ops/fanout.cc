#include "ops/fanout.h"

#include <set>
#include <utility>
#include <vector>

#include "ops/leg.h"
#include "schema/keys.h"

namespace stint::ops {
namespace {

constexpr int kPageSize = 100;
constexpr int kAttempts = 3;
constexpr int kPasses = 2;

using Found = std::vector<std::shared_ptr<const BucketNames>>;

/// The buckets of a scope, by the index that lists them.
class Discovery {
 public:
  Discovery(const Context& cx, const Scope& scope) {
    if (scope.is_entity_level()) {
      index_ = store::Index::kGsi3;
      partition_ = schema::entity_partition(cx.ns, scope.entity_id());
      prefix_ = schema::kBucketPrefix;
      if (!scope.resource_name().empty()) prefix_ += scope.resource_name() + "#";
    } else if (!scope.resource_name().empty()) {
      index_ = store::Index::kGsi2;
      partition_ = schema::resource_partition(cx.ns, scope.resource_name());
      prefix_ = schema::kBucketPrefix;
    } else {
      index_ = store::Index::kGsi4;
      partition_ = schema::namespace_partition(cx.ns);
      prefix_ = schema::kBucketPrefix;
    }
  }

  store::QueryRequest page(const std::string& start) const {
    return store::QueryRequest(index_, partition_, prefix_, kPageSize, start);
  }

 private:
  store::Index index_;
  std::string partition_;
  std::string prefix_;
};

Op<Result<Found>> discover(Context& cx, const Scope& scope) {
  Discovery discovery(cx, scope);
  Found found;
  std::string start;
  for (;;) {
    store::QueryRequest request = discovery.page(start);
    auto reply = co_await ask(request);
    if (reply.outcome != store::Outcome::kOk) co_return error_of(reply);
    for (const store::ImagePtr& image : reply.images) {
      std::optional<schema::BucketAddress> address = schema::parse_bucket_key(image->pk());
      if (!address) continue;
      found.push_back(std::make_shared<const BucketNames>(cx.ns, address->entity, address->resource,
                                                          address->shard));
    }
    if (!reply.next) co_return found;
    start = *reply.next;
  }
}

bool differs(const Leg& leg, const std::vector<std::size_t>& removed) {
  if (!leg.stamps.empty() || !removed.empty() || leg.owner_stamp) return true;
  AccessPolicy access = leg.view.config->access;
  if (leg.state.disabled != (access == AccessPolicy::kDisabled)) return true;
  if (leg.state.bypass_until.has_value() != (access == AccessPolicy::kBypass)) return true;
  if (leg.config() == nullptr) return false;
  for (const auto& configured : leg.config()->limits) {
    int index = leg.view.layout->find(configured->limit().name());
    if (index < 0) continue;
    bool stamped = leg.state.limits[static_cast<std::size_t>(index)].soft_until.has_value();
    if (stamped != configured->limit().soft()) return true;
  }
  return false;
}

/// Limits on the item that are configured no longer.
std::vector<std::size_t> unconfigured_limits(const Leg& leg) {
  std::vector<std::size_t> removed;
  if (leg.config() == nullptr) return removed;
  for (std::size_t i = 0; i < leg.state.limits.size(); ++i) {
    const bucket::LimitState& limit = leg.state.limits[i];
    if (!limit.reserved && leg.config()->find(limit.name) == nullptr) removed.push_back(i);
  }
  return removed;
}

/// True when the bucket is as configured or gone, false when other writers won every attempt.
Op<Result<bool>> stamp_bucket(Context& cx, std::shared_ptr<const BucketNames> names) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    TurnRequest my_turn(std::span<const std::uint64_t>(&names->hash, 1));
    TimePoint now = co_await turn(my_turn);
    Leg leg(names);
    Reads reads;
    reads.bucket = true;
    reads.consistency = store::Consistency::kStrong;
    Status image_read = co_await read_leg(cx, leg, reads, now);
    if (!image_read) co_return image_read.error();
    if (!leg.exists()) co_return true;
    reads.bucket = false;
    reads.meta = true;
    reads.config = true;
    reads.all_levels = true;
    Status config_read = co_await read_leg(cx, leg, reads, now);
    if (!config_read) co_return config_read.error();
    Status prepared = co_await prepare_leg(cx, leg, now);
    if (!prepared) co_return prepared.error();
    // Without limits at any level the bucket goes on by its own (rules W10).
    if (leg.config() == nullptr && leg.view.config->access == AccessPolicy::kEnforce &&
        !leg.state.disabled && !leg.state.bypass_until && !leg.owner_stamp) {
      co_return true;
    }
    std::vector<std::size_t> removed = unconfigured_limits(leg);
    if (!differs(leg, removed)) co_return true;
    LegWrite write(cx, leg);
    write.prepare_fanout(now, removed);
    store::UpdateRequest update = write.update();
    auto reply = co_await ask(update);
    if (reply.outcome == store::Outcome::kOk) {
      cx.caches.forget_view(names->entity, names->resource);
      co_return true;
    }
    bool lost = reply.outcome == store::Outcome::kConditionFailed ||
                reply.outcome == store::Outcome::kConflict;
    if (!lost) co_return error_of(reply);
    cx.report(EventKind::kConflict, names->entity, names->resource);
    if (attempt + 1 < kAttempts) cx.report(EventKind::kRetry, names->entity, names->resource);
  }
  co_return false;
}

}  // namespace

Op<Result<std::int64_t>> stamp_buckets(Context& cx, const Scope& scope, bool dry_run) {
  std::set<std::string> seen;
  std::int64_t reached = 0;
  std::int64_t failed = 0;
  std::optional<Error> first_error;
  for (int pass = 0; pass < kPasses; ++pass) {
    Result<Found> found = co_await discover(cx, scope);
    if (!found) {
      co_return Error(found.error().code(),
                      "the configuration is stored, but its buckets could not be listed; repeat "
                      "the call (" +
                          found.error().message() + ")");
    }
    for (const auto& names : *found) {
      if (!seen.insert(names->key.pk()).second) continue;
      if (dry_run) {
        ++reached;
        continue;
      }
      Result<bool> stamped = co_await stamp_bucket(cx, names);
      bool done = stamped && *stamped;
      if (done) {
        ++reached;
        continue;
      }
      ++failed;
      if (!stamped && !first_error) first_error = stamped.error();
    }
    if (dry_run) break;
  }
  if (failed > 0) {
    std::string reason = "the configuration is stored, but " + std::to_string(failed) + " of " +
                         std::to_string(failed + reached) +
                         " buckets could not be brought up to date; repeat the call";
    if (!first_error) co_return Error(ErrorCode::kConflict, std::move(reason));
    co_return Error(first_error->code(), reason + " (" + first_error->message() + ")");
  }
  co_return reached;
}

}  // namespace stint::ops
