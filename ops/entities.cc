#include "ops/entities.h"

#include <algorithm>
#include <vector>

#include "base/time.h"
#include "model/names.h"
#include "ops/audit.h"
#include "ops/leg.h"
#include "schema/audit_details.h"
#include "schema/entity_item.h"
#include "schema/keys.h"

namespace stint::ops {
namespace {

constexpr int kMostPageSize = 1000;
constexpr int kScanPageSize = 100;
constexpr int kIncarnationBytes = 8;

Result<Entity> to_entity(const schema::EntityRecord& record) {
  Entity entity;
  entity.id = record.id;
  entity.name = record.name;
  entity.parent = record.parent;
  entity.cascade = record.cascade;
  for (const auto& [name, value] : record.metadata) {
    if (const std::string* text = value.as_string()) entity.metadata.emplace(name, *text);
  }
  if (!record.created_at.empty()) {
    Result<TimePoint> at = schema::parse_iso_seconds(record.created_at);
    if (!at) return at.error();
    entity.created_at = *at;
  }
  return entity;
}

Status validate_page(int page_size) {
  if (page_size >= 1 && page_size <= kMostPageSize) return Status();
  return Error::invalid("page_size", std::to_string(page_size), "must be 1 to 1000");
}

Status validate_new_entity(std::string_view id, const EntityOptions& options) {
  Status valid = model::validate_entity_id("entity", id);
  if (!valid) return valid;
  if (options.parent) {
    valid = model::validate_entity_id("parent", *options.parent);
    if (!valid) return valid;
    if (*options.parent == id) {
      return Error::invalid("parent", *options.parent, "an entity cannot be its own parent");
    }
  }
  if (options.cascade && !options.parent) {
    return Error::invalid("cascade", "true", "needs a parent to debit");
  }
  constexpr std::size_t kMostText = 1024;
  if (options.name && (options.name->empty() || options.name->size() > kMostText)) {
    return Error::invalid("name", *options.name, "must be 1 to 1024 bytes");
  }
  std::size_t size = 0;
  for (const auto& [name, value] : options.metadata) {
    if (name.empty()) return Error::invalid("metadata", name, "a name must not be empty");
    size += name.size() + value.size();
  }
  constexpr std::size_t kMostMetadata = 64 * 1024;
  if (size > kMostMetadata) return Error::invalid("metadata", "", "must not exceed 64 KiB");
  return Status();
}

/// META items for index entries that hold keys only or whole items.
Op<Result<std::vector<Entity>>> fetch(std::vector<store::Key> keys) {
  std::vector<Entity> entities;
  std::size_t done = 0;
  while (done < keys.size()) {
    std::size_t count = std::min<std::size_t>(100, keys.size() - done);
    std::vector<store::Key> asked(keys.begin() + static_cast<std::ptrdiff_t>(done),
                                  keys.begin() + static_cast<std::ptrdiff_t>(done + count));
    std::vector<store::ImagePtr> images;
    Status read = co_await read_batch(asked, store::Consistency::kEventual, images);
    if (!read) co_return read.error();
    for (const store::ImagePtr& image : images) {
      if (!image) continue;
      Result<schema::EntityRecord> record = schema::decode_entity(*image);
      if (!record) co_return record.error();
      Result<Entity> entity = to_entity(*record);
      if (!entity) co_return entity.error();
      entities.push_back(std::move(*entity));
    }
    done += count;
  }
  co_return entities;
}

/// Deletes everything that a query of an index finds, and counts it.
Op<Status> delete_found(store::Index index, std::string partition, std::string prefix,
                        std::int64_t& deleted) {
  std::string start;
  for (;;) {
    store::QueryRequest query(index, partition, prefix, kScanPageSize, start);
    auto reply = co_await ask(query);
    if (reply.outcome != store::Outcome::kOk) co_return error_of(reply);
    for (const store::ImagePtr& image : reply.images) {
      store::Key key = image->key();
      store::DeleteRequest request(key, nullptr);
      auto removed = co_await ask(request);
      if (removed.outcome != store::Outcome::kOk) co_return error_of(removed);
      ++deleted;
    }
    if (!reply.next) co_return Status();
    start = *reply.next;
  }
}

/// Deletes an entity and what belongs to it, and counts the items as they go.
Op<Status> delete_items(Context& cx, std::string_view id, std::int64_t& deleted) {
  // Operation records live in the partitions of the buckets, so they go first.
  std::string buckets = schema::entity_partition(cx.ns, id);
  std::string bucket_prefix(schema::kBucketPrefix);
  std::string start;
  for (;;) {
    store::QueryRequest query(store::Index::kGsi3, buckets, bucket_prefix, kScanPageSize, start);
    auto reply = co_await ask(query);
    if (reply.outcome != store::Outcome::kOk) co_return error_of(reply);
    for (const store::ImagePtr& image : reply.images) {
      Status records = co_await delete_found(store::Index::kTable, std::string(image->pk()),
                                             std::string(schema::kOperationPrefix), deleted);
      if (!records) co_return records;
    }
    if (!reply.next) break;
    start = *reply.next;
  }
  Status removed = co_await delete_found(store::Index::kGsi3, buckets, bucket_prefix, deleted);
  if (!removed) co_return removed;
  store::Key meta = schema::entity_key(cx.ns, id);
  for (std::string_view prefix : {schema::kEntityConfigPrefix, schema::kUsagePrefix}) {
    removed = co_await delete_found(store::Index::kTable, meta.pk(), std::string(prefix), deleted);
    if (!removed) co_return removed;
  }
  store::DeleteRequest last(meta, nullptr);
  auto reply = co_await ask(last);
  if (reply.outcome != store::Outcome::kOk) co_return error_of(reply);
  ++deleted;
  // A call under way may have made a bucket again while its owner was still there.
  removed = co_await delete_found(store::Index::kGsi3, buckets, bucket_prefix, deleted);
  co_return removed;
}

}  // namespace

Op<Result<Entity>> create_entity(Context& cx, std::string_view id, const EntityOptions& options) {
  if (Status valid = validate_new_entity(id, options); !valid) co_return valid.error();
  TurnRequest no_bucket(std::span<const std::uint64_t>{});
  TimePoint now = co_await turn(no_bucket);
  schema::EntityRecord record;
  record.id = id;
  record.name = options.name.value_or(std::string(id));
  record.parent = options.parent;
  record.cascade = options.cascade;
  for (const auto& [name, value] : options.metadata) {
    record.metadata.emplace(name, store::Value::string(value));
  }
  record.created_at = schema::iso_seconds(now);
  // An entity deleted and created anew outranks what was stamped in its former life (R84).
  record.parent_generation = to_epoch_ms(now);
  record.incarnation_digits = cx.random.hex(kIncarnationBytes);
  store::Condition absent;
  absent.require(store::Term{store::Test::kItemAbsent});
  store::PutRequest request(schema::encode_entity(cx.ns, record), &absent);
  auto reply = co_await ask(request);
  if (reply.outcome == store::Outcome::kConditionFailed) {
    co_return Error(ErrorCode::kExists, "entity " + record.id + " exists already");
  }
  if (reply.outcome != store::Outcome::kOk) co_return error_of(reply);
  // Buckets that were used before the entity existed are remembered without its parent.
  cx.caches.forget_entity(id);
  store::Value::Map details = schema::entity_created_details(record);
  std::string subject = record.id;
  std::optional<std::string> no_resource;
  Status audited = co_await write_event(cx, std::move(subject), std::move(no_resource),
                                        schema::kEntityCreated, std::move(details));
  if (!audited) co_return audited.error();
  co_return to_entity(record);
}

Op<Result<Entity>> get_entity(Context& cx, std::string_view id) {
  if (Status valid = model::validate_entity_id("entity", id); !valid) co_return valid.error();
  store::Key key = schema::entity_key(cx.ns, id);
  store::GetRequest request(key, store::Consistency::kStrong);
  auto reply = co_await ask(request);
  if (reply.outcome != store::Outcome::kOk) co_return error_of(reply);
  if (!reply.image) {
    co_return Error(ErrorCode::kNotFound, "there is no entity " + std::string(id));
  }
  Result<schema::EntityRecord> record = schema::decode_entity(*reply.image);
  if (!record) co_return record.error();
  co_return to_entity(*record);
}

Op<Result<EntityPage>> list_entities(Context& cx, const std::optional<std::string>& from,
                                     int page_size) {
  if (Status valid = validate_page(page_size); !valid) co_return valid.error();
  EntityPage page;
  std::string partition = schema::namespace_partition(cx.ns);
  std::string prefix = schema::entity_key(cx.ns, "").pk();
  std::string meta_sort_key = schema::entity_key(cx.ns, "").sk();
  std::vector<store::Key> keys;
  std::string start = from.value_or(std::string());
  // Configuration and usage of an entity stand beside it in the index and are passed over.
  for (;;) {
    int wanted = page_size - static_cast<int>(keys.size());
    store::QueryRequest query(store::Index::kGsi4, partition, prefix, wanted, start);
    auto reply = co_await ask(query);
    if (reply.outcome != store::Outcome::kOk) co_return error_of(reply);
    for (const store::ImagePtr& image : reply.images) {
      if (image->sk() == meta_sort_key) keys.push_back(image->key());
    }
    page.next = reply.next;
    if (!reply.next || static_cast<int>(keys.size()) >= page_size) break;
    start = *reply.next;
  }
  Result<std::vector<Entity>> entities = co_await fetch(std::move(keys));
  if (!entities) co_return entities.error();
  page.entities = std::move(*entities);
  co_return page;
}

Op<Result<EntityPage>> list_children(Context& cx, std::string_view parent,
                                     const std::optional<std::string>& from, int page_size) {
  if (Status valid = model::validate_entity_id("entity", parent); !valid) co_return valid.error();
  if (Status valid = validate_page(page_size); !valid) co_return valid.error();
  EntityPage page;
  store::QueryRequest query(store::Index::kGsi1, schema::children_partition(cx.ns, parent),
                            std::string(schema::kChildPrefix), page_size,
                            from.value_or(std::string()));
  auto reply = co_await ask(query);
  if (reply.outcome != store::Outcome::kOk) co_return error_of(reply);
  for (const store::ImagePtr& image : reply.images) {
    Result<schema::EntityRecord> record = schema::decode_entity(*image);
    if (!record) co_return record.error();
    Result<Entity> entity = to_entity(*record);
    if (!entity) co_return entity.error();
    page.entities.push_back(std::move(*entity));
  }
  page.next = reply.next;
  co_return page;
}

Op<Result<std::int64_t>> delete_entity(Context& cx, std::string_view id) {
  Result<Entity> entity = co_await get_entity(cx, id);
  if (!entity) co_return entity.error();
  std::int64_t deleted = 0;
  Status removed = co_await delete_items(cx, id, deleted);
  cx.caches.forget_entity(id);
  store::Value::Map details = schema::entity_deleted_details(deleted, removed.ok());
  std::string subject(id);
  std::optional<std::string> no_resource;
  Status audited = co_await write_event(cx, std::move(subject), std::move(no_resource),
                                        schema::kEntityDeleted, std::move(details));
  // What stopped the deletion says more than that nobody was told of it.
  if (!removed) co_return removed.error();
  if (!audited) co_return audited.error();
  co_return deleted;
}

}  // namespace stint::ops
