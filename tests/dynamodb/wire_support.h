// Items as the service's protocol can carry them: texts are UTF-8.
#ifndef STINT_TESTS_DYNAMODB_WIRE_SUPPORT_H_
#define STINT_TESTS_DYNAMODB_WIRE_SUPPORT_H_

#include <rapidcheck.h>

#include <string>
#include <utility>
#include <vector>

#include "store/dynamo_json.h"
#include "store/image.h"
#include "store/value.h"

namespace stint::test {

/// Any text, of characters of one to four bytes.
inline std::string any_utf8() {
  std::string text;
  int length = *rc::gen::inRange(0, 8);
  for (int i = 0; i < length; ++i) {
    text += *rc::gen::weightedOneOf<std::string>(
        {{4, rc::gen::map(rc::gen::inRange(0x20, 0x7f),
                          [](int c) { return std::string(1, static_cast<char>(c)); })},
         {1, rc::gen::map(rc::gen::inRange(0, 0x20),
                          [](int c) { return std::string(1, static_cast<char>(c)); })},
         {1, rc::gen::element<std::string>("\x7f", "\"", "\\", "/", "\xc2\x80", "\xc3\xa9",
                                           "\xdf\xbf", "\xe2\x82\xac", "\xef\xbf\xbf",
                                           "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf")}});
  }
  return text;
}

inline std::string any_number_text() {
  return *rc::gen::element<std::string>(
      "0.5", "-12.25", "1E+10", "1.0", "99999999999999999999999999999999999999", "1e125", "-1e-130",
      "9223372036854775808", "0", "7", "-9223372036854775808");
}

inline std::string any_bytes() {
  return *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
}

inline store::Value any_wire_value(int depth) {
  using store::Value;
  int kind = *rc::gen::inRange(0, depth > 0 ? 11 : 9);
  switch (kind) {
    case 0: return Value::number(*rc::gen::arbitrary<std::int64_t>());
    case 1: return Value::string(any_utf8());
    case 2: return Value::boolean(*rc::gen::arbitrary<bool>());
    case 3: return Value::null();
    case 4: return Value::number_text(any_number_text());
    case 5: return Value::string_set({any_utf8(), "x" + any_utf8()});
    case 6: return Value::binary(any_bytes());
    case 7: return Value::number_set({any_number_text(), any_number_text()});
    case 8: return Value::binary_set({any_bytes(), any_bytes()});
    default: break;
  }
  int size = *rc::gen::inRange(0, 4);
  if (kind == 9) {
    Value::List list;
    for (int i = 0; i < size; ++i) list.push_back(any_wire_value(depth - 1));
    return Value::list(std::move(list));
  }
  Value::Map map;
  for (int i = 0; i < size; ++i) map.insert_or_assign(any_utf8(), any_wire_value(depth - 1));
  return Value::map(std::move(map));
}

inline store::ImagePtr any_wire_item() {
  store::ImageBuilder builder(store::Key("p" + any_utf8(), "s" + any_utf8()));
  int size = *rc::gen::inRange(0, 12);
  for (int i = 0; i < size; ++i) {
    builder.set(store::intern("wire attribute \"" + std::to_string(*rc::gen::inRange(0, 20))),
                any_wire_value(3));
  }
  return builder.build();
}

}  // namespace stint::test

#endif  // STINT_TESTS_DYNAMODB_WIRE_SUPPORT_H_
