#include "ops/survey.h"

#include <map>
#include <string>
#include <utility>

#include "ops/context.h"
#include "schema/attributes.h"
#include "schema/keys.h"
#include "schema/records.h"

namespace stint::ops {
namespace {

// Beyond so many groups, namespaces are counted together.
constexpr std::size_t kMostGroups = 20'000;
constexpr const char* kOtherNamespaces = "(others)";

class Counter {
 public:
  explicit Counter(TimePoint now)
      : now_s_(std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count()) {}

  void add(const store::ScanReply& page) {
    counts_.unreadable += page.unreadable.size();
    for (const store::ImagePtr& image : page.images) add(*image);
  }

  std::uint64_t items() const { return counts_.items; }

  StoreCounts finish(bool complete) {
    // The names of namespaces come after their items as likely as before.
    std::map<std::pair<std::string, std::string>, ItemCount> sorted;
    for (auto& [group, count] : groups_) {
      auto name = names_.find(group.first);
      count.name_space = name == names_.end() ? group.first : name->second;
      count.kind = schema::to_string(group.second);
      sorted.emplace(std::pair(count.name_space + " " + group.first, count.kind), count);
    }
    for (auto& [order, count] : sorted) counts_.by_kind.push_back(std::move(count));
    counts_.complete = complete;
    return std::move(counts_);
  }

 private:
  void add(const store::Image& image) {
    ++counts_.items;
    counts_.bytes += image.size_bytes();
    std::optional<std::int64_t> expiry = image.number(schema::kExpiryAttr);
    if (expiry && *expiry <= now_s_) ++counts_.expired;
    if (image.size_bytes() > counts_.largest_bytes) {
      counts_.largest_bytes = image.size_bytes();
      counts_.largest_pk = image.pk();
      counts_.largest_sk = image.sk();
    }
    schema::ItemPlace place = schema::place_of(image.pk(), image.sk());
    if (place.kind == schema::ItemKind::kNamespaceById && names_.size() < kMostGroups) {
      // An item that cannot be understood is the check's affair.
      Result<schema::NamespaceRecord> record = schema::decode_namespace(image);
      if (record) names_.emplace(record->id, record->name);
    }
    ItemCount& count = group(place);
    ++count.items;
    count.bytes += image.size_bytes();
  }

  ItemCount& group(const schema::ItemPlace& place) {
    std::pair key(std::string(place.ns), place.kind);
    auto found = groups_.find(key);
    if (found != groups_.end()) return found->second;
    if (groups_.size() >= kMostGroups) key.first = kOtherNamespaces;
    return groups_[key];
  }

  std::int64_t now_s_;
  StoreCounts counts_;
  std::map<std::pair<std::string, schema::ItemKind>, ItemCount> groups_;
  std::map<std::string, std::string, std::less<>> names_;  // by id
};

}  // namespace

Op<Result<StoreCounts>> count_items(TimePoint now, const OnProgress& on_progress) {
  Counter counter(now);
  std::string start;
  for (;;) {
    store::ScanRequest scan(kScanPageItems, start);
    auto page = co_await ask(scan);
    if (page.outcome != store::Outcome::kOk) co_return error_of(page);
    counter.add(page);
    if (!page.next) break;
    start = *page.next;
    MaintenanceProgress progress{"items", counter.items()};
    if (on_progress && !on_progress(progress)) co_return counter.finish(false);
  }
  co_return counter.finish(true);
}

Op<Result<std::optional<UnfinishedImport>>> find_unfinished_import() {
  store::Key key = schema::import_record_key();
  store::GetRequest get(key, store::Consistency::kStrong);
  auto found = co_await ask(get);
  if (found.outcome != store::Outcome::kOk) co_return error_of(found);
  std::optional<UnfinishedImport> unfinished;
  if (!found.image) co_return unfinished;
  Result<schema::ImportRecord> record = schema::decode_import(*found.image);
  if (!record) co_return record.error();
  unfinished.emplace();
  unfinished->source = record->source;
  unfinished->lines = static_cast<std::uint64_t>(record->lines);
  unfinished->started_at = record->started_at;
  co_return unfinished;
}

}  // namespace stint::ops
