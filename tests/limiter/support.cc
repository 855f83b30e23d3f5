#include "tests/limiter/support.h"

#include <algorithm>
#include <utility>

#include "limiter/store_handle.h"
#include "schema/keys.h"
#include "schema/records.h"
#include "store/memory/memory_engine.h"
#include "tests/support/seed.h"
#ifdef STINT_TEST_ROCKSDB
#include "store/rocksdb/rocksdb_engine.h"
#endif
#ifdef STINT_TEST_DYNAMODB
#include "tests/support/dynamodb_table.h"
#endif

namespace stint::test {
namespace {

constexpr const char* kMemory = "memory";
constexpr const char* kSharedTable = "shared_table";
#ifdef STINT_TEST_DYNAMODB
constexpr const char* kDynamoDb = "dynamodb";
#endif

/// Carries out one request that a test makes by itself.
template <typename Reply, typename Request>
Reply execute(store::Engine& engine, const Request& request) {
  store::Call call;
  call.request = &request;
  engine.execute(std::span<store::Call>(&call, 1));
  Reply reply = std::get<Reply>(std::move(call.reply));
  EXPECT_EQ(reply.outcome, store::Outcome::kOk) << reply.message;
  return reply;
}

}  // namespace

std::vector<std::string> engine_names() {
#ifdef STINT_TEST_ROCKSDB
  return {kMemory, "rocksdb"};
#else
  return {kMemory};
#endif
}

std::vector<std::string> store_names() {
  std::vector<std::string> names = engine_names();
  names.emplace_back(kSharedTable);
#ifdef STINT_TEST_DYNAMODB
  names.emplace_back(kDynamoDb);
#endif
  return names;
}

bool is_shared(const std::string& name) {
  std::vector<std::string> own = engine_names();
  return std::find(own.begin(), own.end(), name) == own.end();
}

store::Capabilities shared_table() {
  store::Capabilities capabilities = lean_table();
  capabilities.index_layout = store::IndexLayout::kCompatible;
  return capabilities;
}

std::shared_ptr<store::Engine> open_engine(const std::string& name, const std::string& directory) {
  if (name == kMemory) return store::make_memory_engine();
  if (name == kSharedTable) return store::make_memory_engine(shared_table());
#ifdef STINT_TEST_ROCKSDB
  if (name == "rocksdb") return store::open_rocksdb_engine(directory, {}).value();
#endif
#ifdef STINT_TEST_DYNAMODB
  if (name == kDynamoDb) return new_table(store::IndexLayout::kCompatible);
#endif
  ADD_FAILURE() << "no engine " << name << " for " << directory;
  return nullptr;
}

void Events::on_event(const Event& event) noexcept {
  std::lock_guard lock(mutex_);
  seen_.push_back({.kind = event.kind,
                   .from_memory = event.from_memory,
                   .entity = std::string(event.entity),
                   .resource = std::string(event.resource),
                   .limit = std::string(event.limit),
                   .count = event.count,
                   .requested = event.requested,
                   .error = event.error != nullptr ? std::optional(*event.error) : std::nullopt,
                   .store = event.store != nullptr ? std::optional(*event.store) : std::nullopt,
                   .duration = event.duration});
}

std::vector<Events::Seen> Events::all() const {
  std::lock_guard lock(mutex_);
  return seen_;
}

std::string Events::story() const {
  std::string text;
  for (const Seen& seen : all()) {
    if (!text.empty()) text += ' ';
    text += to_string(seen.kind);
  }
  return text;
}

int Events::count(EventKind kind) const {
  std::lock_guard lock(mutex_);
  int count = 0;
  for (const Seen& seen : seen_) count += seen.kind == kind ? 1 : 0;
  return count;
}

Events::Seen Events::last(EventKind kind) const {
  std::lock_guard lock(mutex_);
  for (auto seen = seen_.rbegin(); seen != seen_.rend(); ++seen) {
    if (seen->kind == kind) return *seen;
  }
  ADD_FAILURE() << "no event " << to_string(kind);
  return {.kind = kind};
}

void Events::clear() {
  std::lock_guard lock(mutex_);
  seen_.clear();
}

std::ostream& operator<<(std::ostream& out, const Spent& spent) {
  return out << spent.requests << " requests, " << spent.reads << " read and " << spent.writes
             << " write units";
}

LimitStatus find_status(const std::vector<LimitStatus>& statuses, const std::string& limit,
                        const std::string& entity) {
  for (const LimitStatus& status : statuses) {
    if (status.name == limit && status.entity == entity) return status;
  }
  ADD_FAILURE() << "no status of limit " << limit << " of " << entity;
  return LimitStatus();
}

LimiterTest::LimiterTest() { open(); }

void LimiterTest::open() {
  store_ = limiter::open_store(open_engine(GetParam(), directory_.path()), {}).value();
  limiter.emplace(*store_, options());
}

LimiterOptions LimiterTest::options() {
  LimiterOptions options;
  options.clock = &clock;
  options.observer = &events;
  options.seed = seed() + (++seeds_given_ << 32);
  return options;
}

Limiter LimiterTest::another_limiter(LimiterOptions options) {
  return Limiter(*store_, std::move(options));
}

bool LimiterTest::on_shared_table() const { return store_->handle()->is_shared_table(); }

void LimiterTest::use(const LimiterOptions& options) { limiter.emplace(*store_, options); }

void LimiterTest::restart() {
  limiter.reset();
  if (GetParam() != "rocksdb") {
    limiter.emplace(*store_, options());
    return;
  }
  store_.reset();
  open();
}

Result<Decision> LimiterTest::try_acquire(std::vector<Consume> consume, const std::string& entity) {
  return limiter->acquire({.entity = entity, .resource = kApi, .consume = std::move(consume)});
}

Decision LimiterTest::acquire(std::vector<Consume> consume, const std::string& entity) {
  return try_acquire(std::move(consume), entity).value();
}

bool LimiterTest::admits(std::vector<Consume> consume, const std::string& entity) {
  return static_cast<bool>(acquire(std::move(consume), entity));
}

int LimiterTest::admitted(int calls, const std::vector<Consume>& consume,
                          const std::string& entity) {
  int count = 0;
  for (int i = 0; i < calls; ++i) count += admits(consume, entity) ? 1 : 0;
  return count;
}

LimitStatus LimiterTest::status(const std::string& limit, const std::string& entity) {
  return find_status(limiter->available(entity, kApi).value().limits, limit, entity);
}

std::int64_t LimiterTest::left(const std::string& limit, const std::string& entity) {
  return status(limit, entity).remaining.whole_tokens();
}

Spent LimiterTest::spent_by(const std::function<void()>& calls) {
  RequestStats before = limiter->stats();
  calls();
  RequestStats after = limiter->stats();
  return {after.requests - before.requests, after.read_units - before.read_units,
          after.write_units - before.write_units};
}

store::ImagePtr LimiterTest::item(const store::Key& key) {
  store::GetRequest request(key, store::Consistency::kStrong);
  return execute<store::GetReply>(*store_->handle()->engine, request).image;
}

std::string LimiterTest::name_space_id() {
  store::ImagePtr record = item(schema::namespace_name_key(options().name_space));
  if (!record) {
    ADD_FAILURE() << "the namespace is not registered yet";
    return "none";
  }
  return schema::decode_namespace(*record).value().id;
}

store::Key LimiterTest::bucket_key(const std::string& entity) {
  return schema::bucket_key(name_space_id(), entity, kApi, 0);
}

store::ImagePtr LimiterTest::bucket(const std::string& entity) { return item(bucket_key(entity)); }

std::optional<std::int64_t> LimiterTest::field(const std::string& limit, const std::string& name,
                                               const std::string& entity) {
  store::ImagePtr image = bucket(entity);
  if (!image) return std::nullopt;
  return image->number(store::intern("b_" + limit + "_" + name));
}

void LimiterTest::put_item(const store::ImagePtr& item) {
  store::PutRequest request(item, nullptr);
  execute<store::WriteReply>(*store_->handle()->engine, request);
}

void LimiterTest::delete_item(const store::Key& key) {
  store::DeleteRequest request(key, nullptr);
  execute<store::WriteReply>(*store_->handle()->engine, request);
}

void LimiterTest::edit_bucket(const std::function<void(store::ImageBuilder&)>& edit,
                              const std::string& entity) {
  store::ImagePtr image = bucket(entity);
  ASSERT_TRUE(image) << "no bucket of " << entity;
  store::ImageBuilder builder(*image);
  edit(builder);
  put_item(builder.build());
}

void LimiterTest::set_field(const std::string& limit, const std::string& name, std::int64_t value,
                            const std::string& entity) {
  edit_bucket(
      [&](store::ImageBuilder& item) { item.set(store::intern("b_" + limit + "_" + name), value); },
      entity);
}

}  // namespace stint::test
