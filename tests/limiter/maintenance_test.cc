// Counting, checking, backing up and moving stores, on every embedded engine.
#include "stint/maintenance.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "limiter/store_handle.h"
#include "schema/keys.h"
#include "schema/records.h"
#include "store/memory/memory_engine.h"
#include "testing/faulty_store.h"
#include "tests/limiter/support.h"
#include "tests/support/seed.h"
#include "tests/support/table.h"
#include "tests/support/temp_directory.h"

namespace stint::test {
namespace {

namespace fs = std::filesystem;
using store::ImageBuilder;
using store::ImagePtr;
using store::Key;

Store store_over(std::shared_ptr<store::Engine> engine) {
  return limiter::open_store(std::move(engine), {}).value();
}

store::AttrId attr(const std::string& name) { return store::intern(name); }

/// All lines of an export but the records that tell stores apart.
std::vector<std::string> lines_of(const Store& store, ItemForm form = ItemForm::kAsStored) {
  std::string text;
  ExportOptions options;
  options.form = form;
  auto sink = [&](const ExportPage& page) {
    text += page.lines;
    return Status();
  };
  Result<ExportReport> report = export_items(store, sink, options);
  EXPECT_TRUE(report.ok()) << report.error().message();
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.find("\"#VERSION\"") == std::string::npos) lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// Whole texts in the order in which an export gives them.
std::vector<std::string> export_lines(const Store& store) {
  std::vector<std::string> lines;
  auto sink = [&](const ExportPage& page) {
    std::istringstream stream{std::string(page.lines)};
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return Status();
  };
  EXPECT_TRUE(export_items(store, sink).ok());
  return lines;
}

Result<ImportReport> import_lines(const Store& target, const std::vector<std::string>& lines,
                                  const ImportOptions& options = {}) {
  Result<Importer> importer = Importer::start(target, options);
  if (!importer) return importer.error();
  for (const std::string& line : lines) {
    if (Status added = importer->add(line); !added) return added.error();
  }
  return importer->finish();
}

std::string bucket_line(const std::vector<std::string>& lines) {
  auto found = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("\"#STATE\"") != std::string::npos;
  });
  return found == lines.end() ? "no bucket" : *found;
}

std::string error_of(const Result<ImportReport>& report) {
  return report ? "done" : report.error().message();
}

std::vector<StoreProblem> problems_of(const Store& store, TimePoint now) {
  std::vector<StoreProblem> problems;
  CheckOptions options;
  options.now = now;
  options.on_problem = [&](const StoreProblem& problem) { problems.push_back(problem); };
  Result<CheckReport> report = check_store(store, options);
  EXPECT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(report ? report->problems : 0, problems.size());
  return problems;
}

std::string shown(const std::vector<StoreProblem>& problems) {
  std::string text;
  for (const StoreProblem& problem : problems) {
    text += problem.pk + " " + problem.sk + ": " + problem.what + "; " + problem.advice + "\n";
  }
  return text;
}

class Maintenance : public ::testing::TestWithParam<std::string> {
 protected:
  Maintenance()
      : engine_(open_engine(GetParam(), directory_.path() + "/store")),
        store_(store_over(engine_)) {}

  Limiter limiter() {
    LimiterOptions options;
    options.clock = &clock_;
    options.seed = seed() + (++seeds_ << 32);
    return Limiter(store_, options);
  }

  /// Entities with all kinds of limits, some of them used.
  void fill(int entities = 30) {
    Limiter limiter = this->limiter();
    limiter
        .set_limits(Scope::resource(kApi),
                    {Limit::per_minute("rpm", 60), Limit::session("session", 100, 5h)})
        .value();
    limiter.create_entity("team").value();
    for (int i = 0; i < entities; ++i) {
      std::string entity = "user-" + std::to_string(i);
      EntityOptions options;
      if (i % 3 == 0) options.parent = "team";
      limiter.create_entity(entity, options).value();
      if (i % 5 == 0) {
        limiter.set_limits(Scope::entity_resource(entity, kApi), {Limit::per_minute("rpm", 10)})
            .value();
      }
      Decision decision = limiter.acquire({entity, kApi, {{"rpm", 1}}}).value();
      EXPECT_TRUE(decision);
      clock_.advance(Millis(17));
    }
  }

  Table table() { return Table(engine_); }

  std::string ns() {
    ImagePtr name = table().image(schema::namespace_name_key("default"));
    return std::string(name->string(attr("namespace_id")).value());
  }

  void edit(const Key& key, const std::function<void(ImageBuilder&)>& change) {
    ImagePtr item = table().image(key);
    ASSERT_TRUE(item) << key.pk();
    ImageBuilder builder(*item);
    change(builder);
    ASSERT_EQ(table().put(builder.build()).outcome, store::Outcome::kOk);
  }

  TempDirectory directory_;
  FakeClock clock_{instant("2027-03-10T12:00Z")};
  std::uint64_t seeds_ = 0;
  std::shared_ptr<store::Engine> engine_;
  Store store_;
};

STINT_ON_EVERY_ENGINE(Maintenance);

// ---- Counting ----

TEST_P(Maintenance, CountsByKindAndNamespace) {
  fill(10);
  InspectOptions options;
  options.now = clock_.now();
  StoreInfo info = inspect_store(store_, options).value();
  EXPECT_EQ(info.kind, GetParam());
  EXPECT_EQ(info.settings.layout, "lean");
  EXPECT_EQ(info.settings.reset_rule, ResetRule::kLocalDay);
  EXPECT_FALSE(info.durability.empty());
  ASSERT_TRUE(info.counts);
  std::map<std::string, std::uint64_t> items;
  std::uint64_t sum = 0;
  std::int64_t bytes = 0;
  for (const ItemCount& count : info.counts->by_kind) {
    items[count.name_space + "/" + count.kind] = count.items;
    sum += count.items;
    bytes += count.bytes;
  }
  EXPECT_EQ(items["default/bucket"], 10u);
  EXPECT_EQ(items["default/entity"], 11u);
  EXPECT_EQ(items["default/entity limits"], 2u);
  EXPECT_EQ(items["_/store settings"], 1u);
  EXPECT_EQ(info.counts->items, sum);
  EXPECT_EQ(info.counts->items, table().scanned().size());
  EXPECT_EQ(info.counts->bytes, bytes);
  EXPECT_EQ(info.counts->expired, 0u);
  EXPECT_EQ(info.counts->largest_bytes,
            table().image(Key(info.counts->largest_pk, info.counts->largest_sk))->size_bytes());

  edit(schema::bucket_key(ns(), "user-1", kApi, 0),
       [&](ImageBuilder& item) { item.set(attr("ttl"), std::int64_t{1}); });
  EXPECT_EQ(inspect_store(store_, options).value().counts->expired, 1u);
  options.count_items = false;
  info = inspect_store(store_, options).value();
  EXPECT_FALSE(info.counts);
  EXPECT_GT(info.estimated_records.value_or(0), 0u);
}

TEST_P(Maintenance, LongWorkStopsWhenToldTo) {
  Limiter limiter = this->limiter();
  limiter.set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 60)}).value();
  for (int i = 0; i < 2500; ++i) limiter.create_entity("user-" + std::to_string(i)).value();
  int calls = 0;
  OnProgress stop = [&](const MaintenanceProgress& progress) {
    EXPECT_EQ(progress.phase, "items");
    EXPECT_EQ(progress.done, 1000u);
    ++calls;
    return false;
  };
  InspectOptions inspect;
  inspect.on_progress = stop;
  StoreCounts counts = *inspect_store(store_, inspect).value().counts;
  EXPECT_FALSE(counts.complete);
  EXPECT_EQ(counts.items, 1000u);
  CheckOptions check;
  check.on_progress = stop;
  EXPECT_FALSE(check_store(store_, check).value().complete);
  EXPECT_EQ(calls, 2);
}

// ---- Checking ----

TEST_P(Maintenance, WhatOperationsLeaveBehindIsSound) {
  Random random(seed());
  Limiter limiter = this->limiter();
  auto pick = [&](int below) {
    return static_cast<std::size_t>(random.below(static_cast<std::uint64_t>(below)));
  };
  const std::vector<std::vector<Limit>> configurations = {
      {Limit::per_minute("rpm", 60).value(), Limit::session("session", 100, 5h).value()},
      {Limit::per_minute("rpm", 5).value()},
      {Limit::calendar("day", 50, "0 0 * * *", "Europe/Berlin").value(),
       Limit::session("session", 7, 1h).value(), Limit::per_minute("rpm", 600).value()},
  };
  limiter.set_limits(Scope::resource(kApi), configurations[0]).value();
  limiter.create_entity("team").value();
  for (int step = 0; step < 600; ++step) {
    clock_.advance(Millis(pick(40) == 0 ? 20'000'000 : static_cast<int>(pick(30'000))));
    std::string entity = "user-" + std::to_string(pick(6));
    switch (pick(12)) {
      case 0: {
        EntityOptions options;
        if (pick(2) == 0) options.parent = "team";
        options.cascade = pick(2) == 0;
        static_cast<void>(limiter.create_entity(entity, options));
        break;
      }
      case 1: static_cast<void>(limiter.delete_entity(entity)); break;
      case 2: limiter.set_limits(Scope::resource(kApi), configurations[pick(3)]).value(); break;
      case 3:
        limiter.set_limits(Scope::entity_resource(entity, kApi), configurations[pick(3)]).value();
        break;
      case 4: static_cast<void>(limiter.delete_limits(Scope::entity_resource(entity, kApi))); break;
      default: {
        Result<Decision> decision =
            limiter.acquire({entity, kApi, {{"rpm", static_cast<int>(pick(4))}}});
        if (!decision) continue;
        if (!*decision) continue;
        decision->lease().adjust("rpm", static_cast<int>(pick(6))).value();
        decision->lease().settle().value();
      }
    }
    if (step % 100 == 99) {
      std::vector<StoreProblem> problems = problems_of(store_, clock_.now());
      ASSERT_TRUE(problems.empty()) << "step " << step << "\n" << shown(problems);
    }
  }
}

struct Planted {
  const char* name;
  std::function<Key(const std::string& ns)> key;
  std::function<void(ImageBuilder&)> change;
  const char* what;
};

TEST_P(Maintenance, FindsWhatIsWrongWithAnItem) {
  fill(10);
  auto bucket = [](const std::string& ns) { return schema::bucket_key(ns, "user-1", kApi, 0); };
  auto entity = [](const std::string& ns) { return schema::entity_key(ns, "user-1"); };
  auto config = [](const std::string& ns) { return schema::config_key(ns, "user-5", kApi); };
  auto number = [](const char* name, std::int64_t value) {
    return [=](ImageBuilder& item) { item.set(attr(name), value); };
  };
  auto text = [](const char* name, const char* value) {
    return [=](ImageBuilder& item) { item.set(attr(name), value); };
  };
  auto gone = [](const char* name) { return [=](ImageBuilder& item) { item.erase(attr(name)); }; };
  std::int64_t now_ms = clock_.now().time_since_epoch().count();
  const std::vector<Planted> planted = {
      {"type", bucket, text("b_rpm_tk", "many"), "b_rpm_tk is not a whole number"},
      {"stamp", bucket, gone("rf"), "no refill stamp"},
      {"capacity", bucket, number("b_rpm_cp", 0), "capacity out of range"},
      {"zone", bucket,
       [](ImageBuilder& item) {
         item.set(attr("rsched"), "0m0h").set(attr("sched_tz"), "Mars/Olympus");
       },
       "unknown time zone"},
      {"too much", bucket, number("b_rpm_tk", 60'001), "at most 60 fit"},
      {"no counter", bucket, gone("b_rpm_tc"), "b_rpm_tc is missing"},
      {"neither", bucket, number("b_rpm_ra", 0), "neither refills nor resets"},
      {"future", bucket, number("rf", now_ms + 100'000'000), "in the future"},
      {"window order", bucket,
       [=](ImageBuilder& item) {
         item.set(attr("b_session_ws"), now_ms - 10).set(attr("b_session_wa"), now_ms - 5);
       },
       "wa is later than the window ws"},
      {"window without start", bucket, number("b_session_wa", now_ms), "and no window (ws)"},
      {"trusted too long", bucket,
       [=](ImageBuilder& item) {
         item.set(attr("b_session_ws"), now_ms).set(attr("b_session_wa"), now_ms);
         item.set(attr("vu"), now_ms + 36'000'000);
       },
       "is trusted for longer"},
      {"shards", bucket, number("shard_count", 0), "shard_count below 1"},
      {"owner", bucket, text("entity_id", "somebody"), "entity_id is not the entity of its key"},
      {"index key", bucket, text("GSI2SK", "BUCKET#user-2#0"), "GSI2SK should be"},
      {"entity", entity, gone("entity_id"), "entity_id is missing"},
      {"entity key", entity, text("entity_id", "user-2"), "PK should be"},
      {"limits", config, text("l_rpm_cp", "x"), "l_rpm_cp is not"},
      {"word", [](const std::string&) { return schema::store_record_key(); },
       text("reset_rule", "sometimes"), "which is unknown"},
      {"count", [](const std::string& ns) { return schema::entity_config_registry_key(ns); },
       number(kApi, 1), "counts 1 entities"},
      {"list", [](const std::string& ns) { return schema::resource_registry_key(ns); },
       gone("resources"), "does not list \"api\""},
      {"namespace", [](const std::string& ns) { return schema::namespace_id_key(ns); },
       text("namespace_name", "other"), "has no record by name"},
  };
  ASSERT_EQ(shown(problems_of(store_, clock_.now())), "");
  for (const Planted& one : planted) {
    SCOPED_TRACE(one.name);
    Key key = one.key(ns());
    ImagePtr before = table().image(key);
    edit(key, one.change);
    std::string found = shown(problems_of(store_, clock_.now()));
    EXPECT_NE(found.find(one.what), std::string::npos) << found;
    EXPECT_NE(found.find(key.pk()), std::string::npos) << found;
    table().put(before);
  }
  table().remove(schema::namespace_id_key(ns()));
  std::string found = shown(problems_of(store_, clock_.now()));
  EXPECT_NE(found.find("namespace that is not registered"), std::string::npos) << found;
  EXPECT_NE(found.find("has no record by id"), std::string::npos) << found;
}

/// An engine whose index 3 does not agree with its items.
class LyingIndex final : public store::Engine {
 public:
  explicit LyingIndex(std::shared_ptr<store::Engine> inner) : inner_(std::move(inner)) {}

  bool hides_last = false;
  bool adds_dangling = false;
  bool misplaces_last = false;

  const store::Capabilities& capabilities() const noexcept override {
    return inner_->capabilities();
  }
  void execute(std::span<store::Call> calls) noexcept override {
    inner_->execute(calls);
    for (store::Call& call : calls) distort(call);
  }

 private:
  void distort(store::Call& call) {
    if (const auto* query = std::get_if<const store::QueryRequest*>(&call.request)) {
      if (hides_last && (*query)->index() == store::Index::kGsi3) {
        auto& images = std::get<store::QueryReply>(call.reply).images;
        std::erase_if(images, [&](const ImagePtr& image) { return image->pk() == hidden_pk_; });
      }
    }
    const auto* scan = std::get_if<const store::ScanRequest*>(&call.request);
    if (scan == nullptr || (*scan)->index() != store::Index::kGsi3) return;
    auto& images = std::get<store::ScanReply>(call.reply).images;
    if (images.empty()) return;
    if (hides_last) {
      hidden_pk_ = images.back()->pk();
      images.pop_back();
    }
    if (adds_dangling) {
      images.push_back(ImageBuilder(Key("nobody", "s"))
                           .set(store::index_pk(3), "p")
                           .set(store::index_sk(3), "s")
                           .build());
    }
    if (misplaces_last) {
      images.back() = ImageBuilder(*images.back()).set(store::index_sk(3), "elsewhere").build();
    }
  }

  std::shared_ptr<store::Engine> inner_;
  std::string hidden_pk_;
};

TEST_P(Maintenance, FindsIndexesThatDoNotFit) {
  fill(10);
  auto lying = std::make_shared<LyingIndex>(engine_);
  Store store = store_over(lying);
  lying->hides_last = true;
  std::vector<StoreProblem> problems = problems_of(store, clock_.now());
  ASSERT_EQ(problems.size(), 1u) << shown(problems);
  EXPECT_EQ(problems[0].what, "index 3 does not list it");
  EXPECT_TRUE(table().image(Key(problems[0].pk, problems[0].sk)));
  lying->hides_last = false;
  lying->adds_dangling = true;
  problems = problems_of(store, clock_.now());
  ASSERT_EQ(problems.size(), 1u) << shown(problems);
  EXPECT_EQ(problems[0].pk, "nobody");
  lying->adds_dangling = false;
  lying->misplaces_last = true;
  problems = problems_of(store, clock_.now());
  ASSERT_FALSE(problems.empty());
  EXPECT_NE(problems[0].what.find("where it does not belong"), std::string::npos);
}

TEST_P(Maintenance, OneDifferenceOfAnIndexCostsFewRequests) {
  fill(400);
  auto lying = std::make_shared<LyingIndex>(engine_);
  auto counted = std::make_shared<FaultyStore>(lying);
  Store store = store_over(counted);
  int queries = counted->requests(RequestKind::kQuery);
  int reads = counted->requests(RequestKind::kBatchGet);
  lying->hides_last = true;
  ASSERT_EQ(problems_of(store, clock_.now()).size(), 1u);
  // Of 80 entries a few share the part of the hidden one, at worst.
  EXPECT_LE(counted->requests(RequestKind::kQuery) - queries, 10);
  EXPECT_LE(counted->requests(RequestKind::kBatchGet) - reads, 1);
}

// ---- Moving ----

TEST_P(Maintenance, AnImportedExportIsTheSameStore) {
  fill();
  Store target = store_over(store::make_memory_engine());
  Result<ImportReport> report = import_lines(target, export_lines(store_));
  ASSERT_TRUE(report.ok()) << error_of(report);
  EXPECT_EQ(lines_of(target), lines_of(store_));
  EXPECT_EQ(report->left_out, 2u) << "the settings and the version of the source";
  EXPECT_EQ(shown(problems_of(target, clock_.now())), "");
  // And back, into this engine.
  TempDirectory other;
  Store back = store_over(open_engine(GetParam(), other.path() + "/store"));
  ASSERT_TRUE(import_lines(back, export_lines(target)).ok());
  EXPECT_EQ(lines_of(back), lines_of(store_));
  // Balances go on from where they were.
  LimiterOptions options;
  options.clock = &clock_;
  Limiter limiter(back, options);
  Availability there = limiter.available("user-1", kApi).value();
  EXPECT_EQ(there.limits.at(0).remaining,
            this->limiter().available("user-1", kApi).value().limits.at(0).remaining);
}

TEST_P(Maintenance, BucketsGainAndLoseTheWriteLimit) {
  fill(5);
  store::Capabilities distributed;
  distributed.partition_write_ceiling = 1000;
  Store target = store_over(store::make_memory_engine(distributed));
  ASSERT_TRUE(import_lines(target, export_lines(store_)).ok());
  std::vector<std::string> lines = lines_of(target);
  auto with_limit = [](const std::vector<std::string>& all) {
    return std::count_if(all.begin(), all.end(), [](const std::string& line) {
      return line.find("\"b_wcu_cp\":{\"N\":\"1000000\"}") != std::string::npos &&
             line.find("\"b_wcu_tk\":{\"N\":\"1000000\"}") != std::string::npos &&
             line.find("\"b_wcu_ra\":{\"N\":\"1000000\"}") != std::string::npos &&
             line.find("\"b_wcu_rp\":{\"N\":\"1000\"}") != std::string::npos &&
             line.find("\"b_wcu_tc\":{\"N\":\"0\"}") != std::string::npos;
    });
  };
  EXPECT_EQ(with_limit(lines), 5);
  EXPECT_EQ(with_limit(lines_of(store_)), 0);
  std::vector<std::string> for_table = lines_of(store_, ItemForm::kDynamoDb);
  EXPECT_EQ(with_limit(for_table), 5);
  EXPECT_EQ(std::count_if(for_table.begin(), for_table.end(),
                          [](const std::string& line) {
                            return line.find("\"#STINT\"") != std::string::npos;
                          }),
            0);
  EXPECT_EQ(lines_of(target, ItemForm::kEmbedded), lines_of(store_));
  Store back = store_over(store::make_memory_engine());
  ASSERT_TRUE(import_lines(back, export_lines(target)).ok());
  EXPECT_EQ(lines_of(back), lines_of(store_));
}

TEST_P(Maintenance, ImportRefusesWhatIsNoItem) {
  fill(3);
  std::vector<std::string> good = export_lines(store_);
  std::string bucket = bucket_line(good);
  auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = bucket;
    std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return changed.replace(at, from.size(), to);
  };
  std::string huge = with("\"rf\"", "\"x\":{\"S\":\"" + std::string(420'000, 'x') + "\"},\"rf\"");
  const std::vector<std::pair<std::string, std::string>> bad = {
      {bucket.substr(0, bucket.size() / 2), "at byte"},
      {"{\"PK\": \"x\"}", "at byte"},
      {"not JSON", "at byte"},
      {std::string("\x00\x01\xff binary", 10), "at byte"},
      {"{\"id\":{\"S\":\"1\"},\"name\":{\"S\":\"foreign\"}}", "no key"},
      {"{\"PK\":{\"S\":\"order#1\"},\"SK\":{\"S\":\"x\"}}", "no key of an item of stint"},
      {"{\"PK\":{\"S\":\"shop/order#1\"},\"SK\":{\"S\":\"x\"}}", "no key of an item of stint"},
      {huge, "larger than 400 KB"},
      {with("\"rf\":{\"N\"", "\"rf\":{\"S\""), "cannot be understood"},
      {with("\"shard_count\":{\"N\":\"1\"}", "\"shard_count\":{\"N\":\"2\"}"), "several shards"},
      {"[]", "at byte"},
      {"{}", "no key"},
  };
  for (const auto& [line, reason] : bad) {
    SCOPED_TRACE(line.substr(0, 60));
    Store target = store_over(store::make_memory_engine());
    std::vector<std::string> lines = {good[0], "", good[1], line};
    Result<ImportReport> report = import_lines(target, lines);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(report.error().field(), "line 4");
    EXPECT_NE(report.error().message().find(reason), std::string::npos) << report.error().message();
    EXPECT_EQ(lines_of(target).size(), 1u) << "nothing is written by a part of a batch";
    ImportOptions dry;
    dry.dry_run = true;
    EXPECT_FALSE(import_lines(target, lines, dry).ok());
  }
  // Attributes that nobody knows come along.
  Store target = store_over(store::make_memory_engine());
  std::string more = bucket.substr(0, bucket.size() - 1) + ",\"zz\":{\"L\":[{\"NULL\":true}]}}";
  ASSERT_TRUE(import_lines(target, {more}).ok());
  std::vector<std::string> found = lines_of(target);
  EXPECT_EQ(std::count(found.begin(), found.end(), more), 1);
}

TEST_P(Maintenance, EqualKeysOfAnImport) {
  fill(3);
  std::vector<std::string> lines = export_lines(store_);
  std::string bucket = bucket_line(lines);
  std::string other = bucket;
  std::size_t at = other.find("\"rf\":{\"N\":\"");
  ASSERT_NE(at, std::string::npos);
  other.replace(at + 11, 1, "2");
  lines.push_back(bucket);
  Store repeated = store_over(store::make_memory_engine());
  Result<ImportReport> report = import_lines(repeated, lines);
  ASSERT_TRUE(report.ok()) << error_of(report);
  EXPECT_EQ(report->already_there, 1u) << "the same line twice does no harm";

  lines.back() = other;
  Store contradicted = store_over(store::make_memory_engine());
  report = import_lines(contradicted, lines);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code(), ErrorCode::kExists);
  EXPECT_NE(report.error().message().find("line " + std::to_string(lines.size())),
            std::string::npos)
      << report.error().message();

  ImportOptions replace;
  replace.replace = true;
  Store replaced = store_over(store::make_memory_engine());
  ASSERT_TRUE(import_lines(replaced, lines, replace).ok());
  std::vector<std::string> found = lines_of(replaced);
  EXPECT_EQ(std::count(found.begin(), found.end(), other), 1) << "the last one counts";
}

TEST_P(Maintenance, ImportIntoAStoreThatHoldsItems) {
  fill(3);
  std::vector<std::string> lines = export_lines(store_);
  Result<ImportReport> report = import_lines(store_, lines);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code(), ErrorCode::kExists);

  // The same items over themselves, and others stay.
  this->limiter().create_entity("later").value();
  std::vector<std::string> before = lines_of(store_);
  ImportOptions replace;
  replace.replace = true;
  report = import_lines(store_, lines, replace);
  ASSERT_TRUE(report.ok()) << error_of(report);
  EXPECT_EQ(lines_of(store_), before);

  // A namespace of another id would hide what is there.
  Store other = store_over(store::make_memory_engine());
  LimiterOptions options;
  options.clock = &clock_;
  options.seed = seed() + (std::uint64_t{99} << 32);
  Limiter(other, options).create_entity("here").value();
  report = import_lines(other, lines, replace);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message().find("namespace \"default\" of its own"), std::string::npos)
      << report.error().message();
}

TEST_P(Maintenance, AForcedImportAddsToTheListsOfTheTarget) {
  fill(6);
  Store target = store_over(store::make_memory_engine());
  ASSERT_TRUE(import_lines(target, export_lines(store_)).ok());
  // Both go on, apart from each other.
  auto go_on = [&](const Store& store, const std::string& name) {
    LimiterOptions options;
    options.clock = &clock_;
    Limiter limiter(store, options);
    limiter.set_limits(Scope::resource(name), {Limit::per_minute("rpm", 60)}).value();
    for (int i = 0; i < 3; ++i) {
      std::string entity = name + std::to_string(i);
      limiter.create_entity(entity).value();
      limiter.set_limits(Scope::entity_resource(entity, kApi), {Limit::per_minute("rpm", 10)})
          .value();
    }
  };
  go_on(store_, "mail");
  go_on(target, "search");
  ImportOptions replace;
  replace.replace = true;
  for (int round = 0; round < 2; ++round) {
    std::vector<std::string> lines = export_lines(store_);
    Result<ImportReport> report = import_lines(target, lines, replace);
    ASSERT_TRUE(report.ok()) << error_of(report);
    EXPECT_EQ(report->written + report->left_out, lines.size());
    EXPECT_EQ(shown(problems_of(target, clock_.now())), "");
    Table table(target.handle()->engine);
    EXPECT_EQ(schema::decode_resource_registry(*table.image(schema::resource_registry_key(ns())))
                  .value()
                  .resources,
              (store::Value::StringSet{kApi, "mail", "search"}));
    // Of the beginning two, and three on each side.
    EXPECT_EQ(schema::decode_entity_config_registry(
                  *table.image(schema::entity_config_registry_key(ns())))
                  .value()
                  .counts[kApi],
              8);
  }
}

TEST_P(Maintenance, SettingsOfTheSourceAreCompared) {
  StoreOptions compatible;
  compatible.reset_rule = ResetRule::kCompatible;
  Store source = limiter::open_store(store::make_memory_engine(), compatible).value();
  std::vector<std::string> lines = export_lines(source);
  std::optional<StoreSettings> settings = exported_settings(lines[0]).value();
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->reset_rule, ResetRule::kCompatible);
  EXPECT_FALSE(exported_settings(lines[1]).value());
  EXPECT_FALSE(exported_settings("nonsense").ok());

  Result<ImportReport> report = import_lines(store_, lines);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code(), ErrorCode::kVersionMismatch);
  EXPECT_NE(report.error().message().find("reset rule compatible instead of local_day"),
            std::string::npos)
      << report.error().message();
  ImportOptions options;
  options.other_settings = true;
  ASSERT_TRUE(import_lines(store_, lines, options).ok());
  EXPECT_EQ(inspect_store(store_).value().settings.reset_rule, ResetRule::kLocalDay);
}

TEST_P(Maintenance, ADryRunWritesNothing) {
  fill(3);
  Store target = store_over(store::make_memory_engine());
  std::vector<std::string> before = lines_of(target);
  ImportOptions options;
  options.dry_run = true;
  Result<ImportReport> report = import_lines(target, export_lines(store_), options);
  ASSERT_TRUE(report.ok()) << error_of(report);
  EXPECT_EQ(report->written, export_lines(store_).size() - 2);
  EXPECT_EQ(lines_of(target), before);
}

// ---- Interruptions ----

TEST_P(Maintenance, AnInterruptedImportIsKnownAndResumed) {
  fill(700);
  std::vector<std::string> lines = export_lines(store_);
  ASSERT_GT(lines.size(), 1200u);
  TempDirectory other;
  std::shared_ptr<store::Engine> engine = open_engine(GetParam(), other.path() + "/store");
  Store target = store_over(engine);
  ImportOptions options;
  options.source = "items.jsonl";
  {
    Importer importer = Importer::start(target, options).value();
    for (std::size_t i = 0; i < 1100; ++i) importer.add(lines[i]).value();
    EXPECT_EQ(importer.report().written, 1000u);
  }
  std::optional<UnfinishedImport> unfinished = inspect_store(target).value().unfinished_import;
  ASSERT_TRUE(unfinished);
  EXPECT_EQ(unfinished->source, "items.jsonl");
  EXPECT_GT(unfinished->lines, 0u);

  Result<ImportReport> report = import_lines(target, lines, options);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code(), ErrorCode::kExists);
  EXPECT_NE(report.error().message().find("unfinished import of items.jsonl"), std::string::npos);

  ImportOptions resume = options;
  resume.resume = true;
  std::vector<std::string> changed = lines;
  changed[3] = changed[4];
  report = import_lines(target, changed, resume);
  ASSERT_FALSE(report.ok()) << "another file";
  EXPECT_NE(report.error().message().find("are not those of the unfinished import"),
            std::string::npos)
      << report.error().message();
  report =
      import_lines(target, std::vector<std::string>(lines.begin(), lines.begin() + 100), resume);
  ASSERT_FALSE(report.ok()) << "a shorter file";

  report = import_lines(target, lines, resume);
  ASSERT_TRUE(report.ok()) << error_of(report);
  EXPECT_EQ(report->resumed, unfinished->lines);
  EXPECT_EQ(report->already_there, 500u) << "what the last batch wrote and could not record";
  EXPECT_EQ(lines_of(target), lines_of(store_));
  EXPECT_FALSE(inspect_store(target).value().unfinished_import);
  EXPECT_EQ(import_lines(target, lines, resume).error().code(), ErrorCode::kNotFound);
}

TEST_P(Maintenance, AnImportGoesOnAfterAFaultAtAnyRequest) {
  fill(520);
  std::vector<std::string> lines = export_lines(store_);
  std::vector<std::string> expected = lines_of(store_);
  for (const Fault& kind : {Fault::unavailable(), Fault::request_lost(), Fault::reply_lost()}) {
    for (int number : {1, 5, 501, 506, 1003}) {
      SCOPED_TRACE(number);
      TempDirectory other;
      auto faulty = std::make_shared<FaultyStore>(open_engine(GetParam(), other.path() + "/store"));
      Store target = store_over(faulty);
      faulty->plan(kind.at(number));
      ImportOptions options;
      Result<ImportReport> report = import_lines(target, lines, options);
      EXPECT_FALSE(report.ok());
      faulty->heal();
      options.resume = inspect_store(target).value().unfinished_import.has_value();
      report = import_lines(target, lines, options);
      ASSERT_TRUE(report.ok()) << error_of(report);
      EXPECT_EQ(lines_of(target), expected);
    }
  }
}

TEST_P(Maintenance, AnImportSaysWhetherItSentAnything) {
  fill(3);
  std::vector<std::string> lines = export_lines(store_);
  Store target = store_over(store::make_memory_engine());
  Importer refused = Importer::start(target).value();
  EXPECT_FALSE(refused.add("no item"));
  EXPECT_FALSE(refused.report().begun);
  EXPECT_FALSE(inspect_store(target).value().unfinished_import);

  // Found out by the first batch, of which the store has taken the rest.
  std::string other = bucket_line(lines);
  std::size_t at = other.find("\"rf\":{\"N\":\"");
  ASSERT_NE(at, std::string::npos);
  other.replace(at + 11, 1, "2");
  lines.push_back(other);
  Importer importer = Importer::start(target).value();
  for (const std::string& line : lines) importer.add(line).value();
  Result<ImportReport> report = importer.finish();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code(), ErrorCode::kExists);
  EXPECT_TRUE(importer.report().begun);
  EXPECT_TRUE(inspect_store(target).value().unfinished_import);

  lines.pop_back();
  ImportOptions resume;
  resume.resume = true;
  report = import_lines(target, lines, resume);
  ASSERT_TRUE(report.ok()) << error_of(report);
  EXPECT_TRUE(report->begun);
  EXPECT_EQ(lines_of(target), lines_of(store_));
}

TEST_P(Maintenance, AnUnfinishedImportIsAbandonedByNameOnly) {
  fill(3);
  std::vector<std::string> lines = export_lines(store_);
  Store target = store_over(store::make_memory_engine());
  EXPECT_EQ(abandon_import(target).error().code(), ErrorCode::kNotFound);
  ImportOptions first;
  first.source = "first.jsonl";
  {
    Importer importer = Importer::start(target, first).value();
    // Whatever the lines are, the limits of an entity come without the list that counts them.
    auto limits = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
      return line.find("\"#CONFIG#api\"") != std::string::npos;
    });
    ASSERT_NE(limits, lines.end());
    for (int i = 0; i < 600; ++i) importer.add(*limits).value();
  }
  ASSERT_TRUE(inspect_store(target).value().unfinished_import);
  // Another one, once done, would declare the first one done.
  ImportOptions other;
  other.source = "other.jsonl";
  other.replace = true;
  Result<ImportReport> report = import_lines(target, lines, other);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code(), ErrorCode::kExists);
  EXPECT_EQ(inspect_store(target).value().unfinished_import.value().source, "first.jsonl");

  ASSERT_TRUE(abandon_import(target).ok());
  EXPECT_FALSE(inspect_store(target).value().unfinished_import);
  report = import_lines(target, lines, other);
  ASSERT_TRUE(report.ok()) << error_of(report);
  EXPECT_TRUE(report->target_holds_items);
  EXPECT_EQ(lines_of(target), lines_of(store_));
}

TEST_P(Maintenance, AnImportWithARefusedLineIsNeverWhole) {
  fill(400);
  std::vector<std::string> lines = export_lines(store_);
  ASSERT_GT(lines.size(), 700u);
  Store target = store_over(store::make_memory_engine());
  Importer importer = Importer::start(target).value();
  for (std::size_t i = 0; i < 600; ++i) importer.add(lines[i]).value();
  Status refused = importer.add("no item");
  ASSERT_FALSE(refused.ok());
  Status next = importer.add(lines[600]);
  ASSERT_FALSE(next.ok());
  EXPECT_EQ(next.error().message(), refused.error().message());
  Result<ImportReport> report = importer.finish();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().message(), refused.error().message());
  EXPECT_TRUE(inspect_store(target).value().unfinished_import);

  ImportOptions dry_run;
  dry_run.dry_run = true;
  Importer dry = Importer::start(store_, dry_run).value();
  EXPECT_FALSE(dry.add("no item").ok());
  EXPECT_TRUE(dry.add(lines[2]).ok());
  EXPECT_TRUE(dry.finish().ok());
}

TEST_P(Maintenance, AnExportGoesOnFromAnyPage) {
  fill(700);
  std::vector<std::string> whole = export_lines(store_);
  std::vector<std::string> positions;
  std::vector<std::string> pages;
  auto remember = [&](const ExportPage& page) {
    pages.emplace_back(page.lines);
    positions.push_back(page.next);
    return Status();
  };
  ASSERT_TRUE(export_items(store_, remember).ok());
  ASSERT_GE(pages.size(), 2u);
  ExportOptions options;
  options.start = positions[0];
  std::string rest;
  auto collect = [&](const ExportPage& page) {
    rest += page.lines;
    return Status();
  };
  ASSERT_TRUE(export_items(store_, collect, options).ok());
  std::string expected;
  for (std::size_t i = 1; i < pages.size(); ++i) expected += pages[i];
  EXPECT_EQ(rest, expected);
  options.start = "no position";
  EXPECT_EQ(export_items(store_, collect, options).error().code(), ErrorCode::kInvalidArgument);
  auto refuse = [](const ExportPage&) {
    return Status(Error(ErrorCode::kUnavailable, "disk full"));
  };
  EXPECT_EQ(export_items(store_, refuse).error().message(),
            Error(ErrorCode::kUnavailable, "disk full").message());
  auto fail = [](const ExportPage&) -> Status { throw std::runtime_error("of the sink"); };
  EXPECT_THROW(static_cast<void>(export_items(store_, fail)), std::runtime_error);
}

#ifdef STINT_TEST_ROCKSDB

/// Runs a body in a process of its own, which it must not leave alive.
int status_of_child(const std::function<void()>& body) {
  pid_t child = fork();
  if (child == 0) {
    body();
    _exit(99);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(DurableMaintenance, AKilledImportIsResumed) {
  TempDirectory directory;
  std::string path = directory.path() + "/store";
  std::vector<std::string> lines;
  std::vector<std::string> expected;
  {
    Store source = store_over(store::make_memory_engine());
    FakeClock clock(instant("2027-03-10T12:00Z"));
    LimiterOptions options;
    options.clock = &clock;
    Limiter limiter(source, options);
    for (int i = 0; i < 3000; ++i) limiter.create_entity("user-" + std::to_string(i)).value();
    lines = export_lines(source);
    expected = lines_of(source);
  }
  int status = status_of_child([&] {
    Store target = store_over(open_engine("rocksdb", path));
    Importer importer = Importer::start(target).value();
    for (std::size_t i = 0; i < 2222; ++i) importer.add(lines[i]).value();
    raise(SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  Store target = store_over(open_engine("rocksdb", path));
  ImportOptions options;
  options.resume = true;
  Result<ImportReport> report = import_lines(target, lines, options);
  ASSERT_TRUE(report.ok()) << error_of(report);
  EXPECT_EQ(report->resumed + report->already_there + report->written + report->left_out,
            lines.size());
  EXPECT_GT(report->resumed, 1000u);
  EXPECT_EQ(lines_of(target), expected);
}

// Overwrites a few bytes of the only table file, so many hundredths behind its beginning.
void damage_the_table(const std::string& directory, int hundredths) {
  std::vector<fs::path> tables;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".sst") tables.push_back(entry.path());
  }
  ASSERT_EQ(tables.size(), 1u);
  auto bytes = static_cast<std::streamoff>(fs::file_size(tables[0]));
  std::fstream file(tables[0], std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(bytes * hundredths / 100);
  file << std::string(8, '!');
  ASSERT_TRUE(file.flush());
}

TEST(DurableMaintenance, ADamagedFileIsCheckedAndExported) {
  TempDirectory directory;
  std::string whole = directory.path() + "/whole";
  std::uint64_t items = 0;
  FakeClock clock(instant("2027-03-10T12:00Z"));
  {
    Store store = store_over(open_engine("rocksdb", whole));
    LimiterOptions options;
    options.clock = &clock;
    options.seed = seed();
    Limiter limiter(store, options);
    EntityOptions child;
    child.parent = "team";
    limiter.create_entity("team").value();
    limiter.set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 60)}).value();
    for (int i = 0; i < 2000; ++i) {
      std::string entity = "user-" + std::to_string(i);
      limiter.create_entity(entity, child).value();
      EXPECT_TRUE(limiter.acquire({entity, kApi, {{"rpm", 1}}}).value());
    }
    items = lines_of(store).size();
  }
  open_engine("rocksdb", whole);  // moves the log into a file
  int index_damaged = 0;
  int items_damaged = 0;
  for (int place : {3, 10, 20, 30, 45, 60, 75, 90}) {
    SCOPED_TRACE(place);
    std::string path = directory.path() + "/at-" + std::to_string(place);
    fs::copy(whole, path);
    damage_the_table(path, place);
    Store store = store_over(open_engine("rocksdb", path));
    std::uint64_t unreadable = 0;
    std::uint64_t others = 0;
    CheckOptions options;
    options.now = clock.now();
    options.on_problem = [&](const StoreProblem& problem) {
      bool of_file = problem.what.find("part of a file") != std::string::npos;
      ++(of_file ? unreadable : others);
    };
    Result<CheckReport> report = check_store(store, options);
    ASSERT_TRUE(report.ok()) << report.error().message();
    EXPECT_TRUE(report->complete);
    EXPECT_EQ(report->unreadable, unreadable);
    EXPECT_EQ(unreadable, 1u);
    // Of a block of four kilobytes.
    EXPECT_LT(others, 400u);

    std::uint64_t exported = 0;
    auto sink = [&](const ExportPage& page) {
      exported += page.items;
      return Status();
    };
    Result<ExportReport> left = export_items(store, sink);
    ASSERT_TRUE(left.ok()) << left.error().message();
    EXPECT_TRUE(left->complete);
    if (left->unreadable == 0) {
      ++index_damaged;
      EXPECT_GE(exported, items);
    } else {
      ++items_damaged;
      EXPECT_LT(exported, items + 2);
      EXPECT_GT(exported, items - 100) << "about a block is lost";
    }
  }
  EXPECT_GT(index_damaged, 0);
  EXPECT_GT(items_damaged, 0);
}

// ---- Backups ----

class Backup : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return directory_.path() + "/" + name; }
  TempDirectory directory_;
};

TEST_F(Backup, HoldsWhatWasAcknowledgedAndAPrefixOfTheRest) {
  std::shared_ptr<store::Engine> engine = open_engine("rocksdb", path("store"));
  Store store = store_over(engine);
  Table table(engine);
  constexpr int kWriters = 4;
  std::atomic<bool> stop{false};
  std::array<std::atomic<int>, kWriters> acknowledged{};
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; !stop; ++i) {
        Key key("w" + std::to_string(w), std::to_string(i));
        if (table.put(ImageBuilder(key).set(attr("n"), std::int64_t{i}).build()).outcome !=
            store::Outcome::kOk) {
          return;
        }
        acknowledged[static_cast<std::size_t>(w)] = i + 1;
      }
    });
  }
  for (auto& count : acknowledged) {
    while (count < 50) std::this_thread::yield();
  }
  for (int round = 0; round < 3; ++round) {
    std::array<int, kWriters> before{};
    for (std::size_t w = 0; w < kWriters; ++w) before[w] = acknowledged[w];
    std::string name = path("backup-" + std::to_string(round));
    Status made = backup_store(store, name);
    ASSERT_TRUE(made.ok()) << made.error().message();
    std::shared_ptr<store::Engine> copy = open_engine("rocksdb", name);
    for (std::size_t w = 0; w < kWriters; ++w) {
      auto found = Table(copy).sort_keys(store::Index::kTable, "w" + std::to_string(w));
      int count = static_cast<int>(found.size());
      EXPECT_GE(count, before[w]);
      std::vector<int> numbers;
      for (const std::string& text : found) numbers.push_back(std::stoi(text));
      EXPECT_EQ(*std::max_element(numbers.begin(), numbers.end()), count - 1)
          << "a prefix has no holes";
    }
    EXPECT_TRUE(limiter::open_store(copy, {}).ok());
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
  // The copy is a store of its own: what is written here does not show there.
  std::shared_ptr<store::Engine> copy = open_engine("rocksdb", path("backup-0"));
  Table(copy).put(ImageBuilder(Key("only", "there")).build());
  EXPECT_FALSE(table.image(Key("only", "there")));
}

TEST_F(Backup, TargetsThatAreRefused) {
  Store store = store_over(open_engine("rocksdb", path("store")));
  fs::create_directory(path("full"));
  std::ofstream(path("full") + "/file") << "x";
  Status refused = backup_store(store, path("full"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kExists);
  EXPECT_EQ(backup_store(store, path("full") + "/file").error().code(), ErrorCode::kExists);
  EXPECT_EQ(backup_store(store, path("store") + "/inside").error().code(),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(backup_store(store, path("store")).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(backup_store(store, "").error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(backup_store(store, "/proc/nowhere/backup").error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(backup_store(open_memory().value(), path("new")).error().code(),
            ErrorCode::kInvalidArgument);
  fs::create_directory(path("empty"));
  EXPECT_TRUE(backup_store(store, path("empty") + "/").ok());
  EXPECT_TRUE(fs::exists(path("empty") + "/STINT"));
  EXPECT_TRUE(backup_store(store, path("made/on/the/way")).ok());
}

TEST_F(Backup, OnlyDraftsWithoutAnOwnerAreRemoved) {
  auto make = [&](const std::string& name, const char* file) {
    fs::create_directory(path(name));
    std::ofstream(path(name) + "/" + file) << "x";
  };
  make("backup.unfinished-Dead01", "OWNER");
  make("backup.unfinished-Alive1", "OWNER");
  make("backup.unfinished-2024-notes", "OWNER");
  make("backup.unfinished-99999", "OWNER");
  make("backup.unfinished-annual", "notes");
  make("other.unfinished-Dead01", "OWNER");
  int alive = ::open((path("backup.unfinished-Alive1") + "/OWNER").c_str(), O_RDWR);
  ASSERT_EQ(::flock(alive, LOCK_EX | LOCK_NB), 0);

  Store store = store_over(open_engine("rocksdb", path("store")));
  Status made = backup_store(store, path("backup"));
  ASSERT_TRUE(made.ok()) << made.error().message();
  ::close(alive);
  EXPECT_FALSE(fs::exists(path("backup.unfinished-Dead01")));
  for (const char* name : {"Alive1", "2024-notes", "99999", "annual"}) {
    EXPECT_TRUE(fs::exists(path("backup.unfinished-") + name)) << name;
  }
  EXPECT_TRUE(fs::exists(path("other.unfinished-Dead01"))) << "of another name";
  EXPECT_TRUE(open_embedded(path("backup")).ok());
}

TEST_F(Backup, AKilledOneIsNeverTakenForAWholeOne) {
  auto drafts = [&] {
    std::vector<fs::path> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory_.path())) {
      if (entry.path().filename().string().starts_with("backup.unf")) {
        found.push_back(entry.path());
      }
    }
    return found;
  };
  store_over(open_engine("rocksdb", path("store")));
  // Killed as soon as a draft is seen; it may have been renamed by then.
  bool left = false;
  for (int attempt = 0; attempt < 200 && !left; ++attempt) {
    fs::remove_all(path("backup"));
    for (const fs::path& draft : drafts()) fs::remove_all(draft);
    pid_t child = fork();
    if (child == 0) {
      Store store = store_over(open_engine("rocksdb", path("store")));
      _exit(backup_store(store, path("backup")).ok() ? 0 : 1);
    }
    int status = 0;
    pid_t ended = 0;
    while (drafts().empty() && ended == 0) ended = waitpid(child, &status, WNOHANG);
    if (ended == 0) {
      kill(child, SIGKILL);
      ASSERT_EQ(waitpid(child, &status, 0), child);
    }
    ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    left = !drafts().empty() && fs::exists(drafts()[0] / "OWNER");
  }
  ASSERT_TRUE(left);
  fs::remove_all(path("backup"));
  Store store = store_over(open_engine("rocksdb", path("store")));
  ASSERT_TRUE(backup_store(store, path("backup")).ok());
  for (const fs::path& draft : drafts()) {
    EXPECT_FALSE(fs::exists(draft / "OWNER")) << draft << " has no owner any more";
  }
  EXPECT_TRUE(open_embedded(path("backup")).ok());
}

#endif

}  // namespace
}  // namespace stint::test
