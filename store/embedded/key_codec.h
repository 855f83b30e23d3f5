// Keys of the table and of its indexes as single texts that sort like the keys themselves.
#ifndef STINT_STORE_EMBEDDED_KEY_CODEC_H_
#define STINT_STORE_EMBEDDED_KEY_CODEC_H_

#include <optional>
#include <string>
#include <string_view>

#include "base/component.h"
#include "store/apply.h"
#include "store/request.h"

namespace stint::store {

/// Where an entry of the table (partition = pk, sort = sk) or of an index stands.
struct EntryKey {
  std::string partition;
  std::string sort;
  std::string pk;
  std::string sk;
};

/// The entry of an item, or nothing where it stands in no such index. Entries of one partition sort
/// by sort key, then by the item's key, for any bytes.
STINT_COMPONENT std::optional<std::string> encode_entry(const Image& item, Index index);

/// The entry in the table itself.
STINT_COMPONENT std::string encode_table_entry(std::string_view pk, std::string_view sk);
/// The same, appended.
STINT_COMPONENT void append_table_entry(std::string& out, std::string_view pk, std::string_view sk);

/// What all entries of a partition whose sort key begins with `sort_prefix` begin with.
STINT_COMPONENT std::string encode_prefix(std::string_view partition, std::string_view sort_prefix);

/// Nothing when `encode_entry` cannot have written it.
STINT_COMPONENT std::optional<EntryKey> decode_entry(std::string_view entry, Index index);

/// An entry as the printable `next` of a query.
STINT_COMPONENT std::string position_text(std::string_view entry);

/// The entry after which a query goes on. Precondition: it has a start. Nothing when the start is
/// not a position of this very query.
STINT_COMPONENT std::optional<std::string> parse_query_start(const QueryRequest& request);
inline constexpr const char* kForeignPosition = "start is not a position of this query";

/// The `next` of a scan whose page ended with that entry, and back: the least text that sorts after
/// the entry. Nothing when the start cannot be a position of a scan.
STINT_COMPONENT std::string scan_position_after(std::string_view entry);
STINT_COMPONENT std::optional<std::string> parse_scan_start(const ScanRequest& request);
inline constexpr const char* kForeignScanPosition = "start is not a position of a scan";

/// The partition that an entry, or a text that begins like one, belongs to.
STINT_COMPONENT std::optional<std::string> partition_of_entry(std::string_view entry);

/// The key attributes that an entry holds, as `project` would answer them for an index.
STINT_COMPONENT ImagePtr entry_image(const EntryKey& entry, Index index);

}  // namespace stint::store

#endif  // STINT_STORE_EMBEDDED_KEY_CODEC_H_
