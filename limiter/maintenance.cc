#include "stint/maintenance.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "limiter/driver.h"
#include "limiter/store_handle.h"
#include "limiter/system_clock.h"
#include "ops/check.h"
#include "ops/survey.h"
#include "ops/transfer.h"
#include "schema/entity_item.h"

namespace stint {
namespace {

// So many lines, or so many bytes of items, are written together: enough to share the cost of a
// write, and little to do again after an interruption.
constexpr std::size_t kBatchLines = 500;
constexpr std::int64_t kBatchBytes = std::int64_t{1} << 20;

// Runs an operation that may take as long as it takes.
template <typename T>
T run_unhurried(StoreHandle& handle, ops::Op<T> op) {
  return limiter::run_alone(*handle.engine, handle.queues, std::move(op),
                            std::chrono::steady_clock::time_point::max());
}

TimePoint instant_or_now(const std::optional<TimePoint>& at) {
  return at ? *at : limiter::SystemClock().now();
}

StoreSettings settings_of(const schema::StoreRecord& record) {
  StoreSettings settings;
  settings.format = record.format_version;
  settings.reset_rule = record.reset_rule;
  settings.layout = schema::to_string(record.layout);
  settings.burst_tolerance_divisor = record.burst_tolerance_divisor;
  return settings;
}

}  // namespace

Result<StoreInfo> inspect_store(const Store& store, const InspectOptions& options) {
  StoreHandle& handle = *store.handle();
  Result<store::EngineState> state = handle.engine->state();
  if (!state) return state.error();
  StoreInfo info;
  info.kind = state->kind;
  info.location = state->location;
  info.durability = state->durability;
  info.settings = settings_of(handle.record);
  info.disk_bytes = state->disk_bytes;
  info.estimated_records = state->estimated_records;
  auto unfinished = run_unhurried(handle, ops::find_unfinished_import());
  if (!unfinished) return unfinished.error();
  info.unfinished_import = *std::move(unfinished);
  if (!options.count_items) return info;
  Result<StoreCounts> counts =
      run_unhurried(handle, ops::count_items(instant_or_now(options.now), options.on_progress));
  if (!counts) return counts.error();
  info.counts = *std::move(counts);
  return info;
}

Result<CheckReport> check_store(const Store& store, const CheckOptions& options) {
  StoreHandle& handle = *store.handle();
  ops::CheckSettings settings{handle.record.reset_rule, instant_or_now(options.now),
                              options.on_problem, options.on_progress};
  return run_unhurried(handle, ops::check_store(settings));
}

Status backup_store(const Store& store, const std::string& directory) {
  if (directory.empty()) return Error::invalid("directory", "", "must not be empty");
  return store.handle()->engine->backup(directory);
}

Result<ExportReport> export_items(const Store& store,
                                  const std::function<Status(const ExportPage&)>& sink,
                                  const ExportOptions& options) {
  StoreHandle& handle = *store.handle();
  ExportReport report;
  for (std::string start = options.start;;) {
    Result<ops::ExportedPage> page =
        run_unhurried(handle, ops::export_page(start, options.form, handle.record));
    if (!page) return page.error();
    report.items += page->items;
    report.unreadable += page->unreadable.size();
    if (Status taken = sink(ExportPage{page->lines, page->items, page->unreadable, page->next});
        !taken) {
      return taken.error();
    }
    if (page->next.empty()) return report;
    start = std::move(page->next);
    if (options.on_progress && !options.on_progress({"items", report.items})) {
      report.complete = false;
      return report;
    }
  }
}

struct Importer::Impl {
  Impl(Store target, const ImportOptions& import_options)
      : store(std::move(target)),
        options(import_options),
        checker(store.handle()->engine->capabilities(), store.handle()->record,
                import_options.other_settings, limiter::SystemClock().now()) {}

  StoreHandle& handle() { return *store.handle(); }

  // Lines of an earlier run: compared as a whole with what was given then.
  Status pass_over(std::string_view line) {
    digest.add(line);
    digest.add("\n");
    ++line_number;
    if (line_number < lines_done) return Status();
    if (digest.text() == written.digest) {
      report.resumed = lines_done;
      return Status();
    }
    return Error::invalid("source", options.source,
                          "its first " + std::to_string(lines_done) +
                              " lines are not those of the unfinished import of " + written.source +
                              "; give that, or start over");
  }

  // Takes one line. The caller remembers an error.
  Status take(std::string_view line) {
    if (line_number < lines_done) return pass_over(line);
    Result<std::optional<ops::ImportLine>> checked = checker.check(line_number + 1, line);
    ++line_number;
    digest.add(line);
    digest.add("\n");
    if (!checked) return checked.error();
    if (!*checked) {
      bool blank = line.find_first_not_of(" \t\r") == std::string_view::npos;
      if (!blank) ++report.left_out;
      return Status();
    }
    ++report.lines;
    if (options.dry_run) {
      ++report.written;
      return Status();
    }
    batch_bytes += (*checked)->item->size_bytes();
    batch.push_back(*std::move(*checked));
    if (batch.size() < kBatchLines && batch_bytes < kBatchBytes) return Status();
    return flush();
  }

  Status write_rest() {
    if (line_number < lines_done) {
      return Error::invalid("source", options.source,
                            "has " + std::to_string(line_number) + " lines, and " +
                                std::to_string(lines_done) + " were imported before");
    }
    if (Status flushed = flush(); !flushed) return flushed;
    return run_unhurried(handle(), ops::finish_import());
  }

  Status flush() {
    if (batch.empty() && started) return Status();
    std::span<const ops::ImportLine> lines(batch);
    // Before the outcome is known: a write that failed may have been done all the same.
    report.begun = true;
    if (!started) {
      // Before the first item, so that what an interruption leaves is known for what it is.
      Result<ops::BatchTally> begun =
          run_unhurried(handle(), ops::import_batch(lines.first(0), written, options.replace));
      if (!begun) return begun.error();
    }
    Result<ops::BatchTally> tally =
        run_unhurried(handle(), ops::import_batch(lines, written, options.replace));
    if (!tally) return tally.error();
    started = true;
    report.written += tally->written;
    report.already_there += tally->already_there;
    // Only the next write may say that these are there: they are now.
    written.lines = static_cast<std::int64_t>(line_number);
    written.digest = digest.text();
    batch.clear();
    batch_bytes = 0;
    return Status();
  }

  Store store;
  ImportOptions options;
  ops::LineChecker checker;
  ImportReport report;
  Digest digest;  // of all lines so far
  std::uint64_t line_number = 0;
  std::uint64_t lines_done = 0;  // by an earlier run
  schema::ImportRecord written;  // what the store may say now
  bool started = false;          // whether the store says so
  // What ended the import. Lines behind it would leave a hole that nobody knows of.
  std::optional<Error> failed;
  std::vector<ops::ImportLine> batch;
  std::int64_t batch_bytes = 0;
};

Importer::Importer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Importer::Importer(Importer&& other) noexcept = default;
Importer& Importer::operator=(Importer&& other) noexcept = default;
Importer::~Importer() = default;

Result<Importer> Importer::start(const Store& store, const ImportOptions& options) {
  auto impl = std::make_unique<Impl>(store, options);
  impl->written.source = options.source;
  impl->written.started_at = schema::iso_seconds(limiter::SystemClock().now());
  impl->written.digest = impl->digest.text();
  Result<ops::ImportTarget> target = run_unhurried(impl->handle(), ops::inspect_target());
  if (!target) return target.error();
  if (options.resume) {
    if (!target->unfinished) {
      return Error(ErrorCode::kNotFound, "there is no unfinished import in this store to resume");
    }
    impl->written = *std::move(target->unfinished);
    impl->lines_done = static_cast<std::uint64_t>(std::max<std::int64_t>(impl->written.lines, 0));
    impl->started = true;
    impl->report.begun = true;
  } else if (target->unfinished) {
    // Also where items may be replaced: another import, once done, would declare this one done.
    return Error(ErrorCode::kExists,
                 "the store holds the first " + std::to_string(target->unfinished->lines) +
                     " lines of an unfinished import of " + target->unfinished->source +
                     "; resume it, abandon it, or make another store");
  } else if (target->holds_items && !options.replace && !options.dry_run) {
    return Error(ErrorCode::kExists, "the store holds items already; import into an empty one");
  }
  impl->report.target_holds_items = target->holds_items;
  return Importer(std::move(impl));
}

Status Importer::add(std::string_view line) {
  Impl& impl = *impl_;
  if (impl.failed) return *impl.failed;
  Status taken = impl.take(line);
  if (!taken && !impl.options.dry_run) impl.failed = taken.error();
  return taken;
}

Result<ImportReport> Importer::finish() {
  Impl& impl = *impl_;
  if (impl.failed) return *impl.failed;
  if (impl.options.dry_run) return impl.report;
  if (Status done = impl.write_rest(); !done) {
    impl.failed = done.error();
    return done.error();
  }
  return impl.report;
}

const ImportReport& Importer::report() const { return impl_->report; }

Status abandon_import(const Store& store) {
  StoreHandle& handle = *store.handle();
  auto unfinished = run_unhurried(handle, ops::find_unfinished_import());
  if (!unfinished) return unfinished.error();
  if (!*unfinished) {
    return Error(ErrorCode::kNotFound, "there is no unfinished import in this store to abandon");
  }
  return run_unhurried(handle, ops::finish_import());
}

Result<std::optional<StoreSettings>> exported_settings(std::string_view first_line) {
  std::optional<StoreSettings> settings;
  Result<std::optional<schema::StoreRecord>> record = ops::exported_record(first_line);
  if (!record) return record.error();
  if (*record) settings = settings_of(**record);
  return settings;
}

}  // namespace stint
