// Items that the other package wrote, kept beside the repository (see their README).
#ifndef STINT_TESTS_SUPPORT_REFERENCE_ITEMS_H_
#define STINT_TESTS_SUPPORT_REFERENCE_ITEMS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/image.h"

namespace stint::test {

/// The whole table after one step.
struct ReferenceStep {
  std::string after;
  std::vector<store::ImagePtr> items;
};

/// All steps in order. Nothing when the folder is not there: its place is the environment's
/// STINT_SHARED, else `../shared` beside the source tree. A folder whose file cannot be read
/// fails the calling test.
std::optional<std::vector<ReferenceStep>> reference_steps();

/// An item from its DynamoDB JSON. A text that is none fails the calling test.
store::ImagePtr item_of(std::string_view dynamo_json);

/// The attributes of an item for messages; equal for equal items.
std::string shown(const store::ImagePtr& item);

}  // namespace stint::test

#endif  // STINT_TESTS_SUPPORT_REFERENCE_ITEMS_H_
