#include "cli/store_address.h"

#include <optional>
#include <utility>

namespace stint::cli {
namespace {

constexpr std::string_view kMemory = "memory:";
constexpr std::string_view kTable = "dynamodb:";
constexpr std::string_view kTableForm =
    "must be dynamodb://TABLE?region=R&endpoint=URL&profile=P, parameters as needed";

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// Nothing where a % is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded += text[at];
      continue;
    }
    std::optional<int> high = at + 1 < text.size() ? hex_digit(text[at + 1]) : std::nullopt;
    std::optional<int> low = at + 2 < text.size() ? hex_digit(text[at + 2]) : std::nullopt;
    if (!high || !low) return std::nullopt;
    decoded += static_cast<char>(*high * 16 + *low);
    at += 2;
  }
  return decoded;
}

// What is wrong may be a password in a wrong place: no error shows more than words of ours.
Error invalid(std::string reason) { return Error::invalid("store", "", std::move(reason)); }

Error bad_percent(std::string_view part) {
  return Error::invalid("store", part, "has a % that two hexadecimal digits do not follow");
}

std::string* parameter(DynamoDbOptions& options, std::string_view name) {
  if (name == "region") return &options.region;
  if (name == "endpoint") return &options.endpoint;
  if (name == "profile") return &options.profile;
  return nullptr;
}

Status read_parameter(DynamoDbOptions& options, std::string_view text) {
  std::size_t equals = text.find('=');
  std::string_view name = text.substr(0, equals);
  std::string* value = parameter(options, name);
  if (value == nullptr) {
    return invalid(
        "holds what is no parameter of a table; there are region, endpoint and profile, and an & "
        "within a value is written %26");
  }
  if (equals == std::string_view::npos || equals + 1 == text.size()) {
    return Error::invalid("store", name,
                          "has no value; leave it out or write " + std::string(name) + "=VALUE");
  }
  if (!value->empty()) return Error::invalid("store", name, "is given twice");
  std::optional<std::string> decoded = percent_decoded(text.substr(equals + 1));
  if (!decoded) return bad_percent(name);
  *value = *std::move(decoded);
  return {};
}

Result<StoreAddress> parse_table(std::string_view text) {
  std::string_view rest = text.substr(kTable.size());
  if (rest.substr(0, rest.find('?')).find('@') != std::string_view::npos) {
    return invalid("must not hold a user or password; keys come from the environment or a profile");
  }
  if (rest.substr(0, 2) != "//") return invalid(std::string(kTableForm));
  rest.remove_prefix(2);
  std::size_t question = rest.find('?');
  std::string_view name = rest.substr(0, question);
  // A trailing slash is what many programs add to an address without a path.
  if (!name.empty() && name.back() == '/') name.remove_suffix(1);
  DynamoDbOptions options;
  std::optional<std::string> table = percent_decoded(name);
  if (!table) return bad_percent("TABLE");
  if (table->empty()) {
    return invalid("names no table; " + std::string(kTableForm));
  }
  if (question == std::string_view::npos && table->find('&') != std::string::npos) {
    return invalid(
        "has an & in the table's name; parameters begin with ?, and & stands between "
        "them");
  }
  if (table->find_first_of("/:#@") != std::string::npos) {
    return invalid("has a character that no name of a table has; " + std::string(kTableForm));
  }
  options.table = *std::move(table);
  if (question == std::string_view::npos) return StoreAddress(std::move(options));
  for (std::string_view list = rest.substr(question + 1); !list.empty();) {
    std::size_t end = list.find('&');
    if (Status read = read_parameter(options, list.substr(0, end)); !read) return read.error();
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  }
  return StoreAddress(std::move(options));
}

}  // namespace

Result<StoreAddress> parse_store_address(std::string_view text) {
  if (text == kMemory) return StoreAddress(InMemory{});
  if (text.substr(0, kTable.size()) == kTable) return parse_table(text);
  if (text.find("://") != std::string_view::npos || text.substr(0, kMemory.size()) == kMemory) {
    std::string_view scheme = text.substr(0, text.find(':') + 1);
    return Error::invalid("store", scheme, "must be a directory, memory: or dynamodb://TABLE");
  }
  return StoreAddress(Directory{std::string(text)});
}

}  // namespace stint::cli
