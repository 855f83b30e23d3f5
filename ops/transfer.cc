#include "ops/transfer.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ops/context.h"
#include "ops/survey.h"
#include "schema/bucket_item.h"
#include "schema/keys.h"
#include "schema/write_capacity.h"
#include "store/apply.h"

namespace stint::ops {
namespace {

using schema::ItemKind;

// What one partition of DynamoDB takes; the other package has the same figure.
constexpr int kDynamoDbWriteCeiling = 1000;

ItemKind kind_of(const store::Image& item) { return schema::place_of(item.pk(), item.sk()).kind; }

store::ImagePtr in_form(const store::ImagePtr& item, ItemForm form) {
  if (form == ItemForm::kAsStored || kind_of(*item) != ItemKind::kBucket) return item;
  return schema::adapt_write_capacity(
      item, form == ItemForm::kDynamoDb ? std::optional(kDynamoDbWriteCeiling) : std::nullopt);
}

void append_line(ExportedPage& page, const store::Image& item) {
  page.lines += store::to_dynamo_json(item);
  page.lines += '\n';
  ++page.items;
}

std::string in_line(std::uint64_t number) { return "line " + std::to_string(number) + ": "; }

// The same error with the line before its reason.
Error of_line(std::uint64_t number, const Error& error) {
  if (error.code() != ErrorCode::kInvalidArgument) {
    return Error(error.code(), in_line(number) + error.reason());
  }
  return Error::invalid("line " + std::to_string(number), error.value(), error.reason());
}

Error bad_line(std::uint64_t number, std::string_view value, std::string reason) {
  return Error::invalid("line " + std::to_string(number), value, std::move(reason));
}

// Ids of namespaces are 11 characters of url-safe base64; "_" is the store's own.
bool is_namespace_id(std::string_view text) {
  if (text == schema::kReservedNamespace) return true;
  return text.size() == 11 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_';
         });
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

Op<Result<ExportedPage>> export_page(const std::string& start, ItemForm form,
                                     schema::StoreRecord record) {
  ExportedPage exported;
  if (start.empty() && form != ItemForm::kDynamoDb) {
    store::Key key = schema::store_record_key();
    store::GetRequest get(key, store::Consistency::kStrong);
    auto stored = co_await ask(get);
    if (stored.outcome != store::Outcome::kOk) co_return error_of(stored);
    store::ImagePtr first = stored.image ? stored.image : schema::encode_store_record(record);
    append_line(exported, *first);
  }
  store::ScanRequest scan(kScanPageItems, start);
  auto page = co_await ask(scan);
  if (page.outcome != store::Outcome::kOk) co_return error_of(page);
  for (const store::ImagePtr& image : page.images) {
    ItemKind kind = kind_of(*image);
    if (kind == ItemKind::kStoreRecord || kind == ItemKind::kImportRecord) continue;
    store::ImagePtr item = in_form(image, form);
    append_line(exported, *item);
  }
  for (store::UnreadableItem& item : page.unreadable) {
    StoreProblem problem;
    problem.pk = item.key.pk();
    problem.sk = item.key.sk();
    problem.what = "cannot be read: " + item.message;
    problem.advice = "it is missing from the export";
    exported.unreadable.push_back(std::move(problem));
  }
  if (page.next) exported.next = *page.next;
  co_return exported;
}

Result<std::optional<schema::StoreRecord>> exported_record(std::string_view line) {
  std::optional<schema::StoreRecord> record;
  if (is_blank(line)) return record;
  Result<store::ImagePtr> item = store::from_dynamo_json(line);
  if (!item) return item.error();
  if (kind_of(**item) != ItemKind::kStoreRecord) return record;
  Result<schema::StoreRecord> decoded = schema::decode_store_record(**item);
  if (!decoded) return decoded.error();
  record = *decoded;
  return record;
}

Status LineChecker::check_settings(const store::Image& item) const {
  Result<schema::StoreRecord> source = schema::decode_store_record(item);
  if (!source) return source.error();
  if (other_settings_) return Status();
  std::string differs;
  auto add = [&](std::string_view what, const std::string& theirs, const std::string& ours) {
    if (theirs == ours) return;
    if (!differs.empty()) differs += ", ";
    differs.append(what).append(" ").append(theirs).append(" instead of ").append(ours);
  };
  auto tolerance = [](const schema::StoreRecord& record) {
    int divisor = record.burst_tolerance_divisor;
    return divisor == 0 ? std::string("0") : "1/" + std::to_string(divisor);
  };
  add("reset rule", std::string(schema::to_string(source->reset_rule)),
      std::string(schema::to_string(target_record_.reset_rule)));
  add("burst tolerance", tolerance(*source), tolerance(target_record_));
  add("layout", std::string(schema::to_string(source->layout)),
      std::string(schema::to_string(target_record_.layout)));
  if (differs.empty()) return Status();
  return Error(ErrorCode::kVersionMismatch,
               "the items come from a store with other settings (" + differs +
                   "); settings are fixed when a store is made and an import does not change them");
}

Result<std::optional<ImportLine>> LineChecker::check(std::uint64_t number, std::string_view line) {
  std::optional<ImportLine> checked;
  if (is_blank(line)) return checked;
  if (store::names_running_out()) {
    return bad_line(number, "", "too many distinct attribute names; is this a store's export?");
  }
  Result<store::ImagePtr> item = store::from_dynamo_json(line);
  if (!item) return of_line(number, item.error());
  schema::ItemPlace place = schema::place_of((*item)->pk(), (*item)->sk());
  if (!is_namespace_id(place.ns)) {
    return bad_line(number, (*item)->pk(), "is no key of an item of stint");
  }
  store::PutRequest put(*item, nullptr);
  if (Status allowed = store::validate(&put); !allowed) return of_line(number, allowed.error());
  switch (place.kind) {
    case ItemKind::kStoreRecord:
      if (Status same = check_settings(**item); !same) return of_line(number, same.error());
      return checked;
    case ItemKind::kVersion:
    case ItemKind::kImportRecord: return checked;
    default: break;
  }
  findings_.clear();
  inspector_.inspect(**item, findings_);
  for (const schema::Finding& finding : findings_) {
    if (finding.is_corrupt) return bad_line(number, (*item)->pk(), finding.what);
  }
  checked.emplace();
  checked->number = number;
  checked->kind = place.kind;
  checked->item = *std::move(item);
  if (place.kind != ItemKind::kBucket) return checked;
  if (!target_->partition_write_ceiling && schema::is_split(*checked->item)) {
    return bad_line(number, checked->item->pk(),
                    "is a bucket in several shards, which this store does not have; only a "
                    "distributed store takes it");
  }
  checked->item = schema::adapt_write_capacity(checked->item, target_->partition_write_ceiling);
  return checked;
}

Op<Result<ImportTarget>> inspect_target() {
  ImportTarget target;
  store::Key key = schema::import_record_key();
  store::GetRequest get(key, store::Consistency::kStrong);
  auto found = co_await ask(get);
  if (found.outcome != store::Outcome::kOk) co_return error_of(found);
  if (found.image) {
    Result<schema::ImportRecord> record = schema::decode_import(*found.image);
    if (!record) co_return record.error();
    target.unfinished = *std::move(record);
  }
  std::string start;
  for (;;) {
    // More than the records that every store has.
    store::ScanRequest scan(8, start);
    auto page = co_await ask(scan);
    if (page.outcome != store::Outcome::kOk) co_return error_of(page);
    target.holds_items = target.holds_items || !page.unreadable.empty();
    for (const store::ImagePtr& image : page.images) {
      ItemKind kind = kind_of(*image);
      bool own = kind == ItemKind::kStoreRecord || kind == ItemKind::kVersion ||
                 kind == ItemKind::kImportRecord;
      target.holds_items = target.holds_items || !own;
    }
    if (target.holds_items || !page.next) break;
    start = *page.next;
  }
  co_return target;
}

namespace {

// A namespace that the target knows under another id would become unreachable there.
Op<Status> check_namespace(const ImportLine& line) {
  store::Key key = line.item->key();
  store::GetRequest get(key, store::Consistency::kStrong);
  auto found = co_await ask(get);
  if (found.outcome != store::Outcome::kOk) co_return error_of(found);
  if (!found.image) co_return Status();
  Result<schema::NamespaceRecord> here = schema::decode_namespace(*found.image);
  Result<schema::NamespaceRecord> theirs = schema::decode_namespace(*line.item);
  if (!here || !theirs || here->id == theirs->id) co_return Status();
  co_return Error(ErrorCode::kExists,
                  in_line(line.number) + "the store has a namespace \"" + theirs->name +
                      "\" of its own, whose items would become unreachable; import into an empty "
                      "store");
}

// A list of a namespace is made of what the namespace holds. Written over one that is there, it
// would leave out what was there before.
bool is_list(const ImportLine& line) {
  return line.kind == ItemKind::kResourceRegistry || line.kind == ItemKind::kEntityConfigRegistry;
}

Op<Status> list_resources(const ImportLine& line) {
  std::string ns(schema::place_of(line.item->pk(), line.item->sk()).ns);
  Result<schema::ResourceRegistry> theirs = schema::decode_resource_registry(*line.item);
  if (!theirs) co_return of_line(line.number, theirs.error());
  store::Key key = schema::resource_registry_key(ns);
  for (const std::string& resource : theirs->resources) {
    store::UpdateProgram program = schema::list_resource(ns, resource);
    store::UpdateRequest update(key, program, store::Params());
    auto listed = co_await ask(update);
    if (listed.outcome != store::Outcome::kOk) co_return error_of(listed);
  }
  co_return Status();
}

// The source's counts are the least that can be right: they also count items that an abandoned
// import has brought without its lists.
Op<Status> raise_counts(const ImportLine& line) {
  std::string ns(schema::place_of(line.item->pk(), line.item->sk()).ns);
  Result<schema::EntityConfigRegistry> theirs = schema::decode_entity_config_registry(*line.item);
  if (!theirs) co_return of_line(line.number, theirs.error());
  store::Key key = schema::entity_config_registry_key(ns);
  store::GetRequest get(key, store::Consistency::kStrong);
  auto found = co_await ask(get);
  if (found.outcome != store::Outcome::kOk) co_return error_of(found);
  schema::EntityConfigRegistry here;
  if (found.image) {
    Result<schema::EntityConfigRegistry> decoded =
        schema::decode_entity_config_registry(*found.image);
    if (!decoded) co_return decoded.error();
    here = *std::move(decoded);
  }
  for (const auto& entry : theirs->counts) {
    std::int64_t missing = entry.second - here.counts[entry.first];
    if (missing <= 0) continue;
    store::UpdateProgram program = schema::count_in_registry(ns, entry.first, missing);
    store::UpdateRequest update(key, program, store::Params());
    auto counted = co_await ask(update);
    if (counted.outcome != store::Outcome::kOk) co_return error_of(counted);
  }
  co_return Status();
}

// Counts the entities whose limits are new to the store.
Op<Status> count_new_configs(std::span<const ImportLine> lines) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  std::vector<store::Key> keys;
  for (const ImportLine& line : lines) {
    // As the check does: what is not in the index is not counted.
    if (line.kind != ItemKind::kEntityConfig || !line.item->has(store::index_pk(3))) continue;
    if (!seen.emplace(line.item->pk(), line.item->sk()).second) continue;
    keys.push_back(line.item->key());
  }
  if (keys.empty()) co_return Status();
  std::vector<store::GetRequest> gets;
  gets.reserve(keys.size());
  for (const store::Key& key : keys) gets.emplace_back(key, store::Consistency::kStrong);
  std::vector<store::Call> calls = calls_of(gets);
  co_await ask_all(calls);
  std::map<std::pair<std::string, std::string>, std::int64_t> added;  // by namespace and resource
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto& found = std::get<store::GetReply>(calls[i].reply);
    if (found.outcome != store::Outcome::kOk) co_return error_of(found);
    if (found.image && found.image->has(store::index_pk(3))) continue;
    const store::Key& key = keys[i];
    std::string ns(schema::place_of(key.pk(), key.sk()).ns);
    ++added[std::pair(ns, std::string(key.sk().substr(schema::kEntityConfigPrefix.size())))];
  }
  for (const auto& entry : added) {
    const std::string& ns = entry.first.first;
    store::Key key = schema::entity_config_registry_key(ns);
    store::UpdateProgram program = schema::count_in_registry(ns, entry.first.second, entry.second);
    store::UpdateRequest update(key, program, store::Params());
    auto counted = co_await ask(update);
    if (counted.outcome != store::Outcome::kOk) co_return error_of(counted);
  }
  co_return Status();
}

// Before the items are written: an interruption leaves lists that name too much, which does no
// harm.
Op<Status> add_to_lists(std::span<const ImportLine> lines) {
  auto counted = co_await count_new_configs(lines);
  if (!counted) co_return counted;
  for (const ImportLine& line : lines) {
    if (line.kind == ItemKind::kResourceRegistry) {
      auto listed = co_await list_resources(line);
      if (!listed) co_return listed;
    } else if (line.kind == ItemKind::kEntityConfigRegistry) {
      auto raised = co_await raise_counts(line);
      if (!raised) co_return raised;
    }
  }
  co_return Status();
}

Result<BatchTally> tally_batch(std::span<const ImportLine> lines,
                               std::span<const store::Call> calls) {
  BatchTally tally;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto& reply = std::get<store::WriteReply>(calls[i].reply);
    if (reply.outcome == store::Outcome::kOk) {
      ++tally.written;
    } else if (reply.outcome != store::Outcome::kConditionFailed) {
      return of_line(lines[i].number, error_of(reply));
    } else if (reply.image && *reply.image == *lines[i].item) {
      ++tally.already_there;
    } else {
      return Error(ErrorCode::kExists, in_line(lines[i].number) + "another item has the key " +
                                           std::string(lines[i].item->pk()) + " " +
                                           std::string(lines[i].item->sk()));
    }
  }
  return tally;
}

}  // namespace

Op<Result<BatchTally>> import_batch(std::span<const ImportLine> all,
                                    const schema::ImportRecord& progress, bool replace) {
  std::vector<ImportLine> lines;
  lines.reserve(all.size());
  for (const ImportLine& line : all) {
    if (!replace || !is_list(line)) lines.push_back(line);
  }
  if (replace) {
    for (const ImportLine& line : lines) {
      if (line.kind != ItemKind::kNamespaceByName) continue;
      auto kept = co_await check_namespace(line);
      if (!kept) co_return kept.error();
    }
    auto listed = co_await add_to_lists(all);
    if (!listed) co_return listed.error();
  }
  store::Condition absent;
  absent.require(store::Term{store::Test::kItemAbsent});
  std::vector<store::PutRequest> puts;
  puts.reserve(lines.size() + 1);
  for (const ImportLine& line : lines) puts.emplace_back(line.item, replace ? nullptr : &absent);
  puts.emplace_back(schema::encode_import(progress), nullptr);
  std::vector<store::Call> calls = calls_of(puts);
  co_await ask_all(calls);
  Result<BatchTally> tally = tally_batch(lines, calls);
  if (!tally) co_return tally.error();
  const auto& recorded = std::get<store::WriteReply>(calls.back().reply);
  if (recorded.outcome != store::Outcome::kOk) co_return error_of(recorded);
  tally->written += all.size() - lines.size();
  co_return *tally;
}

Op<Status> finish_import() {
  store::Key key = schema::import_record_key();
  store::DeleteRequest removal(key, nullptr);
  auto removed = co_await ask(removal);
  if (removed.outcome != store::Outcome::kOk) co_return error_of(removed);
  co_return Status();
}

}  // namespace stint::ops
