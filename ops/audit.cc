#include "ops/audit.h"

#include <cstdint>
#include <utility>

#include "base/time.h"
#include "base/ulid.h"
#include "model/names.h"
#include "schema/audit_details.h"
#include "schema/entity_item.h"
#include "schema/item_reader.h"
#include "schema/keys.h"
#include "schema/records.h"

namespace stint::ops {
namespace {

constexpr std::int64_t kDefaultRetentionDays = 90;
constexpr std::int64_t kMostRetentionDays = 1'000'000;
constexpr std::int64_t kSecondsOfDay = 86'400;
/// A put of the same item may be repeated without harm.
constexpr int kPutAttempts = 3;
constexpr int kMostPageSize = 1000;

std::int64_t retention_by(const schema::ConfigRecord* system) {
  if (system == nullptr || !system->audit_retention_days) return kDefaultRetentionDays;
  std::int64_t days = *system->audit_retention_days;
  return days >= 1 && days <= kMostRetentionDays ? days : kDefaultRetentionDays;
}

/// How long events are kept, by the system's configuration; where that cannot be read, the default.
Op<std::int64_t> retention_days(Context& cx, TimePoint now) {
  std::optional<Caches::CachedConfig> cached = cx.caches.find_config("");
  if (cached) {
    Millis age = now - cached->read_at;
    if (age >= Millis(0) && age <= cx.settings.config_ttl) {
      co_return retention_by(cached->record.get());
    }
  }
  store::Key key = schema::config_key(cx.ns, "", "");
  store::GetRequest get(key, store::Consistency::kEventual);
  auto found = co_await ask(get);
  if (found.outcome != store::Outcome::kOk) co_return kDefaultRetentionDays;
  if (!found.image) {
    cx.caches.put_config("", Caches::CachedConfig{found.image, nullptr, now}, cx.cache_generation);
    co_return kDefaultRetentionDays;
  }
  auto record = schema::decode_config(*found.image, cx.reset_rule);
  if (!record) co_return kDefaultRetentionDays;
  cx.caches.put_config("", Caches::CachedConfig{found.image, *record, now}, cx.cache_generation);
  co_return retention_by(record->get());
}

Result<AuditEvent> to_event(const store::Image& item, const schema::AuditEvent& stored) {
  Result<TimePoint> at = schema::parse_iso_seconds(stored.timestamp);
  if (!at) return schema::corrupt_item(item, "timestamp " + at.error().reason());
  AuditEvent event;
  event.id = stored.event_id;
  event.subject = stored.entity;
  event.action = stored.action;
  event.at = *at;
  event.principal = stored.principal;
  event.resource = stored.resource;
  event.details = store::to_plain_json(store::Value::map(stored.details));
  if (stored.expires_at_s) event.expires_at = from_epoch_s(*stored.expires_at_s);
  return event;
}

Status validate_subject(const Scope& scope) {
  if (scope.is_entity_level() && scope.names_resource()) {
    return Error::invalid("scope", scope.resource_name(),
                          "events are filed under the entity, whatever their resource");
  }
  if (scope.is_entity_level()) return model::validate_entity_id("entity", scope.entity_id());
  if (scope.names_resource()) return model::validate_resource(scope.resource_name());
  return Status();
}

}  // namespace

Op<Status> write_event(Context& cx, std::string subject, std::optional<std::string> resource,
                       std::string_view action, store::Value::Map details) {
  if (!leaves_events(cx)) co_return Status();
  TurnRequest no_bucket(std::span<const std::uint64_t>{});
  TimePoint now = co_await turn(no_bucket);
  std::int64_t days = co_await retention_days(cx, now);
  schema::AuditEvent event;
  event.entity = std::move(subject);
  event.event_id = make_ulid(now, cx.random);
  event.timestamp = schema::iso_seconds(now);
  event.action = action;
  event.principal = cx.settings.principal;
  event.resource = std::move(resource);
  event.details = std::move(details);
  event.expires_at_s = to_epoch_s(now) + days * kSecondsOfDay;
  store::PutRequest put(schema::encode_audit_event(cx.ns, event), nullptr);
  for (int attempt = 1;; ++attempt) {
    auto reply = co_await ask(put);
    if (reply.outcome == store::Outcome::kOk) co_return Status();
    bool again =
        reply.outcome == store::Outcome::kUnknown || reply.outcome == store::Outcome::kConflict;
    if (again && attempt < kPutAttempts) continue;
    Error error = error_of(reply);
    bool unknown = reply.outcome == store::Outcome::kUnknown;
    std::string what = unknown ? "the change is stored; whether its audit event is, is not known ("
                               : "the change is stored, but its audit event could not be written (";
    co_return Error(
        error.code() == ErrorCode::kInvalidArgument ? ErrorCode::kUnavailable : error.code(),
        what + error.reason() + ")");
  }
}

Op<Result<AuditPage>> list_events(Context& cx, const Scope& scope,
                                  const std::optional<std::string>& from, int page_size) {
  if (Status valid = validate_subject(scope); !valid) co_return valid.error();
  if (page_size < 1 || page_size > kMostPageSize) {
    co_return Error::invalid("page_size", std::to_string(page_size), "must be 1 to 1000");
  }
  TurnRequest no_bucket(std::span<const std::uint64_t>{});
  TimePoint now = co_await turn(no_bucket);
  std::string partition = schema::audit_key(cx.ns, schema::audit_subject(scope), "").pk();
  store::QueryRequest query(store::Index::kTable, partition, std::string(schema::kAuditPrefix),
                            page_size, from.value_or(std::string()));
  auto reply = co_await ask(query);
  if (reply.outcome != store::Outcome::kOk) co_return error_of_page(reply, from);
  AuditPage page;
  for (const store::ImagePtr& image : reply.images) {
    Result<schema::AuditEvent> stored = schema::decode_audit_event(*image);
    // Expired items may stay for a while.
    bool expired = stored && stored->expires_at_s && *stored->expires_at_s <= to_epoch_s(now);
    if (expired) continue;
    // One odd record of another program must not hide the others.
    Result<AuditEvent> event =
        stored ? to_event(*image, *stored) : Result<AuditEvent>(stored.error());
    if (event) {
      page.events.push_back(std::move(*event));
    } else {
      page.unreadable.push_back(event.error().reason());
    }
  }
  page.next = reply.next;
  co_return page;
}

}  // namespace stint::ops
