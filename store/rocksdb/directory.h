// The directory of a durable store: what marks it as ours.
#ifndef STINT_STORE_ROCKSDB_DIRECTORY_H_
#define STINT_STORE_ROCKSDB_DIRECTORY_H_

#include <cstdint>
#include <string>

#include "stint/result.h"

namespace stint::store {

/// Makes sure that `directory` is a store of ours that this program understands, creating and
/// marking it if wanted. Writes nothing into a directory that is not ours. Errors as
/// `open_rocksdb_engine`.
///
/// The mark is a file of its own and not a record, because opening a foreign database to look for
/// one would already change it.
Status prepare_directory(const std::string& directory, bool create_if_missing);

/// The format of a directory with images of `kBinaryImageFormat`.
inline constexpr int kBinaryDirectoryFormat = 2;

/// Raises the mark of a store to `format`, if it is lower, before records are written that programs
/// of its present format do not know: those then refuse the whole store. Durable when it returns.
/// Errors: `kUnavailable`, and those of `prepare_directory` for a mark that was changed meanwhile.
Status raise_directory(const std::string& directory, int format);

/// Size of all files in the directory. Those that go meanwhile do not count.
/// Errors: `kUnavailable`.
Result<std::uint64_t> directory_bytes(const std::string& directory);

/// Brings a file, or the names in a directory, to the disk.
Status sync_path(const std::string& path);

/// Name of the marking file inside the directory.
inline constexpr const char* kMarkFile = "STINT";

}  // namespace stint::store

#endif  // STINT_STORE_ROCKSDB_DIRECTORY_H_
