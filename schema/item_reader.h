// Reading the attributes of an item into a record, with one check at the end.
#ifndef STINT_SCHEMA_ITEM_READER_H_
#define STINT_SCHEMA_ITEM_READER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stint/result.h"
#include "store/image.h"
#include "store/key.h"
#include "store/value.h"

namespace stint::schema {

/// An error of code `kCorrupt` that says which item is meant.
Error corrupt_item(const store::Image& item, std::string_view reason);

/// Starts an item that a purge of its namespace finds: key and GSI4 keys are set.
store::ImageBuilder new_item(const store::Key& key, std::string_view ns);

/// Takes attributes from an item and remembers the first that is missing or of the wrong type;
/// what is returned for such an attribute is empty. Ask `status` before using any of it.
class ItemReader {
 public:
  explicit ItemReader(const store::Image& item) : item_(&item) {}

  /// Attributes that must be there.
  std::string text(store::AttrId id);
  std::int64_t number(store::AttrId id);
  bool boolean(store::AttrId id);

  /// Attributes that may be absent.
  std::optional<std::string> optional_text(store::AttrId id);
  std::optional<std::int64_t> optional_number(store::AttrId id);
  std::optional<bool> optional_boolean(store::AttrId id);
  store::Value::Map optional_map(store::AttrId id);

  /// Absent or the type NULL: nothing.
  std::optional<std::string> nullable_text(store::AttrId id);

  /// Elements of an absent list: none.
  std::vector<std::string> optional_texts(store::AttrId id);
  /// Numbers of an absent map: none.
  std::map<std::string, std::int64_t, std::less<>> optional_numbers(store::AttrId id);

  /// Remembers that the attribute holds something unusable.
  void fail(store::AttrId id, std::string_view reason);

  /// Errors: `kCorrupt` with the first thing found wrong.
  Status status() const;

 private:
  const store::ImageEntry* find(store::AttrId id, store::ValueType type, bool required);

  const store::Image* item_;
  std::optional<Error> error_;
};

}  // namespace stint::schema

#endif  // STINT_SCHEMA_ITEM_READER_H_
