#include "model/names.h"

#include <array>
#include <string>

namespace stint::model {
namespace {

constexpr bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
constexpr bool is_alphanumeric(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

/// Ids are checked with every call: a table is quicker than comparisons.
constexpr std::array<bool, 256> kAlphanumeric = [] {
  std::array<bool, 256> table{};
  for (int c = 0; c < 128; ++c) {
    table[static_cast<std::size_t>(c)] = is_alphanumeric(static_cast<char>(c));
  }
  return table;
}();

// 1 to `longest` of letters, digits and `punctuation`, the first a letter or, if allowed, a digit.
Status validate(std::string_view field, std::string_view text, std::size_t longest,
                bool digit_first, std::string_view punctuation) {
  auto refuse = [&](std::string reason) {
    return Error::invalid(std::string(field), text, std::move(reason));
  };
  if (text.empty()) return refuse("must not be empty");
  if (text.size() > longest) {
    return refuse("longer than " + std::to_string(longest) + " characters");
  }
  if (!is_letter(text.front()) && !(digit_first && is_alphanumeric(text.front()))) {
    return refuse(digit_first ? "must begin with an ASCII letter or digit"
                              : "must begin with an ASCII letter");
  }
  for (char c : text) {
    if (!kAlphanumeric[static_cast<unsigned char>(c)] &&
        punctuation.find(c) == std::string_view::npos) {
      return refuse("only ASCII letters, digits and " + std::string(punctuation) + " are allowed");
    }
  }
  return {};
}

Status refuse_controls(std::string_view field, std::string_view text) {
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      return Error::invalid(std::string(field), text, "must not hold control characters");
    }
  }
  return {};
}

}  // namespace

Status validate_entity_id(std::string_view field, std::string_view id) {
  return validate(field, id, 256, true, "_-.:@");
}

Status validate_resource(std::string_view resource) {
  // Registries name an attribute by the resource; these are the names of keys.
  static constexpr std::string_view kKeys[] = {"PK",     "SK",     "GSI1PK", "GSI1SK", "GSI2PK",
                                               "GSI2SK", "GSI3PK", "GSI3SK", "GSI4PK", "GSI4SK"};
  for (std::string_view key : kKeys) {
    if (resource == key) {
      return Error::invalid("resource", resource, "reserved for the keys of the table");
    }
  }
  return validate("resource", resource, 64, false, "_-./:");
}

Status validate_limit_name(std::string_view name) {
  if (name == kWriteCapacityLimit) {
    return Error::invalid("limit.name", name, "reserved for the write capacity of a partition");
  }
  return validate("limit.name", name, 64, false, "_-.");
}

Status validate_principal(std::string_view principal) {
  // Names of people and programs in the cloud are none of ours to judge.
  if (!principal.starts_with("arn:")) return validate_entity_id("principal", principal);
  if (principal.size() > 2048) {
    return Error::invalid("principal", principal, "longer than 2048 bytes");
  }
  return refuse_controls("principal", principal);
}

Status validate_namespace(std::string_view name) {
  if (name.empty()) return Error::invalid("namespace", name, "must not be empty");
  if (name.size() > 255) return Error::invalid("namespace", name, "longer than 255 bytes");
  if (name == "_") return Error::invalid("namespace", name, "reserved for the store's own records");
  return refuse_controls("namespace", name);
}

}  // namespace stint::model
