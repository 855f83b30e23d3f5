#include "store/dynamodb/table_definition.h"

#include <simdjson.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "store/attribute.h"
#include "store/request.h"

namespace stint::store::dynamodb {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kShortestName = 3;
constexpr std::size_t kLongestName = 255;
constexpr int kLocalIndexCount = 5;
constexpr std::string_view kStreamView = "NEW_AND_OLD_IMAGES";
constexpr std::string_view kAll = "ALL";
constexpr std::string_view kKeysOnly = "KEYS_ONLY";

std::string local_index_name(int number) { return "LSI" + std::to_string(number); }
std::string local_range(int number) { return local_index_name(number) + "SK"; }

// GSI3 and GSI4 never hold more than keys.
std::string_view projection_of(IndexLayout layout, int number) {
  return layout == IndexLayout::kCompatible && number <= 2 ? kAll : kKeysOnly;
}

// Names of tables, indexes and attributes hold nothing that JSON would escape.
std::string quoted(std::string_view name) { return '"' + std::string(name) + '"'; }

std::string named(std::string_view table) { return "{\"TableName\":" + quoted(table); }

std::string string_attribute(std::string_view name) {
  return "{\"AttributeName\":" + quoted(name) + ",\"AttributeType\":\"S\"}";
}

std::string key_schema(std::string_view hash, std::string_view range) {
  return "\"KeySchema\":[{\"AttributeName\":" + quoted(hash) +
         ",\"KeyType\":\"HASH\"},{\"AttributeName\":" + quoted(range) + ",\"KeyType\":\"RANGE\"}]";
}

std::string index_definition(std::string_view name, std::string_view hash, std::string_view range,
                             std::string_view projection) {
  return "{\"IndexName\":" + quoted(name) + ',' + key_schema(hash, range) +
         ",\"Projection\":{\"ProjectionType\":" + quoted(projection) + "}}";
}

std::string global_index(IndexLayout layout, int number) {
  return index_definition(index_name(number), name_of(index_pk(number)), name_of(index_sk(number)),
                          projection_of(layout, number));
}

std::string stream_specification() {
  return "\"StreamSpecification\":{\"StreamEnabled\":true,\"StreamViewType\":" +
         quoted(kStreamView) + "}";
}

// Reads what is there; the first member of another type than it should have is remembered.
class Reader {
 public:
  std::string text(const dom::object& object, std::string_view name) {
    return std::string(get<std::string_view>(object, name).value_or(std::string_view()));
  }
  std::int64_t number(const dom::object& object, std::string_view name) {
    return get<std::int64_t>(object, name).value_or(0);
  }
  bool truth(const dom::object& object, std::string_view name) {
    return get<bool>(object, name).value_or(false);
  }
  std::optional<dom::object> object(const dom::object& parent, std::string_view name) {
    return get<dom::object>(parent, name);
  }
  /// Calls `take` for every object of a list.
  template <typename Take>
  void each(const dom::object& parent, std::string_view name, Take take) {
    std::optional<dom::array> list = get<dom::array>(parent, name);
    if (!list) return;
    for (const dom::element element : *list) {
      dom::object entry;
      if (element.get(entry) == simdjson::SUCCESS) {
        take(entry);
      } else {
        mistyped(name);
      }
    }
  }

  /// Empty while all was as it should be.
  const std::string& problem() const { return problem_; }

 private:
  template <typename T>
  std::optional<T> get(const dom::object& parent, std::string_view name) {
    dom::element element;
    if (parent[name].get(element) != simdjson::SUCCESS || element.is_null()) return std::nullopt;
    T found{};
    if (element.get(found) == simdjson::SUCCESS) return found;
    mistyped(name);
    return std::nullopt;
  }

  void mistyped(std::string_view name) {
    if (problem_.empty()) problem_ = std::string(name) + " is not of the type that it should be";
  }

  std::string problem_;
};

void read_keys(Reader& reader, const dom::object& parent, std::string& hash, std::string& range) {
  reader.each(parent, "KeySchema", [&](const dom::object& key) {
    std::string& part = reader.text(key, "KeyType") == "HASH" ? hash : range;
    part = reader.text(key, "AttributeName");
  });
}

void read_indexes(Reader& reader, const dom::object& parent, std::string_view list, bool local,
                  std::vector<TableIndex>& indexes) {
  reader.each(parent, list, [&](const dom::object& entry) {
    TableIndex index;
    index.local = local;
    index.name = reader.text(entry, "IndexName");
    index.status = reader.text(entry, "IndexStatus");
    read_keys(reader, entry, index.hash, index.range);
    if (std::optional<dom::object> projection = reader.object(entry, "Projection")) {
      index.projection = reader.text(*projection, "ProjectionType");
    }
    indexes.push_back(std::move(index));
  });
}

Error not_understood(std::string_view reason) {
  return Error(ErrorCode::kCorrupt,
               "the service's answer about the table is not understood: " + std::string(reason));
}

bool is_string(const TableState& table, std::string_view attribute) {
  auto found = table.key_types.find(attribute);
  return found != table.key_types.end() && found->second == "S";
}

bool has_keys(const TableState& table, const std::string& hash, const std::string& range,
              std::string_view wanted_hash, std::string_view wanted_range) {
  return hash == wanted_hash && range == wanted_range && is_string(table, wanted_hash) &&
         is_string(table, wanted_range);
}

std::string keys_text(const std::string& hash, const std::string& range) {
  return hash + " and " + (range.empty() ? "no sort key" : range);
}

std::optional<TableProblem> index_problem(const TableState& table, int number,
                                          std::optional<IndexLayout> layout) {
  std::string name = index_name(number);
  const TableIndex* index = table.index(name);
  if (index == nullptr) {
    return TableProblem{TableFlaw::kIndexMissing, number, "the index " + name + " is missing"};
  }
  std::string_view hash = name_of(index_pk(number));
  std::string_view range = name_of(index_sk(number));
  if (!has_keys(table, index->hash, index->range, hash, range)) {
    return TableProblem{TableFlaw::kIndexDiffers, number,
                        "the index " + name + " has the keys " +
                            keys_text(index->hash, index->range) + " in place of the strings " +
                            std::string(hash) + " and " + std::string(range)};
  }
  if (number > 2 || layout) {
    std::string_view projection = projection_of(layout.value_or(IndexLayout::kKeysOnly), number);
    if (index->projection == projection) return std::nullopt;
    return TableProblem{TableFlaw::kIndexDiffers, number,
                        "the index " + name + " projects " + index->projection + " in place of " +
                            std::string(projection)};
  }
  return TableProblem{TableFlaw::kIndexDiffers, number,
                      "the index " + name + " projects " + index->projection +
                          "; GSI1 and GSI2 must both project ALL (compatible) or both KEYS_ONLY "
                          "(lean)"};
}

}  // namespace

Status check_table_name(std::string_view table) {
  auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  if (table.size() < kShortestName || table.size() > kLongestName ||
      !std::all_of(table.begin(), table.end(), allowed)) {
    return Error::invalid("table", table,
                          "must be 3 to 255 letters, digits, \"_\", \"-\" and \".\"");
  }
  return {};
}

std::string index_name(int number) { return "GSI" + std::to_string(number); }

std::string create_table_body(std::string_view table, IndexLayout layout) {
  assert(check_table_name(table));
  std::string attributes = string_attribute(name_of(kPk)) + ',' + string_attribute(name_of(kSk));
  std::string global;
  for (int number = 1; number <= kIndexCount; ++number) {
    attributes += ',' + string_attribute(name_of(index_pk(number))) + ',' +
                  string_attribute(name_of(index_sk(number)));
    if (number > 1) global += ',';
    global += global_index(layout, number);
  }
  std::string local;
  for (int number = 1; number <= kLocalIndexCount; ++number) {
    attributes += ',' + string_attribute(local_range(number));
    if (number > 1) local += ',';
    local += index_definition(local_index_name(number), name_of(kPk), local_range(number),
                              number % 2 == 1 ? kAll : kKeysOnly);
  }
  return named(table) + ",\"BillingMode\":\"PAY_PER_REQUEST\",\"AttributeDefinitions\":[" +
         attributes + "]," + key_schema(name_of(kPk), name_of(kSk)) +
         ",\"GlobalSecondaryIndexes\":[" + global + "],\"LocalSecondaryIndexes\":[" + local + "]," +
         stream_specification() + '}';
}

std::string table_name_body(std::string_view table) {
  assert(check_table_name(table));
  return named(table) + '}';
}

std::string enable_expiry_body(std::string_view table, std::string_view attribute) {
  assert(check_table_name(table));
  return named(table) +
         ",\"TimeToLiveSpecification\":{\"Enabled\":true,\"AttributeName\":" + quoted(attribute) +
         "}}";
}

std::string enable_stream_body(std::string_view table) {
  assert(check_table_name(table));
  return named(table) + ',' + stream_specification() + '}';
}

std::string create_index_body(std::string_view table, IndexLayout layout, int number) {
  assert(check_table_name(table));
  assert(number >= 1 && number <= kIndexCount);
  return named(table) + ",\"AttributeDefinitions\":[" +
         string_attribute(name_of(index_pk(number))) + ',' +
         string_attribute(name_of(index_sk(number))) +
         "],\"GlobalSecondaryIndexUpdates\":[{\"Create\":" + global_index(layout, number) + "}]}";
}

const TableIndex* TableState::index(std::string_view wanted) const {
  auto found = std::find_if(indexes.begin(), indexes.end(),
                            [&](const TableIndex& candidate) { return candidate.name == wanted; });
  return found == indexes.end() ? nullptr : &*found;
}

Result<TableState> read_table(std::string_view body) {
  dom::parser parser;
  dom::object document;
  if (auto error = parser.parse(body.data(), body.size()).get(document)) {
    return not_understood(simdjson::error_message(error));
  }
  Reader reader;
  std::optional<dom::object> described = reader.object(document, "Table");
  if (!described) described = reader.object(document, "TableDescription");
  if (!described) return not_understood("it has no Table");

  TableState table;
  table.name = reader.text(*described, "TableName");
  table.arn = reader.text(*described, "TableArn");
  table.status = reader.text(*described, "TableStatus");
  table.item_count = reader.number(*described, "ItemCount");
  table.size_bytes = reader.number(*described, "TableSizeBytes");
  if (std::optional<dom::object> billing = reader.object(*described, "BillingModeSummary")) {
    table.billing = reader.text(*billing, "BillingMode");
  }
  read_keys(reader, *described, table.hash, table.range);
  reader.each(*described, "AttributeDefinitions", [&](const dom::object& attribute) {
    table.key_types[reader.text(attribute, "AttributeName")] =
        reader.text(attribute, "AttributeType");
  });
  read_indexes(reader, *described, "GlobalSecondaryIndexes", false, table.indexes);
  read_indexes(reader, *described, "LocalSecondaryIndexes", true, table.indexes);
  if (std::optional<dom::object> stream = reader.object(*described, "StreamSpecification")) {
    if (reader.truth(*stream, "StreamEnabled")) {
      table.stream_view = reader.text(*stream, "StreamViewType");
    }
  }
  if (!reader.problem().empty()) return not_understood(reader.problem());
  if (table.status.empty()) return not_understood("it has no TableStatus");
  return table;
}

Result<ExpiryState> read_expiry(std::string_view body) {
  dom::parser parser;
  dom::object document;
  if (auto error = parser.parse(body.data(), body.size()).get(document)) {
    return not_understood(simdjson::error_message(error));
  }
  Reader reader;
  std::optional<dom::object> described = reader.object(document, "TimeToLiveDescription");
  if (!described) return not_understood("it has no TimeToLiveDescription");
  ExpiryState expiry;
  expiry.status = reader.text(*described, "TimeToLiveStatus");
  expiry.attribute = reader.text(*described, "AttributeName");
  if (!reader.problem().empty()) return not_understood(reader.problem());
  return expiry;
}

bool mendable(TableFlaw flaw) {
  switch (flaw) {
    case TableFlaw::kIndexMissing:
    case TableFlaw::kStreamOff:
    case TableFlaw::kExpiryOff: return true;
    case TableFlaw::kKeys:
    case TableFlaw::kIndexDiffers:
    case TableFlaw::kStreamDiffers:
    case TableFlaw::kExpiryDiffers: return false;
  }
  return false;
}

std::optional<IndexLayout> layout_of(const TableState& table) {
  const TableIndex* first = table.index(index_name(1));
  const TableIndex* second = table.index(index_name(2));
  if (first == nullptr) std::swap(first, second);
  if (first == nullptr) return std::nullopt;
  if (second != nullptr && first->projection != second->projection) return std::nullopt;
  if (first->projection == kAll) return IndexLayout::kCompatible;
  if (first->projection == kKeysOnly) return IndexLayout::kKeysOnly;
  return std::nullopt;
}

std::vector<TableProblem> find_problems(const TableState& table, const ExpiryState& expiry,
                                        std::string_view expiry_attribute,
                                        std::optional<IndexLayout> layout) {
  std::vector<TableProblem> problems;
  auto add = [&](TableFlaw flaw, std::string text) {
    problems.push_back(TableProblem{flaw, 0, std::move(text)});
  };
  if (!has_keys(table, table.hash, table.range, name_of(kPk), name_of(kSk))) {
    add(TableFlaw::kKeys, "the table has the keys " + keys_text(table.hash, table.range) +
                              " in place of the strings " + std::string(name_of(kPk)) + " and " +
                              std::string(name_of(kSk)));
  }
  if (!layout) layout = layout_of(table);
  for (int number = 1; number <= kIndexCount; ++number) {
    std::optional<TableProblem> problem = index_problem(table, number, layout);
    if (problem) problems.push_back(*std::move(problem));
  }
  if (table.stream_view.empty()) {
    add(TableFlaw::kStreamOff, "the stream is off");
  } else if (table.stream_view != kStreamView) {
    add(TableFlaw::kStreamDiffers,
        "the stream has " + table.stream_view + " in place of " + std::string(kStreamView));
  }
  if (!expiry.enabled()) {
    add(TableFlaw::kExpiryOff, "expiry (time to live) is off");
  } else if (expiry.attribute != expiry_attribute) {
    add(TableFlaw::kExpiryDiffers, "items expire by the attribute " + expiry.attribute +
                                       " in place of " + std::string(expiry_attribute));
  }
  return problems;
}

std::string not_active_yet(const TableState& table) {
  if (table.status != "ACTIVE") return "table " + table.status;
  for (const TableIndex& index : table.indexes) {
    // Servers other than the service may give an index no status.
    if (index.local || index.status.empty() || index.status == "ACTIVE") continue;
    return "index " + index.name + ' ' + index.status;
  }
  return {};
}

}  // namespace stint::store::dynamodb
