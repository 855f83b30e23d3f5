#include "store/rocksdb/expired_items.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "store/embedded/key_codec.h"
#include "store/rocksdb/records.h"
#include "store/serialize.h"

namespace stint::store {
namespace {

// About ten megabytes of keys.
constexpr std::size_t kMostWaiting = 100'000;

class ExpiryFilter final : public rocksdb::CompactionFilter {
 public:
  explicit ExpiryFilter(std::shared_ptr<ExpiredItems> expired)
      : expired_(std::move(expired)),
        name_(name_of(expired_->attribute())),
        cutoff_s_(expired_->cutoff_s()) {}

  const char* Name() const override { return "stint.expiry"; }

  Decision FilterV2(int, const rocksdb::Slice& key, ValueType type, const rocksdb::Slice& value,
                    std::string*, std::string*) const override {
    std::string_view record(key.data(), key.size());
    if (type != ValueType::kValue || record.empty() || record.front() != prefix_of(Index::kTable)) {
      return Decision::kKeep;
    }
    std::optional<std::int64_t> expires =
        serialized_number(std::string_view(value.data(), value.size()), name_);
    if (expires && *expires <= cutoff_s_) {
      std::optional<EntryKey> entry = decode_entry(record.substr(1), Index::kTable);
      if (entry) expired_->add(Key(entry->pk, entry->sk));
    }
    return Decision::kKeep;
  }

 private:
  std::shared_ptr<ExpiredItems> expired_;
  std::string_view name_;
  std::int64_t cutoff_s_;
};

class ExpiryFilterFactory final : public rocksdb::CompactionFilterFactory {
 public:
  explicit ExpiryFilterFactory(std::shared_ptr<ExpiredItems> expired)
      : expired_(std::move(expired)) {}

  const char* Name() const override { return "stint.expiry"; }
  std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(
      const rocksdb::CompactionFilter::Context&) override {
    return std::make_unique<ExpiryFilter>(expired_);
  }

 private:
  std::shared_ptr<ExpiredItems> expired_;
};

}  // namespace

void ExpiredItems::add(Key key) {
  std::lock_guard lock(mutex_);
  if (stopped_ || keys_.size() >= kMostWaiting) return;
  keys_.push_back(std::move(key));
  changed_.notify_all();
}

std::vector<Key> ExpiredItems::take(std::size_t most) {
  std::unique_lock lock(mutex_);
  busy_ = false;
  changed_.notify_all();
  changed_.wait(lock, [this] { return stopped_ || !keys_.empty(); });
  if (stopped_) return {};
  busy_ = true;
  auto from = keys_.end() - static_cast<std::ptrdiff_t>(std::min(most, keys_.size()));
  std::vector<Key> taken(std::make_move_iterator(from), std::make_move_iterator(keys_.end()));
  keys_.erase(from, keys_.end());
  return taken;
}

void ExpiredItems::wait_until_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopped_ || (!busy_ && keys_.empty()); });
}

void ExpiredItems::stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

std::shared_ptr<rocksdb::CompactionFilterFactory> make_expiry_filter(
    std::shared_ptr<ExpiredItems> expired) {
  return std::make_shared<ExpiryFilterFactory>(std::move(expired));
}

}  // namespace stint::store
