#include "schema/item_reader.h"

namespace stint::schema {
namespace {

std::string_view type_name(store::ValueType type) {
  switch (type) {
    case store::ValueType::kNumber: return "a whole number of 64 bits";
    case store::ValueType::kDecimal: return "a number";
    case store::ValueType::kString: return "a string";
    case store::ValueType::kBool: return "a boolean";
    case store::ValueType::kNull: return "null";
    case store::ValueType::kStringSet: return "a set of strings";
    case store::ValueType::kList: return "a list";
    case store::ValueType::kMap: return "a map";
    case store::ValueType::kBinary: return "binary";
    case store::ValueType::kNumberSet: return "a set of numbers";
    case store::ValueType::kBinarySet: return "a set of binary values";
  }
  return "a value";
}

}  // namespace

Error corrupt_item(const store::Image& item, std::string_view reason) {
  std::string text = "item ";
  text.append(item.pk()).append(" ").append(item.sk()).append(": ").append(reason);
  // Keys and texts may come from anywhere, and messages end up in logs.
  for (char& c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return Error(ErrorCode::kCorrupt, std::move(text));
}

store::ImageBuilder new_item(const store::Key& key, std::string_view ns) {
  store::ImageBuilder builder(key);
  builder.set(store::index_pk(4), ns);
  builder.set(store::index_sk(4), key.pk());
  return builder;
}

void ItemReader::fail(store::AttrId id, std::string_view reason) {
  if (error_) return;
  error_ = corrupt_item(*item_, std::string(store::name_of(id)) + " " + std::string(reason));
}

const store::ImageEntry* ItemReader::find(store::AttrId id, store::ValueType type, bool required) {
  const store::ImageEntry* entry = item_->find(id);
  if (entry == nullptr) {
    if (required) fail(id, "is missing");
    return nullptr;
  }
  if (entry->type() == type) return entry;
  fail(id, "is not " + std::string(type_name(type)));
  return nullptr;
}

std::string ItemReader::text(store::AttrId id) {
  const store::ImageEntry* entry = find(id, store::ValueType::kString, true);
  return entry == nullptr ? std::string() : std::string(item_->text(*entry));
}

std::int64_t ItemReader::number(store::AttrId id) {
  const store::ImageEntry* entry = find(id, store::ValueType::kNumber, true);
  return entry == nullptr ? 0 : entry->number;
}

bool ItemReader::boolean(store::AttrId id) {
  const store::ImageEntry* entry = find(id, store::ValueType::kBool, true);
  return entry != nullptr && entry->number != 0;
}

std::optional<std::string> ItemReader::optional_text(store::AttrId id) {
  const store::ImageEntry* entry = find(id, store::ValueType::kString, false);
  if (entry == nullptr) return std::nullopt;
  return std::string(item_->text(*entry));
}

std::optional<std::int64_t> ItemReader::optional_number(store::AttrId id) {
  const store::ImageEntry* entry = find(id, store::ValueType::kNumber, false);
  if (entry == nullptr) return std::nullopt;
  return entry->number;
}

std::optional<bool> ItemReader::optional_boolean(store::AttrId id) {
  const store::ImageEntry* entry = find(id, store::ValueType::kBool, false);
  if (entry == nullptr) return std::nullopt;
  return entry->number != 0;
}

store::Value::Map ItemReader::optional_map(store::AttrId id) {
  const store::ImageEntry* entry = find(id, store::ValueType::kMap, false);
  if (entry == nullptr) return {};
  return *item_->value(*entry).as_map();
}

std::optional<std::string> ItemReader::nullable_text(store::AttrId id) {
  const store::ImageEntry* entry = item_->find(id);
  if (entry != nullptr && entry->type() == store::ValueType::kNull) return std::nullopt;
  return optional_text(id);
}

std::vector<std::string> ItemReader::optional_texts(store::AttrId id) {
  std::vector<std::string> texts;
  const store::ImageEntry* entry = find(id, store::ValueType::kList, false);
  if (entry == nullptr) return texts;
  const store::Value list = item_->value(*entry);
  for (const store::Value& element : *list.as_list()) {
    if (const std::string* text = element.as_string()) {
      texts.push_back(*text);
    } else {
      fail(id, "holds something that is not a string");
    }
  }
  return texts;
}

std::map<std::string, std::int64_t, std::less<>> ItemReader::optional_numbers(store::AttrId id) {
  std::map<std::string, std::int64_t, std::less<>> numbers;
  for (const auto& [name, value] : optional_map(id)) {
    if (const std::int64_t* number = value.as_number()) {
      numbers.emplace(name, *number);
    } else {
      fail(id, "holds something that is not a whole number of 64 bits");
    }
  }
  return numbers;
}

Status ItemReader::status() const {
  if (error_) return *error_;
  return {};
}

}  // namespace stint::schema
