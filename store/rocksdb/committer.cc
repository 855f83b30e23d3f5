#include "store/rocksdb/committer.h"

#include <rocksdb/perf_level.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <utility>

namespace stint::store {
namespace {

// Bounds how long a caller with little to write waits for those with much.
constexpr std::size_t kMostGroupBytes = 4 << 20;

// The database counts every comparison of keys for the calling thread, in thread-local variables
// that cost a good part of a write. The caller's own setting is put back.
class WithoutCounting {
 public:
  WithoutCounting() : before_(rocksdb::GetPerfLevel()) {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  }
  ~WithoutCounting() { rocksdb::SetPerfLevel(before_); }
  WithoutCounting(const WithoutCounting&) = delete;
  WithoutCounting& operator=(const WithoutCounting&) = delete;

 private:
  rocksdb::PerfLevel before_;
};

// Adds what a batch holds to another.
class Appender final : public rocksdb::WriteBatch::Handler {
 public:
  explicit Appender(rocksdb::WriteBatch& to) : to_(to) {}

  rocksdb::Status PutCF(std::uint32_t, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    return to_.Put(key, value);
  }
  rocksdb::Status DeleteCF(std::uint32_t, const rocksdb::Slice& key) override {
    return to_.Delete(key);
  }
  rocksdb::Status DeleteRangeCF(std::uint32_t, const rocksdb::Slice& from,
                                const rocksdb::Slice& to) override {
    return to_.DeleteRange(from, to);
  }

 private:
  rocksdb::WriteBatch& to_;
};

}  // namespace

struct Committer::Waiter {
  enum State : int { kWaits, kLeads, kDone };

  explicit Waiter(rocksdb::WriteBatch& wanted) : batch(&wanted) {}

  rocksdb::WriteBatch* batch;
  rocksdb::Status status;
  std::atomic<int> state{kWaits};

  void wait() {
    while (state.load(std::memory_order_acquire) == kWaits) state.wait(kWaits);
  }
  // The waiter may be gone as soon as the state is set: waking then concerns nothing but its
  // address, which is not read.
  void wake(State to) {
    std::atomic<int>& watched = state;
    watched.store(to, std::memory_order_release);
    watched.notify_one();
  }
};

Committed Committer::commit(rocksdb::WriteBatch& batch) {
  if (failed_.load(std::memory_order_acquire)) {
    std::lock_guard lock(failure_mutex_);
    return Committed{failure_, false};
  }
  rocksdb::Status status = synced_ ? commit_in_group(batch) : write(batch);
  if (!status.ok()) {
    std::lock_guard lock(failure_mutex_);
    failure_ = status;
    failed_.store(true, std::memory_order_release);
  }
  return Committed{std::move(status), true};
}

rocksdb::Status Committer::write(rocksdb::WriteBatch& batch) {
  WithoutCounting guard;
  return db_.Write(options_, &batch);
}

rocksdb::Status Committer::commit_in_group(rocksdb::WriteBatch& batch) {
  Waiter self(batch);
  std::unique_lock lock(mutex_);
  waiting_.push_back(&self);
  if (led_) {
    lock.unlock();
    self.wait();
    if (self.state.load(std::memory_order_acquire) == Waiter::kDone) return self.status;
    lock.lock();
  }
  led_ = true;

  // Who leads is in the group: it waits for its turn like everybody.
  std::size_t bytes = 0;
  std::size_t count = 0;
  do {
    bytes += waiting_[count++]->batch->GetDataSize();
  } while (count < waiting_.size() && bytes < kMostGroupBytes);
  auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Waiter*> group(waiting_.begin(), end);
  waiting_.erase(waiting_.begin(), end);
  assert(std::find(group.begin(), group.end(), &self) != group.end());
  lock.unlock();

  rocksdb::Status status = write_group(group);

  lock.lock();
  Waiter* next = waiting_.empty() ? nullptr : waiting_.front();
  led_ = next != nullptr;
  lock.unlock();
  // First, so that the disk is busy again while the others wake up.
  if (next) next->wake(Waiter::kLeads);
  for (Waiter* waiter : group) {
    if (waiter == &self) continue;
    waiter->status = status;
    waiter->wake(Waiter::kDone);
  }
  return status;
}

rocksdb::Status Committer::write_group(const std::vector<Waiter*>& group) {
  if (group.size() == 1) return write(*group.front()->batch);
  merged_.Clear();
  Appender append(merged_);
  for (const Waiter* waiter : group) {
    rocksdb::Status status = waiter->batch->Iterate(&append);
    if (!status.ok()) return status;
  }
  rocksdb::Status status = write(merged_);
  if (merged_.GetDataSize() > kMostGroupBytes) merged_ = rocksdb::WriteBatch();
  return status;
}

}  // namespace stint::store
