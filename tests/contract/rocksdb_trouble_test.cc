// What the durable engine answers when files or their disk fail, and that it leaves what it cannot
// read as it was; the removal of expired items.
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/file_system.h>
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "store/rocksdb/rocksdb_engine.h"
#include "tests/support/table.h"
#include "tests/support/temp_directory.h"

namespace stint::store {
namespace {

namespace fs = std::filesystem;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using test::number;
using test::program;
using test::Table;
using test::TempDirectory;

AttrId a(const char* name) { return intern(name); }

const Key kKey("p", "s");

ImagePtr item(const Key& key, std::int64_t n) {
  return ImageBuilder(key)
      .set(a("n"), n)
      .set(index_pk(2), "list")
      .set(index_sk(2), key.pk())
      .set(index_pk(4), "all")
      .set(index_sk(4), key.pk())
      .build();
}

UpdateProgram add() { return program({{Change::kAdd, a("n"), number(0)}}); }

std::int64_t count(const Table& table, const Key& key = kKey) {
  ImagePtr image = table.image(key);
  return image ? image->number(a("n")).value_or(-1) : -1;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// ---- A disk that fails ----

// The system's own files, on a disk that fails when a test says so.
class FailingDisk final : public rocksdb::FileSystemWrapper {
 public:
  FailingDisk() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "FailingDisk"; }

  std::atomic<bool> full{false};
  std::atomic<bool> sync_fails{false};
  std::atomic<int> log_syncs{0};

  IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    IOStatus status = target()->NewWritableFile(name, options, file, debug);
    if (status.ok()) {
      *file = std::make_unique<File>(*this, name.ends_with(".log"), std::move(*file));
    }
    return status;
  }

 private:
  class File final : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    File(FailingDisk& disk, bool log, std::unique_ptr<rocksdb::FSWritableFile> file)
        : FSWritableFileOwnerWrapper(std::move(file)), disk_(disk), log_(log) {}
    IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                    IODebugContext* debug) override {
      if (disk_.full) return IOStatus::NoSpace("planted: disk full");
      return target()->Append(data, options, debug);
    }
    IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                    const rocksdb::DataVerificationInfo&, IODebugContext* debug) override {
      return Append(data, options, debug);
    }
    IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
      if (log_) ++disk_.log_syncs;
      if (disk_.sync_fails) return IOStatus::IOError("planted: sync");
      return target()->Sync(options, debug);
    }

   private:
    FailingDisk& disk_;
    bool log_;
  };
};

struct Opened {
  std::shared_ptr<FailingDisk> disk = std::make_shared<FailingDisk>();
  Table table;

  Opened(const std::string& directory, bool synced)
      : table(open_rocksdb_engine(directory, options(synced)).value()) {}

 private:
  RocksDbOptions options(bool synced) const {
    RocksDbOptions wanted;
    wanted.synced = synced;
    wanted.file_system = disk;
    return wanted;
  }
};

class RocksDbDisk : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Durability, RocksDbDisk, ::testing::Bool(), [](const auto& param_info) {
  return param_info.param ? "machine" : "process";
});

TEST_P(RocksDbDisk, AFullDiskIsLivedThrough) {
  TempDirectory directory;
  {
    Opened store(directory.path(), GetParam());
    store.table.put(item(kKey, 1));
    store.disk->full = true;
    EXPECT_EQ(store.table.update(kKey, add(), {{1}}).outcome, Outcome::kUnknown);
    for (int i = 0; i < 3; ++i) {
      WriteReply refused = store.table.update(kKey, add(), {{1}});
      EXPECT_EQ(refused.outcome, Outcome::kUnavailable) << refused.message;
      EXPECT_TRUE(contains(refused.message, "still takes no data")) << refused.message;
    }
    EXPECT_EQ(count(store.table), 1) << "reading goes on";
    store.disk->full = false;
    WriteReply again = store.table.update(kKey, add(), {{10}});
    EXPECT_EQ(again.outcome, Outcome::kOk) << again.message;
    EXPECT_EQ(count(store.table), 11);
  }
  Opened store(directory.path(), GetParam());
  EXPECT_EQ(count(store.table), 11);
}

TEST(RocksDbEngine, AFailedSyncIsUnknownToAllOfItsGroup) {
  TempDirectory directory;
  constexpr int kCallers = 8;
  auto key = [](int i) { return Key("p" + std::to_string(i), "s"); };
  std::vector<std::int64_t> shown;
  {
    Opened store(directory.path(), true);
    for (int i = 0; i < kCallers; ++i) store.table.put(item(key(i), 1));
    store.disk->sync_fails = true;
    std::vector<Outcome> outcomes(kCallers, Outcome::kOk);
    std::vector<std::thread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&, i] {
        outcomes[static_cast<std::size_t>(i)] = store.table.update(key(i), add(), {{1}}).outcome;
      });
    }
    for (std::thread& caller : callers) caller.join();
    int unknown = 0;
    for (int i = 0; i < kCallers; ++i) {
      Outcome outcome = outcomes[static_cast<std::size_t>(i)];
      EXPECT_TRUE(outcome == Outcome::kUnknown || outcome == Outcome::kUnavailable);
      unknown += outcome == Outcome::kUnknown ? 1 : 0;
      EXPECT_EQ(count(store.table, key(i)), 1) << "what was not acknowledged is not shown";
    }
    EXPECT_GE(unknown, 1);
    WriteReply refused = store.table.update(kKey, add(), {{1}});
    EXPECT_EQ(refused.outcome, Outcome::kUnavailable);
    EXPECT_TRUE(contains(refused.message, "still takes no data")) << refused.message;
    store.disk->sync_fails = false;
    EXPECT_EQ(store.table.put(item(kKey, 1)).outcome, Outcome::kOk) << "it opened itself again";
    EXPECT_EQ(count(store.table), 1);
    for (int i = 0; i < kCallers; ++i) shown.push_back(count(store.table, key(i)));
  }
  Opened store(directory.path(), true);
  for (int i = 0; i < kCallers; ++i) {
    EXPECT_EQ(count(store.table, key(i)), shown[static_cast<std::size_t>(i)])
        << "what was remembered from before is not shown after the opening";
    EXPECT_EQ(store.table.update(key(i), add(), {{0}}).outcome, Outcome::kOk);
    EXPECT_GE(count(store.table, key(i)), 1);
    EXPECT_LE(count(store.table, key(i)), 2);
  }
}

TEST(RocksDbEngine, EveryAcknowledgedWriteOfManyThreadsWasSynced) {
  TempDirectory directory;
  constexpr int kCallers = 8;
  constexpr int kWrites = 40;
  Opened store(directory.path(), true);
  int before = store.disk->log_syncs;
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&, i] {
      Key key("p" + std::to_string(i), "s");
      for (int n = 0; n < kWrites; ++n) {
        int syncs = store.disk->log_syncs;
        WriteReply reply = store.table.update(key, add(), {{1}});
        EXPECT_EQ(reply.outcome, Outcome::kOk) << reply.message;
        EXPECT_GT(store.disk->log_syncs, syncs) << "acknowledged without a sync";
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_LE(store.disk->log_syncs - before, kCallers * kWrites) << "never more than one a write";
  for (int i = 0; i < kCallers; ++i) {
    EXPECT_EQ(count(store.table, Key("p" + std::to_string(i), "s")), kWrites);
  }
}

TEST(RocksDbEngine, ARealDiskThatIsFull) {
  TempDirectory mounted;
  if (::mount("tmpfs", mounted.path().c_str(), "tmpfs", 0, "size=24m") != 0) {
    GTEST_SKIP() << "no file system may be mounted here";
  }
  std::string directory = mounted.path() + "/store";
  std::int64_t acknowledged = 0;
  {
    Table table(open_rocksdb_engine(directory, {}).value());
    table.put(item(kKey, 0));
    // Takes all that is left.
    std::string filler = mounted.path() + "/filler";
    {
      std::ofstream file(filler, std::ios::binary);
      std::string piece(1 << 16, 'x');
      while (file.write(piece.data(), static_cast<std::streamsize>(piece.size())).flush()) {
      }
    }
    WriteReply reply;
    do {
      reply = table.update(kKey, add(), {{1}});
      if (reply.outcome == Outcome::kOk) ++acknowledged;
    } while (reply.outcome == Outcome::kOk && acknowledged < 1'000'000);
    EXPECT_EQ(reply.outcome, Outcome::kUnknown) << reply.message;
    EXPECT_EQ(table.update(kKey, add(), {{1}}).outcome, Outcome::kUnavailable);
    EXPECT_EQ(count(table), acknowledged);
    fs::remove(filler);
    reply = table.update(kKey, add(), {{1}});
    EXPECT_EQ(reply.outcome, Outcome::kOk) << reply.message;
    if (reply.outcome == Outcome::kOk) ++acknowledged;
    EXPECT_EQ(count(table), acknowledged);
  }
  {
    Table table(open_rocksdb_engine(directory, {}).value());
    EXPECT_EQ(count(table), acknowledged);
  }
  EXPECT_EQ(::umount(mounted.path().c_str()), 0);
}

// ---- Damaged directories ----

using Files = std::map<std::string, std::string>;

// The contents of a directory, but for what the database writes for people.
Files files_of(const std::string& directory) {
  Files files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    std::string name = entry.path().filename();
    if (name.starts_with("LOG") || name == "LOCK" || !entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files[name] = std::string(std::istreambuf_iterator<char>(file), {});
  }
  return files;
}

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  ASSERT_TRUE(file.flush()) << path;
}

// The one file whose name has the part.
fs::path find_file(const std::string& directory, const std::string& part) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (contains(entry.path().filename(), part)) found.push_back(entry.path());
  }
  EXPECT_EQ(found.size(), 1u) << part;
  return found.empty() ? fs::path() : found[0];
}

class RocksDbDamage : public ::testing::Test {
 protected:
  static constexpr int kItems = 400;

  // A file of the database and a log, with half of the items each.
  RocksDbDamage() {
    for (int half = 0; half < 2; ++half) {
      Table table(open_rocksdb_engine(path(), {}).value());
      for (int i = half; i < kItems; i += 2) table.put(item(key(i), i));
    }
  }

  static Key key(int i) { return Key("p" + std::to_string(1000 + i), "s"); }
  const std::string& path() const { return directory_.path(); }

  void change(const std::string& part, const std::function<void(std::string&)>& edit) {
    fs::path file = find_file(path(), part);
    std::string bytes = files_of(path()).at(file.filename());
    edit(bytes);
    write_file(file, bytes);
  }

  // Opening fails with the code and a message that has the words, and changes nothing.
  void expect_refused(ErrorCode code, const std::vector<std::string>& words) {
    Files before = files_of(path());
    Result<std::shared_ptr<Engine>> opened = open_rocksdb_engine(path(), {});
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code(), code) << opened.error().message();
    EXPECT_TRUE(contains(opened.error().message(), path()));
    for (const std::string& word : words) {
      EXPECT_TRUE(contains(opened.error().message(), word)) << opened.error().message();
    }
    EXPECT_TRUE(files_of(path()) == before) << "the files were changed";
  }

 private:
  TempDirectory directory_;
};

void flip(std::string& bytes, std::size_t at) {
  bytes.at(at) = static_cast<char>(bytes[at] ^ 0x40);
}

TEST_F(RocksDbDamage, Manifest) {
  change("MANIFEST-", [](std::string& bytes) { flip(bytes, bytes.size() / 2); });
  expect_refused(ErrorCode::kCorrupt, {"damaged", "backup"});
}

TEST_F(RocksDbDamage, MissingCurrent) {
  fs::remove(path() + "/CURRENT");
  expect_refused(ErrorCode::kCorrupt, {"CURRENT", "backup"});
}

TEST_F(RocksDbDamage, MissingTable) {
  fs::remove(find_file(path(), ".sst"));
  expect_refused(ErrorCode::kCorrupt, {"damaged", "backup"});
}

TEST_F(RocksDbDamage, FooterOfATable) {
  change(".sst", [](std::string& bytes) { flip(bytes, bytes.size() - 3); });
  expect_refused(ErrorCode::kCorrupt, {"damaged", "backup"});
}

TEST_F(RocksDbDamage, BlockOfATable) {
  // Items stand behind the entries of indexes.
  change(".sst", [](std::string& bytes) { flip(bytes, bytes.size() * 6 / 10); });
  Table table(open_rocksdb_engine(path(), {}).value());
  int corrupt = 0;
  for (int i = 0; i < kItems; ++i) {
    GetReply got = table.get(key(i));
    if (got.outcome == Outcome::kOk) {
      EXPECT_EQ(got.image->number(a("n")), i);
      continue;
    }
    ++corrupt;
    EXPECT_EQ(got.outcome, Outcome::kCorrupt) << got.message;
    EXPECT_EQ(table.update(key(i), add(), {{1}}).outcome, Outcome::kCorrupt);
  }
  EXPECT_GT(corrupt, 0);
  EXPECT_LT(corrupt, kItems) << "the others can be read";
}

TEST_F(RocksDbDamage, MiddleOfTheLog) {
  change(".log", [](std::string& bytes) { flip(bytes, bytes.size() / 2); });
  expect_refused(ErrorCode::kCorrupt, {"log", "backup", "accept_damaged_log"});

  RocksDbOptions accept;
  accept.accept_damaged_log = true;
  {
    Table table(open_rocksdb_engine(path(), accept).value());
    bool gone = false;
    for (int i = 1; i < kItems; i += 2) {
      ImagePtr image = table.image(key(i));
      EXPECT_FALSE(gone && image) << "nothing after the damage";
      gone = gone || !image;
    }
    EXPECT_TRUE(gone);
    EXPECT_EQ(count(table, key(0)), 0) << "what stood in tables is there";
    EXPECT_EQ(count(table, key(1)), 1) << "what precedes the damage is there";
  }
  Table table(open_rocksdb_engine(path(), {}).value());
  EXPECT_EQ(count(table, key(1)), 1);
}

TEST_F(RocksDbDamage, EndOfTheLog) {
  // As a killed process leaves it.
  change(".log", [](std::string& bytes) { bytes.resize(bytes.size() - 10); });
  Table table(open_rocksdb_engine(path(), {}).value());
  for (int i = 0; i < kItems - 1; ++i) EXPECT_EQ(count(table, key(i)), i);
}

TEST_F(RocksDbDamage, NewerFormat) {
  write_file(path() + "/STINT", "stint store, format 7\n");
  expect_refused(ErrorCode::kVersionMismatch, {"format 7", "newer program"});
}

TEST_F(RocksDbDamage, HeldByAnother) {
  Result<std::shared_ptr<Engine>> held = open_rocksdb_engine(path(), {});
  ASSERT_TRUE(held.ok());
  Result<std::shared_ptr<Engine>> second = open_rocksdb_engine(path(), {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), ErrorCode::kUnavailable);
  EXPECT_TRUE(contains(second.error().message(), "share one Store")) << second.error().message();
}

TEST(RocksDbDamageDeathTest, DirectoryThatMayOnlyBeRead) {
  TempDirectory directory;
  std::string path = directory.path() + "/store";
  {
    Table table(open_rocksdb_engine(path, {}).value());
    table.put(item(kKey, 1));
  }
  Files before = files_of(path);
  fs::permissions(directory.path(), fs::perms::all);
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read |
                            fs::perms::others_exec);
  EXPECT_EXIT(
      {
        // Nothing stops the super-user.
        constexpr uid_t kNobody = 65534;
        if (::geteuid() == 0 && ::setuid(kNobody) != 0) std::exit(2);
        Result<std::shared_ptr<Engine>> opened = open_rocksdb_engine(path, {});
        if (opened) std::exit(3);
        std::fprintf(stderr, "%s\n", opened.error().message().c_str());
        std::exit(opened.error().code() == ErrorCode::kUnavailable ? 0 : 4);
      },
      ::testing::ExitedWithCode(0), "Permission denied");
  EXPECT_TRUE(files_of(path) == before);
  fs::permissions(path, fs::perms::owner_all);
}

// ---- Expired items ----

constexpr std::int64_t kHour = 3600;

class RocksDbExpiry : public ::testing::Test {
 protected:
  RocksDbOptions options() {
    RocksDbOptions wanted;
    wanted.expiry = Expiry{a("gone_at"), [this] { return now_s.load(); }, kHour};
    wanted.change_stream = true;
    return wanted;
  }
  Table open() { return Table(open_rocksdb_engine(directory_.path(), options()).value()); }

  static ImagePtr expiring(const Key& key, std::int64_t gone_at) {
    ImageBuilder builder(*item(key, 1));
    builder.set(a("gone_at"), gone_at);
    return builder.build();
  }

  std::atomic<std::int64_t> now_s{1'000'000};

 private:
  TempDirectory directory_;
};

TEST_F(RocksDbExpiry, ExpiredItemsGoWithTheirEntriesAndLiveOnesStay) {
  {
    Table table = open();
    for (int i = 0; i < 300; ++i) {
      // A third is over by more than the margin, a third by less, a third never ends.
      Key key("p" + std::to_string(1000 + i), "s");
      std::int64_t gone_at = i % 3 == 0 ? now_s - kHour - 1 : now_s - kHour + 1;
      table.put(i % 3 == 2 ? item(key, 1) : expiring(key, gone_at));
    }
    EXPECT_EQ(table.sort_keys(Index::kGsi2, "list").size(), 300u);
    ASSERT_TRUE(sweep_expired(table.engine()).ok());
  }
  for (int opening = 0; opening < 2; ++opening) {
    Table table = open();
    for (int i = 0; i < 300; ++i) {
      Key key("p" + std::to_string(1000 + i), "s");
      EXPECT_EQ(static_cast<bool>(table.image(key)), i % 3 != 0) << i;
    }
    EXPECT_EQ(table.sort_keys(Index::kGsi2, "list").size(), 200u);
    EXPECT_EQ(table.sort_keys(Index::kGsi4, "all").size(), 200u);
    ASSERT_TRUE(sweep_expired(table.engine()).ok());
  }
  Table table = open();
  std::vector<ChangeRecord> changes = table.engine().changes(300, 1000).value();
  ASSERT_EQ(changes.size(), 100u) << "removals are changes like all others";
  EXPECT_TRUE(changes[0].old_image && !changes[0].new_image);
}

TEST_F(RocksDbExpiry, OlderVersionsNeverComeBack) {
  {
    Table table = open();
    table.put(item(kKey, 1));  // without an end
    ASSERT_TRUE(sweep_expired(table.engine()).ok()) << "now it is in the lowest level";
    table.put(expiring(kKey, now_s - 2 * kHour));
    ASSERT_TRUE(sweep_expired(table.engine()).ok());
    EXPECT_FALSE(table.image(kKey));
    ASSERT_TRUE(sweep_expired(table.engine()).ok());
    EXPECT_FALSE(table.image(kKey));
  }
  Table table = open();
  EXPECT_FALSE(table.image(kKey));
  EXPECT_TRUE(table.sort_keys(Index::kGsi2, "list").empty());
}

TEST_F(RocksDbExpiry, ARevivedItemStays) {
  Table table = open();
  table.put(expiring(kKey, now_s - 2 * kHour));
  UpdateProgram revive = program({{Change::kSet, a("gone_at"), number(0)}});
  // The version in the files is over, the newest is not.
  EXPECT_EQ(table.update(kKey, revive, {{now_s + kHour}}).outcome, Outcome::kOk);
  ASSERT_TRUE(sweep_expired(table.engine()).ok());
  ASSERT_TRUE(table.image(kKey));
  EXPECT_EQ(table.sort_keys(Index::kGsi2, "list").size(), 1u);
  now_s += 3 * kHour;
  ASSERT_TRUE(sweep_expired(table.engine()).ok());
  EXPECT_FALSE(table.image(kKey));
}

TEST_F(RocksDbExpiry, RevivedWhileItIsSwept) {
  Table table = open();
  constexpr int kItems = 500;
  auto key = [](int i) { return Key("p" + std::to_string(1000 + i), "s"); };
  for (int i = 0; i < kItems; ++i) table.put(expiring(key(i), now_s - 2 * kHour));
  UpdateProgram revive =
      program({{Change::kSet, a("gone_at"), number(0)}}, test::when(Term{test::Op::kItemExists}));
  std::vector<Outcome> outcomes;
  std::thread reviver([&] {
    for (int i = kItems - 1; i >= 0; --i) {
      outcomes.push_back(table.update(key(i), revive, {{now_s + kHour}}).outcome);
    }
  });
  ASSERT_TRUE(sweep_expired(table.engine()).ok());
  reviver.join();
  std::size_t alive = 0;
  for (int i = 0; i < kItems; ++i) {
    bool revived = outcomes[static_cast<std::size_t>(kItems - 1 - i)] == Outcome::kOk;
    EXPECT_EQ(static_cast<bool>(table.image(key(i))), revived) << i;
    alive += revived ? 1 : 0;
  }
  EXPECT_EQ(table.sort_keys(Index::kGsi2, "list").size(), alive);
  EXPECT_EQ(table.sort_keys(Index::kGsi4, "all").size(), alive);
}

}  // namespace
}  // namespace stint::store
