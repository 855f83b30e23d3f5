// How writes reach the log, at either level of durability, and what happens after one failed.
#ifndef STINT_STORE_ROCKSDB_COMMITTER_H_
#define STINT_STORE_ROCKSDB_COMMITTER_H_

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

namespace stint::store {

/// What became of a write.
struct Committed {
  rocksdb::Status status;
  /// False: the database was not asked, and nothing of the write can be there.
  bool attempted = true;

  bool ok() const { return status.ok(); }
};

/// Thread-safe. Does not own the database.
class Committer {
 public:
  /// `synced`: a write is on the disk before it is answered.
  Committer(rocksdb::DB& db, bool synced) : db_(db), synced_(synced) { options_.sync = synced; }

  /// Writes the batch, all or nothing, and waits until it is as durable as promised. Synced writes
  /// of callers that come at the same time share one write to the disk: the first leads, the others
  /// wait; whoever comes while the disk is busy is in the next group.
  ///
  /// After a write failed, all others are refused without being attempted: what the log holds is
  /// known only when the database has been opened again.
  Committed commit(rocksdb::WriteBatch& batch);

 private:
  struct Waiter;

  rocksdb::Status commit_in_group(rocksdb::WriteBatch& batch);
  rocksdb::Status write_group(const std::vector<Waiter*>& group);
  rocksdb::Status write(rocksdb::WriteBatch& batch);

  rocksdb::DB& db_;
  bool synced_;
  rocksdb::WriteOptions options_;

  std::mutex mutex_;
  std::vector<Waiter*> waiting_;
  bool led_ = false;            // somebody is writing, or has been told to
  rocksdb::WriteBatch merged_;  // of the one who leads

  std::atomic<bool> failed_{false};
  std::mutex failure_mutex_;
  rocksdb::Status failure_;
};

}  // namespace stint::store

#endif  // STINT_STORE_ROCKSDB_COMMITTER_H_
