#include "cli/json_writer.h"

#include <nlohmann/json.hpp>

#include "cli/number_text.h"

namespace stint::cli {

void JsonWriter::raw(std::string_view text) {
  if (needs_comma_) text_ += ',';
  text_ += text;
  needs_comma_ = true;
}

void JsonWriter::open(char bracket) {
  raw(std::string_view(&bracket, 1));
  needs_comma_ = false;
}

void JsonWriter::close(char bracket) {
  text_ += bracket;
  needs_comma_ = true;
}

void JsonWriter::begin_object() { open('{'); }
void JsonWriter::end_object() { close('}'); }
void JsonWriter::begin_array() { open('['); }
void JsonWriter::end_array() { close(']'); }

void JsonWriter::key(std::string_view name) {
  value(name);
  text_ += ':';
  needs_comma_ = false;
}

void JsonWriter::value(std::nullptr_t) { raw("null"); }

void JsonWriter::value(std::string_view text) {
  raw(nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void JsonWriter::value(bool truth) { raw(truth ? "true" : "false"); }

void JsonWriter::value(double number) { raw(nlohmann::json(number).dump()); }

void JsonWriter::value(MilliTokens amount) { raw(format_amount(amount)); }

}  // namespace stint::cli
