// What can be said against a single item: whether it can be understood, and whether what it says
// can be so. Shared by the check of a store and by imports.
#ifndef STINT_SCHEMA_INSPECTION_H_
#define STINT_SCHEMA_INSPECTION_H_

#include <memory>
#include <string>
#include <vector>

#include "schema/bucket_item.h"
#include "schema/keys.h"
#include "stint/limit.h"
#include "stint/time.h"
#include "store/image.h"

namespace stint::schema {

struct Finding {
  /// The item cannot be understood: operations on it fail.
  bool is_corrupt = false;
  std::string what;
  std::string advice;
};

/// Inspects items one after the other. Remembers the shape of buckets, which mostly repeats.
class ItemInspector {
 public:
  /// `now`: instants far beyond it are findings.
  ItemInspector(ResetRule rule, TimePoint now) : rule_(rule), now_(now) {}

  /// Adds what is wrong with the item. Items of kinds that nobody knows are passed over.
  void inspect(const store::Image& item, std::vector<Finding>& findings);

 private:
  void inspect_bucket(const store::Image& item, std::vector<Finding>& findings);

  ResetRule rule_;
  TimePoint now_;
  std::shared_ptr<const BucketLayout> layout_;  // of the last bucket
  bucket::BucketState state_;
};

}  // namespace stint::schema

#endif  // STINT_SCHEMA_INSPECTION_H_
