// Items out of a store and into one, as lines of DynamoDB's JSON.
#ifndef STINT_OPS_TRANSFER_H_
#define STINT_OPS_TRANSFER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"
#include "schema/inspection.h"
#include "schema/records.h"
#include "stint/result.h"
#include "stint/store_report.h"
#include "stint/time.h"
#include "store/engine.h"
#include "store/image.h"

namespace stint::ops {

/// What one page of a table gives of an export.
struct ExportedPage {
  std::string lines;
  std::uint64_t items = 0;
  std::vector<StoreProblem> unreadable;
  std::string next;  // empty: that was all
};

/// The page at `start`; an empty start begins with the store's own record, which `record` stands in
/// for where the table has none. One request, and one more at the beginning.
Op<Result<ExportedPage>> export_page(const std::string& start, ItemForm form,
                                     schema::StoreRecord record);

/// A line of an import that was found good.
struct ImportLine {
  std::uint64_t number = 0;
  store::ImagePtr item;
  schema::ItemKind kind = schema::ItemKind::kOther;
};

/// Reads lines into items of a target, refusing what must not stand in a store.
class LineChecker {
 public:
  LineChecker(const store::Capabilities& target, const schema::StoreRecord& target_record,
              bool other_settings, TimePoint now)
      : target_(&target),
        target_record_(target_record),
        other_settings_(other_settings),
        inspector_(target_record.reset_rule, now) {}

  /// The item as the target needs it; nothing for a record of the source store itself, which has
  /// been compared with the target's. Errors: as of `Importer::add`.
  Result<std::optional<ImportLine>> check(std::uint64_t number, std::string_view line);

 private:
  Status check_settings(const store::Image& item) const;

  const store::Capabilities* target_;
  schema::StoreRecord target_record_;
  bool other_settings_;
  schema::ItemInspector inspector_;
  std::vector<schema::Finding> findings_;
};

struct ImportTarget {
  bool holds_items = false;
  std::optional<schema::ImportRecord> unfinished;
};
/// Whether the store is fit for an import. At most two requests.
Op<Result<ImportTarget>> inspect_target();

struct BatchTally {
  std::uint64_t written = 0;
  std::uint64_t already_there = 0;
};

/// Writes items and the record of the import, which may only speak of earlier lines. `replace`:
/// also over items that are there, but the lists of a namespace gain what is new instead, which
/// costs a request for each listed resource and each item of an entity's limits. All requests go
/// out together; those of good lines are done even where others fail. Errors name the line.
Op<Result<BatchTally>> import_batch(std::span<const ImportLine> lines,
                                    const schema::ImportRecord& progress, bool replace);

/// Removes the record of an import. One request.
Op<Status> finish_import();

/// Reads the store's own record from the first line of an export, if it is that.
Result<std::optional<schema::StoreRecord>> exported_record(std::string_view line);

}  // namespace stint::ops

#endif  // STINT_OPS_TRANSFER_H_
