#include "store/rocksdb/damage.h"

#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>

#include <cstdint>
#include <memory>

namespace stint::store {
namespace {

// So many damaged blocks are passed over at once: some seconds of work.
constexpr int kMostBlocks = 1000;
// Longer than any record's key: a partition key has at most 2,048 bytes, a sort key 1,024, and
// escapes make them at worst twice as long.
constexpr std::size_t kMostKeyBytes = 8192;

// Whether another block begins in some file from `from` up to `to`. Only the index of a file is
// read for it, which is sound where a block is not.
bool leaves_the_block(rocksdb::DB& db, const std::string& from, const std::string& to) {
  if (to <= from) return false;
  rocksdb::SizeApproximationOptions files_only;
  rocksdb::Range range(from, to);
  std::uint64_t bytes = 0;
  rocksdb::Status status =
      db.GetApproximateSizes(files_only, db.DefaultColumnFamily(), &range, 1, &bytes);
  return status.ok() && bytes > 0;
}

// The greatest key in the same blocks as `from`, found byte by byte. Precondition: there are other
// blocks before `end`.
std::string last_of_the_block(rocksdb::DB& db, const std::string& from, const std::string& end) {
  auto is_behind = [&](const std::string& key) {
    return key >= end || leaves_the_block(db, from, key);
  };
  std::string last;
  while (last.size() < kMostKeyBytes) {
    // Bytes below `low` are within, those from `high` on are behind.
    int low = 0;
    int high = 256;
    last += '\0';
    while (low < high) {
      int middle = (low + high) / 2;
      last.back() = static_cast<char>(middle);
      if (is_behind(last)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (low == 0) {
      last.pop_back();
      break;
    }
    last.back() = static_cast<char>(low - 1);
  }
  return last;
}

}  // namespace

std::optional<std::string> find_behind_damage(rocksdb::DB& db, std::string from,
                                              const std::string& end) {
  rocksdb::Slice bound(end);
  rocksdb::ReadOptions options;
  options.iterate_upper_bound = &bound;
  options.fill_cache = false;
  for (int blocks = 0; blocks < kMostBlocks; ++blocks) {
    if (!leaves_the_block(db, from, end)) return std::nullopt;
    from = last_of_the_block(db, from, end) + '\0';
    if (from >= end) return std::nullopt;
    std::unique_ptr<rocksdb::Iterator> at(db.NewIterator(options));
    at->Seek(from);
    if (at->status().IsCorruption()) continue;
    // Other trouble is met again, and told, by whoever reads on from there.
    if (at->Valid() || !at->status().ok()) return from;
    return std::nullopt;
  }
  return from;
}

}  // namespace stint::store
