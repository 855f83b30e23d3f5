// What only the durable engine promises: its directory, and what survives.
#include "store/rocksdb/rocksdb_engine.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/table.h"
#include "tests/support/temp_directory.h"

namespace stint::store {
namespace {

namespace fs = std::filesystem;
using test::number;
using test::program;
using test::Table;
using test::TempDirectory;
using test::Values;

AttrId a(const char* name) { return intern(name); }

const Key kKey("p", "s");

ImagePtr item(const Key& key, std::int64_t n) {
  return ImageBuilder(key)
      .set(a("n"), n)
      .set(index_pk(2), "list")
      .set(index_sk(2), key.pk())
      .build();
}

std::string json(const ImagePtr& image) { return image ? to_dynamo_json(*image) : "no item"; }

Result<std::shared_ptr<Engine>> open(const std::string& directory, bool create = true) {
  RocksDbOptions options;
  options.create_if_missing = create;
  return open_rocksdb_engine(directory, options);
}

Table open_table(const std::string& directory) { return Table(open(directory).value()); }

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  ASSERT_TRUE(file.flush()) << path;
}

std::string foreign(const std::string& directory) {
  return "corrupt: " + directory +
         " is not a stint store, and was not touched: choose a directory that is empty or does not "
         "exist";
}

std::string open_error(const std::string& directory, bool create = true) {
  Result<std::shared_ptr<Engine>> opened = open(directory, create);
  return opened ? "opened" : opened.error().message();
}

// A directory that a test shares with the processes it starts: they run the same test from its
// beginning, and find the name in their environment.
class SharedDirectory {
 public:
  SharedDirectory() {
    if (const char* inherited = std::getenv(kVariable)) {
      path_ = inherited;
      return;
    }
    own_ = std::make_unique<TempDirectory>();
    path_ = own_->path();
    setenv(kVariable, path_.c_str(), 1);
  }
  ~SharedDirectory() {
    if (own_) unsetenv(kVariable);
  }
  const std::string& path() const { return path_; }

 private:
  static constexpr const char* kVariable = "STINT_TEST_DIRECTORY";
  std::unique_ptr<TempDirectory> own_;
  std::string path_;
};

// ---- What survives ----

TEST(RocksDbEngine, DataSurvivesClosing) {
  TempDirectory directory;
  std::vector<Key> keys;
  for (int i = 0; i < 50; ++i) keys.emplace_back("p" + std::to_string(100 + i), "s");
  ImagePtr odd = ImageBuilder(kKey)
                     .set(a("half"), Value::number_text("0.5"))
                     .set(a("m"), Value::map({{"k", Value::list({Value::null()})}}))
                     .build();
  {
    Table table = open_table(directory.path());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      table.put(item(keys[i], static_cast<std::int64_t>(i)));
    }
    table.put(odd);
    table.remove(keys[7]);
    table.update(keys[8], program({{Change::kAdd, a("n"), number(0)}}), {{100}});
  }
  Table table = open_table(directory.path());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ImagePtr expected = i == 7 ? ImagePtr() : item(keys[i], i == 8 ? 108 : static_cast<int>(i));
    EXPECT_EQ(json(table.image(keys[i])), json(expected));
  }
  EXPECT_EQ(json(table.image(kKey)), json(odd));
  EXPECT_EQ(table.sort_keys(Index::kGsi2, "list").size(), 49u);
}

TEST(RocksDbEngine, ChangesSurviveClosing) {
  TempDirectory directory;
  RocksDbOptions options;
  options.change_stream = true;
  std::uint64_t last = 0;
  {
    Table table(open_rocksdb_engine(directory.path(), options).value());
    table.put(item(kKey, 1));
    table.put(item(kKey, 2));
    last = table.engine().changes(0, 10).value().back().position;
  }
  Table table(open_rocksdb_engine(directory.path(), options).value());
  EXPECT_EQ(table.engine().changes(0, 10).value().size(), 2u);
  table.put(item(kKey, 3));
  std::vector<ChangeRecord> more = table.engine().changes(last, 10).value();
  ASSERT_EQ(more.size(), 1u);
  EXPECT_GT(more[0].position, last);
  EXPECT_EQ(json(more[0].old_image), json(item(kKey, 2)));
}

TEST(RocksDbEngine, OldChangesAreDropped) {
  TempDirectory directory;
  RocksDbOptions options;
  options.change_stream = true;
  options.kept_changes = 80;
  Table table(open_rocksdb_engine(directory.path(), options).value());
  for (int i = 0; i < 200; ++i) table.put(item(kKey, i));
  std::vector<ChangeRecord> kept = table.engine().changes(0, 1000).value();
  EXPECT_GE(kept.size(), 80u);
  EXPECT_LE(kept.size(), 90u);
  EXPECT_EQ(json(kept.back().new_image), json(item(kKey, 199)));
}

TEST(RocksDbEngineDeathTest, AcknowledgedWritesSurviveAKilledProcess) {
  SharedDirectory directory;
  EXPECT_EXIT(
      {
        Table table = open_table(directory.path());
        for (int i = 0; i < 500; ++i) {
          if (table.put(item(Key("p" + std::to_string(i), "s"), i)).outcome != Outcome::kOk) {
            std::exit(1);
          }
        }
        raise(SIGKILL);
      },
      testing::KilledBySignal(SIGKILL), "");
  Table table = open_table(directory.path());
  for (int i = 0; i < 500; ++i) {
    Key key("p" + std::to_string(i), "s");
    EXPECT_EQ(json(table.image(key)), json(item(key, i)));
  }
  EXPECT_EQ(table.sort_keys(Index::kGsi2, "list").size(), 500u);
}

// Writes until the disk refuses to take more, in the shape of a bound on the size of files, and
// leaves behind how many were acknowledged. Ends the process at the first wrong answer.
void fill_disk(const std::string& directory) {
  auto require = [](bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
  };
  std::signal(SIGXFSZ, SIG_IGN);
  RocksDbOptions options;
  Table table(open_rocksdb_engine(directory, options).value());
  table.put(item(kKey, 0));
  rlimit bound{64 * 1024, 64 * 1024};
  require(setrlimit(RLIMIT_FSIZE, &bound) == 0, "the bound can be set");
  UpdateProgram count = program({{Change::kAdd, a("n"), number(0)}});
  std::int64_t acknowledged = 0;
  WriteReply reply;
  do {
    reply = table.update(kKey, count, {{1}});
    if (reply.outcome == Outcome::kOk) ++acknowledged;
  } while (reply.outcome == Outcome::kOk && acknowledged < 100'000);
  require(reply.outcome == Outcome::kUnknown, "a failed write is unknown");
  require(!reply.image && !reply.message.empty(), "and says why");
  require(reply.cost == Cost(), "and charges nothing");
  require(acknowledged > 100, "there was room at first");

  // In one batch: what was answered from the failed write is withdrawn with it.
  Values one{{1}, {}};
  GetRequest get(kKey, Consistency::kStrong);
  UpdateRequest add(kKey, count, one.params());
  std::vector<Call> calls = {{&get, {}}, {&add, {}}, {&get, {}}};
  table.engine().execute(calls);
  auto& before = std::get<GetReply>(calls[0].reply);
  require(before.outcome == Outcome::kOk && before.image->number(a("n")) == acknowledged,
          "reading goes on, and shows the last acknowledged write");
  require(std::get<WriteReply>(calls[1].reply).outcome == Outcome::kUnavailable,
          "later writes are not attempted");
  require(std::get<GetReply>(calls[2].reply).outcome == Outcome::kUnavailable,
          "what followed it in the batch is withdrawn");
  TransactReply transaction = table.transact({UpdateRequest(kKey, count, one.params())}, "token");
  require(transaction.outcome == Outcome::kUnavailable && transaction.images.empty(),
          "nor are transactions");
  require(table.transact({UpdateRequest(kKey, count, one.params())}, "token").outcome ==
              Outcome::kUnavailable,
          "its token is not spent");
  require(table.image(kKey)->number(a("n")) == acknowledged, "nothing of it is shown");
  write_file(fs::path(directory) / "acknowledged.txt", std::to_string(acknowledged));
}

TEST(RocksDbEngineDeathTest, FailedWriteIsUnknownAndNeverServedFromMemory) {
  SharedDirectory directory;
  EXPECT_EXIT(
      {
        fill_disk(directory.path());
        raise(SIGKILL);
      },
      testing::KilledBySignal(SIGKILL), "");
  std::int64_t acknowledged = 0;
  std::ifstream(fs::path(directory.path()) / "acknowledged.txt") >> acknowledged;
  ASSERT_GT(acknowledged, 100);
  Table table = open_table(directory.path());
  std::int64_t found = table.image(kKey)->number(a("n")).value();
  // The unknown write may have reached the log, nothing else may.
  EXPECT_GE(found, acknowledged);
  EXPECT_LE(found, acknowledged + 1);
}

// ---- The directory ----

TEST(RocksDbEngine, SecondOpeningInOneProcess) {
  TempDirectory directory;
  {
    Table table = open_table(directory.path());
    table.put(item(kKey, 1));
    Result<std::shared_ptr<Engine>> second = open(directory.path());
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code(), ErrorCode::kUnavailable);
    EXPECT_NE(second.error().message().find("in use"), std::string::npos)
        << second.error().message();
    EXPECT_EQ(table.put(item(kKey, 2)).outcome, Outcome::kOk) << "the first is not disturbed";
  }
  EXPECT_EQ(json(open_table(directory.path()).image(kKey)), json(item(kKey, 2)));
}

TEST(RocksDbEngineDeathTest, SecondProcessIsTurnedAway) {
  SharedDirectory directory;
  // In the started process this opening fails already, for the same reason.
  Result<std::shared_ptr<Engine>> held = open(directory.path());
  EXPECT_EXIT(
      {
        Result<std::shared_ptr<Engine>> second = open(directory.path());
        bool right =
            !second && second.error().code() == ErrorCode::kUnavailable &&
            second.error().message().find("in use by another process") != std::string::npos;
        if (!second) std::fprintf(stderr, "%s\n", second.error().message().c_str());
        std::exit(right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "in use by another process");
  ASSERT_TRUE(held.ok()) << held.error().message();
  EXPECT_EQ(Table(*held).put(item(kKey, 1)).outcome, Outcome::kOk);
}

TEST(RocksDbEngine, MissingDirectory) {
  TempDirectory directory;
  std::string path = directory.path() + "/a/b";
  Result<std::shared_ptr<Engine>> missing = open(path, false);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(fs::exists(path)) << "nothing was created";
  Result<std::shared_ptr<Engine>> empty = open(directory.path(), false);
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().code(), ErrorCode::kNotFound);
  { EXPECT_TRUE(open(path).ok()) << "parents are created"; }
  EXPECT_TRUE(open(path, false).ok());
}

TEST(RocksDbEngine, DirectoryThatCannotBeWritten) {
  // No permission would stop the super-user; a file where a folder should be stops anyone.
  TempDirectory directory;
  write_file(directory.path() + "/file", "x");
  Result<std::shared_ptr<Engine>> below = open(directory.path() + "/file/store");
  ASSERT_FALSE(below.ok());
  EXPECT_EQ(below.error().code(), ErrorCode::kUnavailable);
  Result<std::shared_ptr<Engine>> kernel = open("/proc/stint-store");
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code(), ErrorCode::kUnavailable);
  if (geteuid() == 0) return;
  std::string locked = directory.path() + "/locked";
  fs::create_directory(locked);
  fs::permissions(locked, fs::perms::owner_read | fs::perms::owner_exec);
  Result<std::shared_ptr<Engine>> refused = open(locked);
  fs::permissions(locked, fs::perms::owner_all);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnavailable);
}

TEST(RocksDbEngine, ForeignDirectoriesAreLeftAlone) {
  TempDirectory directory;
  std::string files = directory.path() + "/files";
  fs::create_directory(files);
  write_file(files + "/letter.txt", "dear reader");
  EXPECT_EQ(open_error(files), foreign(files));

  std::string database = directory.path() + "/database";
  {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* foreign = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open(options, database, &foreign).ok());
    std::unique_ptr<rocksdb::DB> close(foreign);
    ASSERT_TRUE(close->Put(rocksdb::WriteOptions(), "their", "data").ok());
  }
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(database)) count += entry.exists() ? 1 : 0;
  EXPECT_EQ(open_error(database), foreign(database));
  for (const auto& entry : fs::directory_iterator(database)) count -= entry.exists() ? 1 : 0;
  EXPECT_EQ(count, 0u) << "no file came or went";

  EXPECT_EQ(open_error(files + "/letter.txt"),
            "corrupt: " + files +
                "/letter.txt is not a directory: name the directory that is to hold the store");
}

TEST(RocksDbEngine, DirectoryFormats) {
  TempDirectory directory;
  { open_table(directory.path()).put(item(kKey, 1)); }
  std::string mark = directory.path() + "/STINT";
  std::ifstream file(mark);
  std::string original(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(original, "stint store, format 1\n");

  write_file(mark, "stint store, format 3\n");
  Result<std::shared_ptr<Engine>> newer = open(directory.path());
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.error().code(), ErrorCode::kVersionMismatch);
  for (const char* nonsense :
       {"", "stint store, format", "stint store, format 1", "stint store, format 0\n",
        "stint store, format -1\n", "stint store, format 1x\n", "something else\n"}) {
    write_file(mark, nonsense);
    EXPECT_EQ(open_error(directory.path()), foreign(directory.path())) << nonsense;
  }
  write_file(mark, original);
  EXPECT_EQ(json(open_table(directory.path()).image(kKey)), json(item(kKey, 1)));
}

// A program of format 1 would take such items for damage, so it must refuse the directory.
TEST(RocksDbEngine, BinaryValuesRaiseTheFormatBeforeTheyAreWritten) {
  TempDirectory directory;
  std::string path = directory.path() + "/store";
  auto mark = [&] {
    std::ifstream file(path + "/STINT");
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::vector<Value> values = {Value::binary(std::string("\0\xff", 2)),
                                     Value::number_set({"1", "0.5"}), Value::binary_set({"", "b"}),
                                     Value::list({Value::map({{"k", Value::binary("x")}})})};
  for (const Value& value : values) {
    fs::remove_all(path);
    ImagePtr binary = ImageBuilder(Key("b", "b")).set(a("v"), value).build();
    {
      Table table = open_table(path);
      EXPECT_EQ(table.put(item(kKey, 1)).outcome, Outcome::kOk);
      EXPECT_EQ(mark(), "stint store, format 1\n");
      EXPECT_EQ(table.put(binary).outcome, Outcome::kOk);
      EXPECT_EQ(mark(), "stint store, format 2\n");
      EXPECT_EQ(table.put(item(kKey, 2)).outcome, Outcome::kOk);
    }
    Table table = open_table(path);
    EXPECT_EQ(json(table.image(Key("b", "b"))), json(binary));
    EXPECT_EQ(json(table.image(kKey)), json(item(kKey, 2)));
    EXPECT_EQ(mark(), "stint store, format 2\n");
    EXPECT_TRUE(table.engine().backup(path + "-copy").ok());
    EXPECT_EQ(json(open_table(path + "-copy").image(Key("b", "b"))), json(binary));
    fs::remove_all(path + "-copy");
  }
}

TEST(RocksDbEngine, AFormatThatCannotBeRaisedRefusesTheWrite) {
  TempDirectory directory;
  Table table = open_table(directory.path());
  ImagePtr binary = ImageBuilder(kKey).set(a("v"), Value::binary("x")).build();
  std::string mark = directory.path() + "/STINT";
  fs::rename(mark, mark + "-aside");
  WriteReply refused = table.put(binary);
  EXPECT_EQ(refused.outcome, Outcome::kUnavailable) << refused.message;
  EXPECT_FALSE(table.image(kKey));
  fs::rename(mark + "-aside", mark);
  EXPECT_EQ(table.put(binary).outcome, Outcome::kOk);
  EXPECT_TRUE(table.image(kKey));
}

TEST(RocksDbEngine, InterruptedCreationIsResumed) {
  TempDirectory directory;
  write_file(directory.path() + "/STINT.new", "stint st");
  { EXPECT_TRUE(open(directory.path()).ok()); }
  TempDirectory marked;
  write_file(marked.path() + "/STINT", "stint store, format 1\n");
  EXPECT_TRUE(open(marked.path()).ok());
}

TEST(RocksDbEngine, DamagedDatabases) {
  TempDirectory directory;
  { open_table(directory.path()).put(item(kKey, 1)); }
  fs::path current = fs::path(directory.path()) / "CURRENT";
  fs::path aside = fs::path(directory.path()).concat("-aside");
  fs::rename(current, aside);
  // Without the check this would open as an empty store.
  Result<std::shared_ptr<Engine>> gutted = open(directory.path());
  ASSERT_FALSE(gutted.ok());
  EXPECT_EQ(gutted.error().code(), ErrorCode::kCorrupt);
  write_file(current, "MANIFEST-999999\n");
  EXPECT_FALSE(open(directory.path()).ok());
  fs::rename(aside, current);
  EXPECT_EQ(json(open_table(directory.path()).image(kKey)), json(item(kKey, 1)));
}

// ---- Corrupt items ----

// Changes the value of the record whose key contains `part` behind the engine's back.
void damage(const std::string& directory, const std::string& part,
            const std::function<void(std::string&)>& change) {
  rocksdb::DB* opened = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(rocksdb::Options(), directory, &opened).ok());
  std::unique_ptr<rocksdb::DB> db(opened);
  int changed = 0;
  std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(rocksdb::ReadOptions()));
  for (at->Seek("t"); at->Valid() && at->key()[0] == 't'; at->Next()) {
    if (at->key().ToString().find(part) == std::string::npos) continue;
    std::string value = at->value().ToString();
    change(value);
    ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), at->key(), value).ok());
    ++changed;
  }
  ASSERT_EQ(changed, 1);
}

TEST(RocksDbEngine, CorruptItemHarmsNoOther) {
  TempDirectory directory;
  Key bad("bad", "s"), good("good", "s");
  std::string intact;
  auto check = [&](const char* what) {
    SCOPED_TRACE(what);
    Table table = open_table(directory.path());
    GetReply got = table.get(bad);
    EXPECT_EQ(got.outcome, Outcome::kCorrupt);
    EXPECT_FALSE(got.image);
    EXPECT_NE(got.message.find("bad"), std::string::npos) << got.message;
    EXPECT_EQ(table.put(item(bad, 2)).outcome, Outcome::kCorrupt);
    EXPECT_EQ(table.remove(bad).outcome, Outcome::kCorrupt);
    UpdateProgram count = program({{Change::kAdd, a("n"), number(0)}});
    EXPECT_EQ(table.update(bad, count, {{1}}).outcome, Outcome::kCorrupt);
    Values one{{1}, {}};
    EXPECT_EQ(table
                  .transact({UpdateRequest(good, count, one.params()),
                             UpdateRequest(bad, count, one.params())})
                  .outcome,
              Outcome::kCorrupt);
    EXPECT_EQ(json(table.image(good)), json(item(good, 1))) << "nothing was applied";
    BatchGetReply both = table.batch_get({bad, good});
    EXPECT_EQ(both.outcome, Outcome::kCorrupt);
    EXPECT_EQ(json(both.images[1]), json(item(good, 1)));
    QueryReply listed = table.query(Index::kGsi2, "list");
    EXPECT_EQ(listed.outcome, Outcome::kCorrupt);
    ASSERT_EQ(listed.images.size(), 1u);
    EXPECT_EQ(json(listed.images[0]), json(item(good, 1)));
    EXPECT_EQ(table.query(Index::kTable, "bad").outcome, Outcome::kCorrupt);
    EXPECT_EQ(table.query(Index::kTable, "good").outcome, Outcome::kOk);
    ScanReply all = table.scan();
    EXPECT_EQ(all.outcome, Outcome::kOk);
    ASSERT_EQ(all.images.size(), 1u);
    EXPECT_EQ(json(all.images[0]), json(item(good, 1)));
    ASSERT_EQ(all.unreadable.size(), 1u);
    EXPECT_EQ(all.unreadable[0].key, bad);
    EXPECT_NE(all.unreadable[0].message, "");
    EXPECT_EQ(table.scanned(1).size(), 2u) << "a page may hold nothing but damage";
  };
  {
    Table table = open_table(directory.path());
    table.put(item(bad, 1));
    table.put(item(good, 1));
  }
  damage(directory.path(), "bad", [&](std::string& value) {
    intact = value;
    value[value.size() / 2] = static_cast<char>(value[value.size() / 2] ^ 0x10);
  });
  check("a flipped bit");
  damage(directory.path(), "bad", [&](std::string& value) { value = intact.substr(0, 9); });
  check("cut short");
  damage(directory.path(), "bad", [&](std::string& value) { value.clear(); });
  check("emptied");
  damage(directory.path(), "bad", [&](std::string& value) { value = serialize(*item(good, 5)); });
  check("an item under the key of another");
  damage(directory.path(), "bad", [&](std::string& value) { value = intact; });
  EXPECT_EQ(json(open_table(directory.path()).image(bad)), json(item(bad, 1)));
}

// Overwrites a few bytes of the largest table file, at each of some hundredths of it.
void damage_a_file(const std::string& directory, const std::vector<int>& hundredths) {
  fs::path largest;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() != ".sst") continue;
    if (largest.empty() || entry.file_size() > fs::file_size(largest)) largest = entry.path();
  }
  ASSERT_FALSE(largest.empty());
  auto bytes = static_cast<std::streamoff>(fs::file_size(largest));
  std::fstream file(largest, std::ios::binary | std::ios::in | std::ios::out);
  for (int place : hundredths) {
    file.seekp(bytes * place / 100);
    file << std::string(8, '!');
  }
  ASSERT_TRUE(file.flush());
}

TEST(RocksDbEngine, ScanPassesDamagedBlocks) {
  // A block holds four kilobytes, and so four of these items; the bytes may lie in two blocks.
  constexpr int kItems = 1000;
  constexpr int kLostAtOnePlace = 10;
  for (const std::vector<int>& places :
       {std::vector{50}, std::vector{1}, std::vector{20, 21, 70}}) {
    SCOPED_TRACE(places.size());
    TempDirectory directory;
    {
      Table table = open_table(directory.path());
      for (int i = 0; i < kItems; ++i) {
        table.put(ImageBuilder(Key("a" + std::to_string(1000 + i), "s"))
                      .set(a("x"), std::string(1000, static_cast<char>('a' + i % 26)))
                      .build());
      }
    }
    open_table(directory.path());  // moves the log into a file
    {
      Table table = open_table(directory.path());
      for (int i = 0; i < 10; ++i) table.put(item(Key("b" + std::to_string(i), "s"), i));
    }
    open_table(directory.path());  // moves the log into a file
    damage_a_file(directory.path(), places);
    Table table = open_table(directory.path());
    for (int page : {10, 10'000}) {
      std::vector<std::string> found = table.scanned(page);
      auto named = [&](const char* text) {
        return std::count_if(found.begin(), found.end(), [&](const std::string& one) {
          return one.find(text) != std::string::npos;
        });
      };
      auto count = static_cast<int>(places.size());
      EXPECT_EQ(named("unreadable: : part of a file"), count);
      EXPECT_GE(named("\"PK\":{\"S\":\"a"), kItems - kLostAtOnePlace * count);
      EXPECT_LT(named("\"PK\":{\"S\":\"a"), kItems);
      EXPECT_EQ(named("\"PK\":{\"S\":\"b"), 10) << "of another file";
    }
  }
}

// Reading what lies in a damaged block of an index is damage, not a store that cannot be reached.
TEST(RocksDbEngine, QueryOfADamagedBlock) {
  TempDirectory directory;
  {
    Table table = open_table(directory.path());
    for (int i = 0; i < 1000; ++i) {
      table.put(ImageBuilder(Key("a" + std::to_string(1000 + i), "s"))
                    .set(index_pk(4), "all")
                    .set(index_sk(4), std::to_string(1000 + i) + std::string(200, 'x'))
                    .build());
    }
  }
  open_table(directory.path());  // moves the log into a file
  damage_a_file(directory.path(), {20});
  Table table = open_table(directory.path());
  QueryReply whole = table.query(Index::kGsi4, "all");
  EXPECT_EQ(whole.outcome, Outcome::kCorrupt) << whole.message;
  EXPECT_GT(whole.images.size(), 0u) << "what lies before the damage";
  EXPECT_LT(whole.images.size(), 1000u);
  EXPECT_FALSE(whole.next);
}

TEST(RocksDbEngine, SmallCacheAnswersTheSame) {
  TempDirectory directory;
  RocksDbOptions options;
  options.cached_images = 64;
  Table table(open_rocksdb_engine(directory.path(), options).value());
  UpdateProgram count = program({{Change::kAdd, a("n"), number(0)}});
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 300; ++i) {
      EXPECT_EQ(table.update(Key("p" + std::to_string(i), "s"), count, {{i}}).outcome,
                Outcome::kOk);
    }
  }
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(table.image(Key("p" + std::to_string(i), "s"))->number(a("n")), 3 * i);
  }
}

}  // namespace
}  // namespace stint::store
