// What the readers of replies and of errors share: one parser per thread, and items of the service
// read strictly. For this folder only.
#ifndef STINT_STORE_DYNAMODB_JSON_READER_H_
#define STINT_STORE_DYNAMODB_JSON_READER_H_

#include <simdjson.h>

#include <string>
#include <string_view>
#include <utility>

#include "store/image.h"
#include "store/value.h"

namespace stint::store::dynamodb {

/// What was wrong first. Everything read after a failure is empty.
class ReadState {
 public:
  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }
  void fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }

 private:
  std::string error_;
};

/// A failure for an element of another type than it should have.
void fail_type(ReadState& state, std::string_view what, std::string_view type);

/// Parses a whole document on this thread's parser. What is answered, with all views into it, is
/// good until the thread parses the next one. Fails for what is not UTF-8, not JSON, longer than
/// `kMaxReplyBytes` or nested too deeply.
simdjson::dom::element parse_json(std::string_view body, ReadState& state);

/// Calls `read(name, value)` for each member of an object, up to the first failure. `what` names
/// the object in failures, here and below.
template <typename Read>
void read_members(simdjson::dom::element from, std::string_view what, ReadState& state, Read read) {
  if (state.failed()) return;
  simdjson::dom::object object;
  if (from.get(object) != simdjson::SUCCESS) return fail_type(state, what, "an object");
  for (simdjson::dom::key_value_pair member : object) {
    read(member.key, member.value);
    if (state.failed()) return;
  }
}

/// The same with `read(element)` for each element of an array.
template <typename Read>
void read_elements(simdjson::dom::element from, std::string_view what, ReadState& state,
                   Read read) {
  if (state.failed()) return;
  simdjson::dom::array array;
  if (from.get(array) != simdjson::SUCCESS) return fail_type(state, what, "an array");
  for (simdjson::dom::element element : array) {
    read(element);
    if (state.failed()) return;
  }
}

std::string_view read_string(simdjson::dom::element from, std::string_view what, ReadState& state);

/// A map of named values, as keys are.
Value::Map read_values(simdjson::dom::element from, ReadState& state);

/// A whole item, or what an index holds of it: its key at least.
ImagePtr read_item(simdjson::dom::element from, ReadState& state);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_JSON_READER_H_
