#include "ops/namespaces.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "model/names.h"
#include "ops/context.h"
#include "ops/version.h"
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

/// Whether a creation that ended so may find its item there: made by others, or by itself.
bool may_be_there(store::Outcome outcome) {
  return outcome == store::Outcome::kConditionFailed || outcome == store::Outcome::kConflict ||
         outcome == store::Outcome::kUnknown;
}

/// What a table is that only programs of the other package have used (decision 26).
Result<schema::StoreRecord> record_of_foreign_table(const schema::StoreRecord& fresh) {
  if (fresh.layout != store::IndexLayout::kCompatible) {
    return Error(ErrorCode::kVersionMismatch,
                 "the table's records are those of another program, and its indexes are not");
  }
  schema::StoreRecord record;
  record.layout = store::IndexLayout::kCompatible;
  record.reset_rule = ResetRule::kCompatible;
  record.burst_tolerance_divisor = 16;
  return record;
}

/// The two records that tell programs what a store is.
struct StoreRecords {
  store::ImagePtr own;
  store::ImagePtr version;  // looked for in shared stores only
};

Op<Result<StoreRecords>> read_records(bool shared) {
  store::Key own_key = schema::store_record_key();
  store::Key version_key = schema::version_key();
  std::vector<store::GetRequest> gets;
  gets.emplace_back(own_key, store::Consistency::kStrong);
  if (shared) gets.emplace_back(version_key, store::Consistency::kStrong);
  std::vector<store::Call> calls = calls_of(gets);
  co_await ask_all(calls);
  StoreRecords records;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    auto& reply = std::get<store::GetReply>(calls[i].reply);
    if (reply.outcome != store::Outcome::kOk) co_return error_of(reply);
    (i == 0 ? records.own : records.version) = std::move(reply.image);
  }
  co_return records;
}

/// What the store is by its records, whatever the version record says.
Result<schema::StoreRecord> check_own_record(const StoreRecords& records,
                                             const schema::StoreRecord& fresh,
                                             std::optional<ResetRule> demanded, bool shared) {
  Result<schema::StoreRecord> record =
      records.own ? schema::decode_store_record(*records.own) : record_of_foreign_table(fresh);
  if (!record) return record.error();
  if (shared && record->burst_tolerance_divisor == 0) {
    return Error(ErrorCode::kVersionMismatch,
                 "the store has no burst tolerance, which only stores of a single process can do "
                 "without");
  }
  return check_record(*record, demanded);
}

Result<schema::StoreRecord> check_records(const StoreRecords& records,
                                          const schema::StoreRecord& fresh,
                                          std::optional<ResetRule> demanded, bool shared) {
  if (shared) {
    if (!records.version) {
      return Error(ErrorCode::kCorrupt,
                   "the store has a record of stint, but no version record; `stint table create` "
                   "writes it anew");
    }
    Result<schema::VersionRecord> version = schema::decode_version(*records.version);
    if (!version) return version.error();
    if (Status usable = check_version(*version); !usable) return usable.error();
  }
  return check_own_record(records, fresh, demanded, shared);
}

/// Absent where there is none.
Op<Result<std::optional<schema::NamespaceRecord>>> read_namespace(std::string name) {
  if (Status valid = model::validate_namespace(name); !valid) co_return valid.error();
  store::Key key = schema::namespace_name_key(name);
  store::GetRequest get(key, store::Consistency::kStrong);
  auto found = co_await ask(get);
  if (found.outcome != store::Outcome::kOk) co_return error_of(found);
  if (!found.image) co_return std::optional<schema::NamespaceRecord>();
  Result<schema::NamespaceRecord> record = schema::decode_namespace(*found.image);
  if (!record) co_return record.error();
  co_return std::optional<schema::NamespaceRecord>(std::move(*record));
}

}  // namespace

Op<Result<schema::StoreRecord>> open_store(schema::StoreRecord fresh,
                                           std::optional<ResetRule> demanded, bool create,
                                           bool shared, TimePoint now) {
  if (demanded) fresh.reset_rule = *demanded;
  constexpr int kAttempts = 3;
  Error last(ErrorCode::kConflict, "other programs are creating the store; try again");
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Result<StoreRecords> found = co_await read_records(shared);
    if (!found) co_return found.error();
    bool has_own = static_cast<bool>(found->own);
    bool lacks_version = shared && has_own && !found->version;
    if (lacks_version && create) {
      Result<schema::StoreRecord> own = check_own_record(*found, fresh, demanded, shared);
      if (!own) co_return own.error();
    } else if (has_own || found->version) {
      co_return check_records(*found, fresh, demanded, shared);
    } else if (!create) {
      co_return Error(ErrorCode::kNotFound, "there is no store of stint here");
    }
    store::Condition absent;
    absent.require(store::Term{store::Test::kItemAbsent});
    std::vector<store::TransactItem> items;
    if (!has_own) {
      items.emplace_back(store::PutRequest(schema::encode_store_record(fresh), &absent));
    }
    items.emplace_back(
        store::PutRequest(schema::encode_version(schema::initial_version_record(now)), &absent));
    store::TransactRequest create_records(items, std::string());
    auto created = co_await ask(create_records);
    if (created.outcome == store::Outcome::kOk) {
      if (!has_own) co_return fresh;
      continue;  // by what the older record says
    }
    // Lost against another program that creates the same store: what it wrote counts.
    if (!may_be_there(created.outcome)) co_return error_of(created);
    last = error_of(created);
  }
  co_return last;
}

Error no_namespace(std::string_view name) {
  return Error(ErrorCode::kNotFound, "there is no namespace \"" + std::string(name) + "\"");
}

Op<Result<RegisteredNamespace>> register_namespace(std::string name, Random& random,
                                                   TimePoint now) {
  if (Status valid = model::validate_namespace(name); !valid) co_return valid.error();
  store::Key key = schema::namespace_name_key(name);
  RegisteredNamespace result;
  constexpr int kAttempts = 3;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    store::GetRequest get(key, store::Consistency::kStrong);
    auto found = co_await ask(get);
    if (found.outcome != store::Outcome::kOk) co_return error_of(found);
    if (found.image) {
      Result<schema::NamespaceRecord> record = schema::decode_namespace(*found.image);
      if (!record) co_return record.error();
      // What an attempt of ours of unknown outcome has registered is still new.
      result.is_new = !result.record.id.empty() && record->id == result.record.id;
      result.record = std::move(*record);
      co_return result;
    }
    result.record.id = draw_namespace_id(random);
    result.record.name = name;
    result.record.created_at = schema::iso_seconds(now);
    store::Condition absent;
    absent.require(store::Term{store::Test::kItemAbsent});
    std::vector<store::TransactItem> items;
    items.emplace_back(store::PutRequest(schema::encode_namespace_by_name(result.record), &absent));
    items.emplace_back(store::PutRequest(schema::encode_namespace_by_id(result.record), &absent));
    store::TransactRequest create(items, std::string());
    auto created = co_await ask(create);
    if (created.outcome == store::Outcome::kOk) {
      result.is_new = true;
      co_return result;
    }
    // Lost against another program that registers the same name: its id counts.
    if (!may_be_there(created.outcome)) co_return error_of(created);
  }
  co_return Error(ErrorCode::kConflict, "the namespace could not be registered; try again");
}

Op<Result<std::optional<std::string>>> resolve_namespace(std::string name,
                                                         IfUnregistered if_unregistered,
                                                         Random& random, TimePoint now) {
  if (if_unregistered == IfUnregistered::kFail) {
    Result<std::optional<schema::NamespaceRecord>> known = co_await read_namespace(name);
    if (!known) co_return known.error();
    std::optional<std::string> id;
    if (*known) id = std::move((*known)->id);
    co_return id;
  }
  Result<RegisteredNamespace> found = co_await register_namespace(std::move(name), random, now);
  if (!found) co_return found.error();
  co_return std::optional<std::string>(std::move(found->record.id));
}

Op<Result<schema::NamespaceRecord>> find_namespace(std::string name) {
  Result<std::optional<schema::NamespaceRecord>> found = co_await read_namespace(name);
  if (!found) co_return found.error();
  if (!*found) co_return no_namespace(name);
  co_return std::move(**found);
}

Op<Result<NamespaceListing>> list_namespaces() {
  constexpr int kPageSize = 100;
  std::string partition = schema::namespace_id_key("").pk();
  NamespaceListing listing;
  std::string start;
  for (;;) {
    store::QueryRequest query(store::Index::kTable, partition,
                              std::string(schema::kNamespaceIdPrefix), kPageSize, start);
    auto reply = co_await ask(query);
    if (reply.outcome != store::Outcome::kOk) co_return error_of(reply);
    for (const store::ImagePtr& image : reply.images) {
      Result<schema::NamespaceRecord> record = schema::decode_namespace(*image);
      if (record) {
        listing.records.push_back(std::move(*record));
      } else {
        listing.unreadable.push_back(record.error().reason());
      }
    }
    if (!reply.next) break;
    start = *reply.next;
  }
  auto earlier = [](const auto& a, const auto& b) {
    return std::tie(a.name, a.created_at, a.id) < std::tie(b.name, b.created_at, b.id);
  };
  std::sort(listing.records.begin(), listing.records.end(), earlier);
  co_return listing;
}

}  // namespace stint::ops
