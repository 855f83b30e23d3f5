// JSON output. Amounts are written as exact decimals, which a number of type double cannot hold.
#ifndef STINT_CLI_JSON_WRITER_H_
#define STINT_CLI_JSON_WRITER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stint/amount.h"
#include "stint/time.h"

namespace stint::cli {

/// Writes one value on one line, members in the order of the calls:
///
///     JsonWriter json;
///     json.begin_object();
///     json.member("name", "rpm");
///     json.member("remaining", MilliTokens(1500));
///     json.end_object();
///     out << json.text() << '\n';
class JsonWriter {
 public:
  void begin_object();
  void end_object();
  void begin_array();
  void end_array();
  /// The name of the member whose value the next call writes.
  void key(std::string_view name);

  void value(std::nullptr_t);
  /// Bytes that are not UTF-8 are replaced.
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(bool truth);
  template <WholeNumber Integer>
  void value(Integer number) {
    raw(std::to_string(number));
  }
  /// With the fewest digits that read back the same.
  void value(double number);
  /// In tokens, with at most three digits after the point.
  void value(MilliTokens amount);
  void value(Tokens amount) { value(amount.count()); }
  void value(Millis duration) { value(duration.count()); }
  /// Milliseconds since 1970.
  void value(TimePoint at) { value(at.time_since_epoch().count()); }
  template <typename T>
  void value(const std::optional<T>& content) {
    if (content) {
      value(*content);
    } else {
      value(nullptr);
    }
  }

  /// A text that is JSON already.
  void value_of_json(std::string_view json) { raw(json); }

  template <typename T>
  void member(std::string_view name, const T& content) {
    key(name);
    value(content);
  }

  const std::string& text() const { return text_; }

 private:
  void raw(std::string_view text);
  void open(char bracket);
  void close(char bracket);

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace stint::cli

#endif  // STINT_CLI_JSON_WRITER_H_
