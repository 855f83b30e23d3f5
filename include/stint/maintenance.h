// Care of a store: what it holds, whether it is sound, backups, and moving items between stores.
// All functions are thread-safe and may be used while limiters use the store, unless said
// otherwise. None of them takes a deadline: they run until they are done or told to stop.
#ifndef STINT_MAINTENANCE_H_
#define STINT_MAINTENANCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "stint/export.h"
#include "stint/result.h"
#include "stint/store.h"
#include "stint/store_report.h"
#include "stint/time.h"

namespace stint {

struct InspectOptions {
  /// Read every item to count it: one request for 1,000 items. Otherwise two requests in all.
  bool count_items = true;
  /// The instant by which items have expired; absent: the system's clock.
  std::optional<TimePoint> now;
  OnProgress on_progress;
};

/// What a store is and holds. Errors: as of any request.
STINT_EXPORT Result<StoreInfo> inspect_store(const Store& store,
                                             const InspectOptions& options = {});

struct CheckOptions {
  /// Called for every problem as it is found, on the calling thread. Must not throw.
  std::function<void(const StoreProblem&)> on_problem;
  std::optional<TimePoint> now;
  OnProgress on_progress;
};

/// Looks for what should not be: items that cannot be read or understood, values out of bounds,
/// keys that disagree with attributes, indexes that disagree with items, and lists that miss what
/// they should name. Changes nothing.
///
/// Reads every item and every index entry once, one request for 1,000 of them. Where an index does
/// not agree with the items as a whole, both are read once more, and what seems to differ is looked
/// at: for each difference about one in 4,096 of the entries, 100 in a request, and as many of the
/// items, each in a request of its own. Memory does not grow with the number of items. In a store
/// that others write to meanwhile, items that come or go while the check is under way are such
/// differences, and a problem of an index or a list may be a change that was under way: check
/// again, or check a backup. Errors: as of any request.
STINT_EXPORT Result<CheckReport> check_store(const Store& store, const CheckOptions& options = {});

/// Writes a copy of a durable store into a directory, which must not exist or be empty. The copy is
/// a store of its own: it holds every write that was acknowledged before the call and a prefix, in
/// their order, of those that come meanwhile. Writers wait for a moment only. Files are shared with
/// the store by hard links where both are on one file system, and copied otherwise.
///
/// It is made under another name beside the directory and renamed at the end; what an interrupted
/// backup leaves behind is removed by the next one of the same name. Errors: `kExists` for a
/// directory that is not empty, `kInvalidArgument` for a store that has no files, `kUnavailable`
/// with what the file system says.
STINT_EXPORT Status backup_store(const Store& store, const std::string& directory);

/// Some lines of an export, and where it stands behind them.
struct ExportPage {
  /// Whole lines, each an item in DynamoDB's JSON form and a line end; valid during the call. The
  /// first line of an export from the beginning is the store's own record, except for DynamoDB.
  std::string_view lines;
  std::uint64_t items = 0;
  /// What could not be read and is missing.
  const std::vector<StoreProblem>& unreadable;
  /// Give this as `start` to go on behind this page; empty: there is no more.
  const std::string& next;
};

struct ExportOptions {
  ItemForm form = ItemForm::kAsStored;
  /// Where an earlier export of the same store stopped; empty: from the beginning.
  std::string start;
  OnProgress on_progress;
};

/// Hands every item to `sink`, about a thousand at a time, as lines of text, on the calling thread.
/// An error of the sink ends the export and is passed on; so does an exception.
///
/// In a store that others write to meanwhile, each item is as it stood when its page was read; for
/// one instant of the whole, export a backup. Items that cannot be read are reported and left out.
/// Errors: `kInvalidArgument` for a start that cannot be one; whether it is of this store is not
/// known, and another's may pass over items. As of any request.
STINT_EXPORT Result<ExportReport> export_items(const Store& store,
                                               const std::function<Status(const ExportPage&)>& sink,
                                               const ExportOptions& options = {});

struct ImportOptions {
  /// Go on with an import that was interrupted. The lines must be given from the first on: those
  /// that are done are compared with what was given then, and not written again.
  bool resume = false;
  /// Also into a store that holds items: those of the import replace items of equal key, the others
  /// stay. The last of several lines of equal key counts. An unfinished import is in the way all
  /// the same: resume or abandon it.
  bool replace = false;
  /// Also from a store with other settings; those of the target stay.
  bool other_settings = false;
  /// Check every line by itself, write nothing. Not tried is what depends on other lines or on the
  /// items of the target: lines of equal key, namespaces that the target has under another id. A
  /// target that holds items is reported only.
  bool dry_run = false;
  /// What the lines come from, for people who find an unfinished import.
  std::string source;
};

/// Takes the lines of an export into a store. How far it is stands in the store itself, so that an
/// interrupted import can be resumed and is not taken for a whole one. Belongs to one thread.
///
///     Importer importer = Importer::start(store, {}).value();
///     for (std::string line; std::getline(file, line);) importer.add(line).value();
///     importer.finish().value();
class STINT_EXPORT Importer {
 public:
  /// Errors: `kExists` for a store that holds items, without `resume`, `replace` or `dry_run`, and
  /// for one with an unfinished import, without `resume`; `kNotFound` with `resume` where there is
  /// nothing to resume. Up to three requests.
  static Result<Importer> start(const Store& store, const ImportOptions& options = {});
  Importer(Importer&& other) noexcept;
  Importer& operator=(Importer&& other) noexcept;
  /// Leaves an import that is not finished to be resumed.
  ~Importer();

  /// Takes the next line, without its line end; blank lines are passed over. Lines are written
  /// some hundred at a time, in one batch. Buckets gain or lose the reserved limit `wcu` as the
  /// target needs it. Nothing is written for a line that is refused. The first error ends the
  /// import: it is answered from then on, by `finish` too, and what is written waits to be resumed.
  /// Only a dry run goes on behind it.
  ///
  /// Errors: `kInvalidArgument`, naming the line: not an item of a store, or more than an item may
  /// be; `kExists`, naming the line: another item has this key; `kVersionMismatch`: the lines come
  /// from a store with other settings; as of any request.
  Status add(std::string_view line);

  /// Writes what is left and marks the import as done. Nothing may be added afterwards.
  /// Errors: as of `add`; `kInvalidArgument` when a resumed import had fewer lines than were done.
  Result<ImportReport> finish();

  /// So far.
  const ImportReport& report() const;

 private:
  struct Impl;
  explicit Importer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Gives up an unfinished import: the store holds what was written of it, and is no longer marked
/// as holding a part. Errors: `kNotFound` where there is none; as of any request. Two requests.
STINT_EXPORT Status abandon_import(const Store& store);

/// The settings of the store that an export came from, by its first line; nothing when that is
/// another item. Errors: `kInvalidArgument` for a line that is no item.
STINT_EXPORT Result<std::optional<StoreSettings>> exported_settings(std::string_view first_line);

}  // namespace stint

#endif  // STINT_MAINTENANCE_H_
