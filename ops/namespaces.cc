#include "ops/namespaces.h"

#include <vector>

#include "model/names.h"
#include "ops/context.h"
#include "schema/entity_item.h"
#include "schema/keys.h"

namespace stint::ops {
namespace {

/// 8 random bytes in url-safe base64 without padding; never beginning with a hyphen, so that an id
/// can stand on a command line.
std::string draw_namespace_id(Random& random) {
  static constexpr char kAlphabet[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  for (;;) {
    std::uint64_t bits = random.next();
    std::string id;
    for (int shift = 58; shift > 0; shift -= 6) id += kAlphabet[bits >> shift & 63];
    id += kAlphabet[(bits & 15) << 2];
    if (id.front() != '-') return id;
  }
}

Result<schema::StoreRecord> check_record(const schema::StoreRecord& record,
                                         std::optional<ResetRule> demanded) {
  if (demanded && *demanded != record.reset_rule) {
    return Error(ErrorCode::kVersionMismatch,
                 "the store was created with another reset rule; open it without naming one");
  }
  return record;
}

}  // namespace

Op<Result<schema::StoreRecord>> open_store(schema::StoreRecord fresh,
                                           std::optional<ResetRule> demanded, bool create,
                                           TimePoint now) {
  store::Key key = schema::store_record_key();
  for (int attempt = 0; attempt < 2; ++attempt) {
    store::GetRequest get(key, store::Consistency::kStrong);
    auto found = co_await ask(get);
    if (found.outcome != store::Outcome::kOk) co_return error_of(found);
    if (found.image) {
      Result<schema::StoreRecord> record = schema::decode_store_record(*found.image);
      if (!record) co_return record.error();
      co_return check_record(*record, demanded);
    }
    if (!create) co_return Error(ErrorCode::kNotFound, "there is no store of stint here");
    if (demanded) fresh.reset_rule = *demanded;
    store::Condition absent;
    absent.require(store::Term{store::Test::kItemAbsent});
    std::vector<store::TransactItem> items;
    items.emplace_back(store::PutRequest(schema::encode_store_record(fresh), &absent));
    items.emplace_back(
        store::PutRequest(schema::encode_version(schema::initial_version_record(now)), &absent));
    store::TransactRequest create_records(items, std::string());
    auto created = co_await ask(create_records);
    if (created.outcome == store::Outcome::kOk) co_return fresh;
    // Lost against another program that creates the same store: what it wrote counts.
    if (created.outcome != store::Outcome::kConditionFailed) co_return error_of(created);
  }
  co_return Error(ErrorCode::kCorrupt, "the store has a version record, but no record of stint");
}

Op<Result<std::string>> resolve_namespace(std::string name, Random& random, TimePoint now) {
  if (Status valid = model::validate_namespace(name); !valid) co_return valid.error();
  store::Key key = schema::namespace_name_key(name);
  for (int attempt = 0; attempt < 2; ++attempt) {
    store::GetRequest get(key, store::Consistency::kStrong);
    auto found = co_await ask(get);
    if (found.outcome != store::Outcome::kOk) co_return error_of(found);
    if (found.image) {
      Result<schema::NamespaceRecord> record = schema::decode_namespace(*found.image);
      if (!record) co_return record.error();
      co_return record->id;
    }
    schema::NamespaceRecord record;
    record.id = draw_namespace_id(random);
    record.name = name;
    record.created_at = schema::iso_seconds(now);
    store::Condition absent;
    absent.require(store::Term{store::Test::kItemAbsent});
    std::vector<store::TransactItem> items;
    items.emplace_back(store::PutRequest(schema::encode_namespace_by_name(record), &absent));
    items.emplace_back(store::PutRequest(schema::encode_namespace_by_id(record), &absent));
    store::TransactRequest create(items, std::string());
    auto created = co_await ask(create);
    if (created.outcome == store::Outcome::kOk) co_return record.id;
    // Lost against another program that registers the same name: its id counts.
    if (created.outcome != store::Outcome::kConditionFailed) co_return error_of(created);
  }
  co_return Error(ErrorCode::kConflict, "the namespace could not be registered; try again");
}

}  // namespace stint::ops
