#include "ops/check.h"

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/hash.h"
#include "ops/context.h"
#include "ops/survey.h"
#include "schema/config_item.h"
#include "schema/inspection.h"
#include "schema/keys.h"
#include "schema/records.h"
#include "store/apply.h"

namespace stint::ops {
namespace {

using schema::ItemKind;

// So many names are compared with the lists that should hold them. They are held in memory, and
// real stores have some hundred.
constexpr std::size_t kMostNames = 200'000;
constexpr std::size_t kKeysPerGet = 100;
// Entries of equal sort key are few.
constexpr int kEntriesPerQuery = 8;

constexpr const char* kRebuild =
    "rebuild the indexes: export the store and import that into a new one";
constexpr const char* kLost =
    "what was here is lost: restore a backup; or export and import into a new store, which leaves "
    "it out";

std::string phase_of(int index) { return "index " + std::to_string(index); }

// What entries of an index amount to, in any order: equal sums mean equal entries. Kept apart by
// the items that the entries are of, so that where sums differ few items have to be looked at.
class EntrySums {
 public:
  void add(const store::Image& entry, int index) {
    std::optional<store::IndexEntry> keys = store::index_entry(entry, index);
    if (!keys) return;
    Sum& sum = parts_[part_of(entry)];
    ++sum.count;
    for (std::size_t i = 0; i < sum.hashes.size(); ++i) {
      std::uint64_t hash = hash_bytes(keys->sort, hash_bytes(keys->partition, i + 1));
      sum.hashes[i] += hash_bytes(entry.sk(), hash_bytes(entry.pk(), hash));
    }
  }
  /// Whether the two agree in the entries of an item, and of those that share its part.
  bool agree_about(const store::Image& item, const EntrySums& other) const {
    return parts_[part_of(item)] == other.parts_[part_of(item)];
  }
  friend bool operator==(const EntrySums&, const EntrySums&) = default;

 private:
  // 100 kilobytes for each index, twice; and of a million items, a part has 250.
  static constexpr std::size_t kParts = 4096;

  struct Sum {
    std::uint64_t count = 0;
    std::array<std::uint64_t, 2> hashes{};
    friend bool operator==(const Sum&, const Sum&) = default;
  };

  static std::size_t part_of(const store::Image& image) {
    return hash_bytes(image.sk(), hash_bytes(image.pk(), 0)) % kParts;
  }

  std::vector<Sum> parts_ = std::vector<Sum>(kParts);
};

class StoreChecker {
 public:
  explicit StoreChecker(const CheckSettings& settings)
      : settings_(settings), inspector_(settings.reset_rule, settings.now) {}

  CheckReport report;

  void problem(std::string_view pk, std::string_view sk, std::string what, std::string advice) {
    ++report.problems;
    if (!settings_.on_problem) return;
    StoreProblem found;
    found.pk = pk;
    found.sk = sk;
    found.what = std::move(what);
    found.advice = std::move(advice);
    settings_.on_problem(found);
  }

  void unreadable(const store::UnreadableItem& item, const std::string& where) {
    ++report.unreadable;
    problem(item.key.pk(), item.key.sk(), where + "cannot be read: " + item.message, kLost);
  }

  /// Whether to go on.
  bool tell(std::string_view phase, std::uint64_t done) {
    MaintenanceProgress progress{phase, done};
    if (!settings_.on_progress || settings_.on_progress(progress)) return true;
    report.complete = false;
    return false;
  }

  void check_item(const store::ImagePtr& image) {
    ++report.items;
    findings_.clear();
    inspector_.inspect(*image, findings_);
    for (schema::Finding& finding : findings_) {
      problem(image->pk(), image->sk(), std::move(finding.what), std::move(finding.advice));
    }
    store::PutRequest put(image, nullptr);
    if (Status allowed = store::validate(&put); !allowed) {
      problem(image->pk(), image->sk(), "is not what a store takes: " + allowed.error().message(),
              "mend its line in an export and import that into a new store");
    }
    for (int index = 1; index <= store::kIndexCount; ++index) {
      called_for_[static_cast<std::size_t>(index)].add(*image, index);
    }
    note_names(*image);
  }

  void add_entry(int index, const store::Image& entry) {
    ++report.index_entries;
    found_[static_cast<std::size_t>(index)].add(entry, index);
  }
  /// Whether the index holds exactly the entries that the items call for.
  bool index_fits(int index) const {
    auto at = static_cast<std::size_t>(index);
    return called_for_[at] == found_[at];
  }

  /// Whether it does so for this item, or the item that an entry is of.
  bool index_fits(int index, const store::Image& item) const {
    auto at = static_cast<std::size_t>(index);
    return called_for_[at].agree_about(item, found_[at]);
  }

  /// `item` is the one that the entry names; empty: there is none.
  void check_entry(int index, const store::Image& entry, const store::ImagePtr& item) {
    std::string name = phase_of(index);
    if (!item) {
      return problem(entry.pk(), entry.sk(), name + " lists it, and there is no such item",
                     kRebuild);
    }
    std::optional<store::IndexEntry> wanted = store::index_entry(*item, index);
    bool fits = wanted && entry.string(store::index_pk(index)) == wanted->partition &&
                entry.string(store::index_sk(index)) == wanted->sort;
    if (fits) return;
    problem(entry.pk(), entry.sk(), name + " lists it in a place where it does not belong",
            kRebuild);
  }

  void missing_entry(int index, const store::Image& item) {
    problem(item.pk(), item.sk(), phase_of(index) + " does not list it", kRebuild);
  }

  void compare_lists() {
    report.lists_compared = name_count_ < kMostNames;
    if (!report.lists_compared) return;
    for (const auto& [ns, seen] : namespaces_) compare_namespace(ns, seen);
    for (const auto& [name, id] : ids_by_name_) {
      auto found = namespaces_.find(id);
      if (found != namespaces_.end() && found->second.by_id) continue;
      store::Key key = schema::namespace_name_key(name);
      problem(key.pk(), key.sk(), "names the namespace " + id + ", which has no record by id",
              "restore a backup");
    }
  }

 private:
  struct ConfigTally {
    std::int64_t listed_items = 0;
    std::int64_t counted = 0;
  };
  struct Namespace {
    std::uint64_t items = 0;
    std::optional<schema::NamespaceRecord> by_id;
    std::map<std::string, ConfigTally, std::less<>> entity_configs;  // by resource
    std::set<std::string, std::less<>> resources_with_limits;
    std::set<std::string, std::less<>> listed_resources;
  };

  bool room() { return name_count_ < kMostNames; }

  void note_names(const store::Image& image) {
    schema::ItemPlace place = schema::place_of(image.pk(), image.sk());
    if (place.ns.empty() || !room()) return;
    auto found = namespaces_.find(place.ns);
    if (found == namespaces_.end()) {
      ++name_count_;
      found = namespaces_.emplace(std::string(place.ns), Namespace()).first;
    }
    Namespace& ns = found->second;
    ++ns.items;
    // Items that cannot be understood have been reported.
    switch (place.kind) {
      case ItemKind::kEntityConfig: {
        if (!image.has(store::index_pk(3))) return;
        std::string resource(image.sk().substr(schema::kEntityConfigPrefix.size()));
        ++tally(ns, resource).listed_items;
        return;
      }
      case ItemKind::kEntityConfigRegistry:
        if (auto registry = schema::decode_entity_config_registry(image)) {
          for (const auto& [resource, count] : registry->counts) {
            tally(ns, resource).counted = count;
          }
        }
        return;
      case ItemKind::kResourceConfig:
        if (auto config = schema::decode_config(image, settings_.reset_rule)) {
          // Provisioners of the other package write no version and no list.
          if ((*config)->limits.empty() || !(*config)->config_version) return;
          ++name_count_;
          ns.resources_with_limits.emplace(image.pk().substr(image.pk().find('#') + 1));
        }
        return;
      case ItemKind::kResourceRegistry:
        if (auto registry = schema::decode_resource_registry(image)) {
          name_count_ += registry->resources.size();
          ns.listed_resources.insert(registry->resources.begin(), registry->resources.end());
        }
        return;
      case ItemKind::kNamespaceById:
        if (auto record = schema::decode_namespace(image)) {
          std::string id = record->id;
          ++name_count_;
          namespaces_[id].by_id = *std::move(record);
        }
        return;
      case ItemKind::kNamespaceByName:
        if (auto record = schema::decode_namespace(image)) {
          ++name_count_;
          ids_by_name_.emplace(record->name, record->id);
        }
        return;
      default: return;
    }
  }

  ConfigTally& tally(Namespace& ns, const std::string& resource) {
    auto [found, is_new] = ns.entity_configs.try_emplace(resource);
    if (is_new) ++name_count_;
    return found->second;
  }

  void compare_namespace(const std::string& id, const Namespace& seen) {
    if (!seen.by_id) {
      if (id == schema::kReservedNamespace) return;
      return problem(id + "/", "",
                     std::to_string(seen.items) +
                         " items of a namespace that is not registered: nothing can "
                         "reach them",
                     "restore a backup, or leave them out of an import");
    }
    auto named = ids_by_name_.find(seen.by_id->name);
    if (seen.by_id->state == schema::NamespaceState::kActive &&
        (named == ids_by_name_.end() || named->second != id)) {
      store::Key key = schema::namespace_id_key(id);
      problem(key.pk(), key.sk(),
              "the active namespace \"" + seen.by_id->name +
                  "\" has no record by name: nothing can reach its items",
              "restore a backup");
    }
    // Counts that are too high are left behind by deleted entities, and do no harm.
    store::Key registry = schema::entity_config_registry_key(id);
    for (const auto& [resource, tallied] : seen.entity_configs) {
      if (tallied.counted >= tallied.listed_items) continue;
      problem(registry.pk(), registry.sk(),
              "counts " + std::to_string(tallied.counted) + " entities with limits for \"" +
                  resource + "\", and there are " + std::to_string(tallied.listed_items),
              "delete and set again the limits of one of these entities, until it agrees");
    }
    store::Key resources = schema::resource_registry_key(id);
    for (const std::string& resource : seen.resources_with_limits) {
      if (seen.listed_resources.contains(resource)) continue;
      problem(resources.pk(), resources.sk(),
              "does not list \"" + resource + "\", which has limits",
              "set the limits of that resource again");
    }
  }

  const CheckSettings& settings_;
  schema::ItemInspector inspector_;
  std::vector<schema::Finding> findings_;
  // Entries that the items call for, and those that were found; by index.
  std::array<EntrySums, store::kIndexCount + 1> called_for_;
  std::array<EntrySums, store::kIndexCount + 1> found_;
  std::size_t name_count_ = 0;
  std::map<std::string, Namespace, std::less<>> namespaces_;  // by id
  std::map<std::string, std::string, std::less<>> ids_by_name_;
};

Op<Status> check_items(StoreChecker& checker) {
  std::string start;
  for (;;) {
    store::ScanRequest scan(kScanPageItems, start);
    auto page = co_await ask(scan);
    if (page.outcome != store::Outcome::kOk) co_return error_of(page);
    for (const store::ImagePtr& image : page.images) checker.check_item(image);
    for (const store::UnreadableItem& item : page.unreadable) checker.unreadable(item, "");
    if (!page.next) break;
    start = *page.next;
    if (!checker.tell("items", checker.report.items)) break;
  }
  co_return Status();
}

// An entry whose item was not among the answers of a batch: absent, unreadable or not processed.
Op<Status> check_entry_alone(StoreChecker& checker, int index, const store::Image& entry) {
  store::Key key = entry.key();
  store::GetRequest get(key, store::Consistency::kStrong);
  auto found = co_await ask(get);
  // What cannot be read was reported with the items.
  if (found.outcome == store::Outcome::kCorrupt) co_return Status();
  if (found.outcome != store::Outcome::kOk) co_return error_of(found);
  checker.check_entry(index, entry, found.image);
  co_return Status();
}

// Precondition: entries of distinct items, at most a hundred.
Op<Status> check_entries(StoreChecker& checker, int index,
                         const std::vector<store::ImagePtr>& entries) {
  std::vector<store::Key> keys;
  keys.reserve(entries.size());
  for (const store::ImagePtr& entry : entries) keys.push_back(entry->key());
  store::BatchGetRequest batch(keys, store::Consistency::kStrong);
  auto items = co_await ask(batch);
  bool readable = items.outcome == store::Outcome::kOk || items.outcome == store::Outcome::kCorrupt;
  if (!readable) co_return error_of(items);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i < items.images.size() && items.images[i]) {
      checker.check_entry(index, *entries[i], items.images[i]);
      continue;
    }
    auto checked = co_await check_entry_alone(checker, index, *entries[i]);
    if (!checked) co_return checked.error();
  }
  co_return Status();
}

// How many of the first entries are of distinct items, at most a hundred.
std::size_t batch_size(const std::vector<store::ImagePtr>& entries, std::size_t begin) {
  std::set<std::pair<std::string_view, std::string_view>> keys;
  std::size_t end = begin;
  while (end < entries.size() && end - begin < kKeysPerGet &&
         keys.emplace(entries[end]->pk(), entries[end]->sk()).second) {
    ++end;
  }
  return end - begin;
}

Op<Status> sum_index(StoreChecker& checker, int index) {
  std::string phase = phase_of(index);
  std::string start;
  std::uint64_t done = 0;
  for (;;) {
    store::ScanRequest scan(kScanPageItems, start, static_cast<store::Index>(index));
    auto page = co_await ask(scan);
    if (page.outcome != store::Outcome::kOk) co_return error_of(page);
    for (const store::ImagePtr& entry : page.images) checker.add_entry(index, *entry);
    for (const store::UnreadableItem& item : page.unreadable) {
      checker.unreadable(item, "an entry of " + phase + " ");
    }
    done += page.images.size();
    if (!page.next) break;
    start = *page.next;
    if (!checker.tell(phase, done)) break;
  }
  co_return Status();
}

// Finds the entries of an index that fit no item. Reads the items of those for which the sums
// differ.
Op<Status> find_wrong_entries(StoreChecker& checker, int index) {
  std::string phase = "items of index " + std::to_string(index);
  std::string start;
  std::uint64_t done = 0;
  for (;;) {
    store::ScanRequest scan(kScanPageItems, start, static_cast<store::Index>(index));
    auto page = co_await ask(scan);
    if (page.outcome != store::Outcome::kOk) co_return error_of(page);
    std::vector<store::ImagePtr> doubtful;
    for (const store::ImagePtr& entry : page.images) {
      if (!checker.index_fits(index, *entry)) doubtful.push_back(entry);
    }
    for (std::size_t begin = 0; begin < doubtful.size();) {
      std::size_t count = batch_size(doubtful, begin);
      auto first = doubtful.begin() + static_cast<std::ptrdiff_t>(begin);
      std::vector<store::ImagePtr> batch(first, first + static_cast<std::ptrdiff_t>(count));
      auto checked = co_await check_entries(checker, index, batch);
      if (!checked) co_return checked.error();
      begin += count;
    }
    done += page.images.size();
    if (!page.next) break;
    start = *page.next;
    if (!checker.tell(phase, done)) break;
  }
  co_return Status();
}

Op<Result<bool>> is_listed(const store::Image& item, int index) {
  std::optional<store::IndexEntry> entry = store::index_entry(item, index);
  std::string start;
  for (;;) {
    store::QueryRequest query(static_cast<store::Index>(index), std::string(entry->partition),
                              std::string(entry->sort), kEntriesPerQuery, start);
    auto page = co_await ask(query);
    // Beside unreadable items the others are answered.
    bool readable = page.outcome == store::Outcome::kOk || page.outcome == store::Outcome::kCorrupt;
    if (!readable) co_return error_of(page);
    for (const store::ImagePtr& image : page.images) {
      if (image->pk() == item.pk() && image->sk() == item.sk()) co_return true;
    }
    // The sort key is asked for as a prefix; entries that only begin with it come behind all
    // others.
    bool beyond =
        !page.images.empty() && page.images.back()->string(store::index_sk(index)) != entry->sort;
    if (beyond || !page.next) co_return false;
    start = *page.next;
  }
}

// Finds the items that an index lacks. A query for each item for which the sums differ.
Op<Status> find_missing_entries(StoreChecker& checker, int index) {
  std::string phase = "items missing in index " + std::to_string(index);
  std::string start;
  std::uint64_t done = 0;
  for (;;) {
    store::ScanRequest scan(kScanPageItems, start);
    auto page = co_await ask(scan);
    if (page.outcome != store::Outcome::kOk) co_return error_of(page);
    for (const store::ImagePtr& image : page.images) {
      if (!store::index_entry(*image, index) || checker.index_fits(index, *image)) continue;
      auto listed = co_await is_listed(*image, index);
      if (!listed) co_return listed.error();
      if (!*listed) checker.missing_entry(index, *image);
    }
    done += page.images.size();
    if (!page.next) break;
    start = *page.next;
    if (!checker.tell(phase, done)) break;
  }
  co_return Status();
}

}  // namespace

Op<Result<CheckReport>> check_store(const CheckSettings& settings) {
  StoreChecker checker(settings);
  auto items = co_await check_items(checker);
  if (!items) co_return items.error();
  for (int index = 1; index <= store::kIndexCount && checker.report.complete; ++index) {
    auto entries = co_await sum_index(checker, index);
    if (!entries) co_return entries.error();
    if (!checker.report.complete || checker.index_fits(index)) continue;
    auto wrong = co_await find_wrong_entries(checker, index);
    if (!wrong) co_return wrong.error();
    if (!checker.report.complete) break;
    auto missing = co_await find_missing_entries(checker, index);
    if (!missing) co_return missing.error();
  }
  if (checker.report.complete) checker.compare_lists();
  co_return checker.report;
}

}  // namespace stint::ops
