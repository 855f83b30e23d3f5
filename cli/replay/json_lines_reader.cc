#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <utility>

#include "cli/replay/line_reader.h"
#include "cli/replay/row.h"

namespace stint::cli {
namespace {

namespace dom = simdjson::dom;

static_assert(LineReader::kPadding >= simdjson::SIMDJSON_PADDING);

constexpr std::string_view kAmountsField = "consume";

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r") == std::string_view::npos;
}

class JsonLinesReader final : public RowReader {
 public:
  JsonLinesReader(ByteSource& source, std::vector<std::string> fields, bool own_amounts)
      : lines_(source),
        fields_(std::move(fields)),
        own_amounts_(own_amounts),
        digits_(fields_.size()),
        tokens_(fields_.size()) {}

  Outcome next(Row& row) override {
    LineReader::Outcome outcome;
    do {
      outcome = lines_.next();
    } while (outcome == LineReader::Outcome::kLine && is_blank(lines_.text()));
    row.line = lines_.line();
    if (auto none = without_line(outcome, lines_, row.problem)) return *none;
    row.problem.clear();
    read_object(row);
    return row.problem.empty() ? Outcome::kRow : Outcome::kMalformed;
  }

  std::uint64_t position() const override { return lines_.position(); }

 private:
  void read_object(Row& row) {
    row.fields.assign(fields_.size(), std::nullopt);
    row.consume.clear();
    const std::string_view text = lines_.text();
    dom::element document;
    // The reader's buffer is padded, so that the parser need not copy the line.
    if (const auto error = parser_.parse(text.data(), text.size(), false).get(document)) {
      row.problem = std::string("is not JSON: ") + simdjson::error_message(error);
      return;
    }
    dom::object object;
    if (document.get(object) != simdjson::SUCCESS) {
      row.problem = "is not a JSON object";
      return;
    }
    bool amounts_seen = false;
    for (const dom::key_value_pair pair : object) {
      for (std::size_t i = 0; i < fields_.size(); ++i) {
        if (pair.key != fields_[i]) continue;
        if (row.fields[i]) {
          row.problem = "has the field " + fields_[i] + " twice";
          return;
        }
        if (!read_field(row, i, pair.value)) return;
      }
      if (own_amounts_ && pair.key == kAmountsField) {
        if (std::exchange(amounts_seen, true)) {
          row.problem = "has the field consume twice";
          return;
        }
        if (!read_amounts(row, pair.value)) return;
      }
    }
    if (own_amounts_ && !amounts_seen) row.problem = "has no field consume";
  }

  bool read_field(Row& row, std::size_t index, dom::element value) {
    switch (value.type()) {
      case dom::element_type::STRING:
        row.fields[index] = value.get_string().value_unsafe();
        return true;
      case dom::element_type::INT64:
        row.fields[index] = digits_of(value.get_int64().value_unsafe(), digits_[index]);
        return true;
      case dom::element_type::UINT64:
        row.fields[index] = digits_of(value.get_uint64().value_unsafe(), digits_[index]);
        return true;
      case dom::element_type::DOUBLE: return read_token(row, index);
      case dom::element_type::NULL_VALUE: return true;
      default:
        row.problem = "has a field " + fields_[index] + " that is neither text nor a number";
        return false;
    }
  }

  // A number with a fraction, as it is written: a double may be the next thousandth already.
  bool read_token(Row& row, std::size_t index) {
    namespace ondemand = simdjson::ondemand;
    const std::string_view text = lines_.text();
    ondemand::document document;
    ondemand::object object;
    auto error = exact_parser_.iterate(text.data(), text.size(), text.size() + LineReader::kPadding)
                     .get(document);
    if (!error) error = document.get_object().get(object);
    if (!error) {
      for (auto field : object) {
        std::string_view key;
        if (field.unescaped_key().get(key) != simdjson::SUCCESS) break;
        if (key != fields_[index]) continue;
        ondemand::value value;
        if (field.value().get(value) != simdjson::SUCCESS) break;
        const std::string_view token = value.raw_json_token();
        tokens_[index] = token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
        row.fields[index] = tokens_[index];
        return true;
      }
    }
    row.problem = "has a field " + fields_[index] + " that cannot be read";
    return false;
  }

  bool read_amounts(Row& row, dom::element value) {
    dom::object amounts;
    if (value.get(amounts) != simdjson::SUCCESS) {
      row.problem = "has a field consume that is not an object of limits and amounts";
      return false;
    }
    amount_digits_.resize(std::max(amount_digits_.size(), amounts.size()));
    std::size_t index = 0;
    for (const dom::key_value_pair pair : amounts) {
      Digits& digits = amount_digits_[index++];
      if (pair.value.is<std::int64_t>()) {
        row.consume.push_back({pair.key, digits_of(pair.value.get_int64().value_unsafe(), digits)});
      } else {
        row.problem = "has an amount of " + std::string(pair.key) + " that is no whole number";
        return false;
      }
    }
    return true;
  }

  using Digits = std::array<char, 24>;

  template <typename Integer>
  static std::string_view digits_of(Integer number, Digits& digits) {
    const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return {digits.data(), static_cast<std::size_t>(end - digits.data())};
  }

  LineReader lines_;
  std::vector<std::string> fields_;
  bool own_amounts_;
  dom::parser parser_;
  simdjson::ondemand::parser exact_parser_;
  std::vector<Digits> digits_;
  std::vector<std::string> tokens_;
  std::vector<Digits> amount_digits_;
};

}  // namespace

std::unique_ptr<RowReader> make_json_lines_reader(ByteSource& source,
                                                  const std::vector<std::string>& fields,
                                                  bool own_amounts) {
  return std::make_unique<JsonLinesReader>(source, fields, own_amounts);
}

}  // namespace stint::cli
