// An engine that fails on command, and counts what is asked of it.
#ifndef STINT_TESTING_FAULTY_STORE_H_
#define STINT_TESTING_FAULTY_STORE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/engine.h"

namespace stint::test {

enum class RequestKind : std::uint8_t {
  kGet,
  kBatchGet,
  kPut,
  kUpdate,
  kDelete,
  kTransact,
  kQuery,
  kScan,
};
inline constexpr std::size_t kRequestKinds = 8;

RequestKind kind_of(const store::Call& call);

/// One thing that goes wrong. The factories name the usual ones.
struct Fault {
  /// Counts only requests of this kind; nothing: all.
  std::optional<RequestKind> kind = std::nullopt;
  /// The how-manieth counted request after planning is hit, from 1.
  int number = 1;
  /// Whether all counted requests from there on are hit too.
  bool from_then_on = false;
  /// How often the engine beneath carries the request out.
  int deliveries = 0;
  /// What the caller is told; nothing: the reply to the last delivery.
  std::optional<store::Outcome> outcome = std::nullopt;
  /// Of a batch get: that many keys at the end are reported as unprocessed.
  std::size_t unprocessed = 0;

  /// Never arrived; the caller cannot tell.
  static Fault request_lost() { return {.outcome = store::Outcome::kUnknown}; }
  /// Carried out; the caller cannot tell.
  static Fault reply_lost() { return {.deliveries = 1, .outcome = store::Outcome::kUnknown}; }
  /// Carried out twice, answered once, as when a transport re-sends by itself.
  static Fault delivered_twice() { return {.deliveries = 2}; }
  static Fault throttled() { return {.outcome = store::Outcome::kThrottled}; }
  static Fault denied() { return {.outcome = store::Outcome::kDenied}; }
  static Fault unavailable() { return {.outcome = store::Outcome::kUnavailable}; }
  static Fault conflict() { return {.outcome = store::Outcome::kConflict}; }
  static Fault keys_unprocessed(std::size_t keys) {
    return {.kind = RequestKind::kBatchGet, .deliveries = 1, .unprocessed = keys};
  }

  /// The same fault at another place.
  Fault on(RequestKind of_kind, int at_number = 1) const;
  Fault at(int at_number) const;
  Fault onwards() const;
};

/// A request as the store saw it.
struct LoggedCall {
  RequestKind kind;
  std::string pk;  ///< Of the item, the first item, or the queried partition; of a scan empty.
  std::string sk;
  int deliveries;
  store::Outcome outcome;  ///< As told to the caller.
};

/// Decorates any engine. Thread-safe. Of several planned faults that fit a request, the first
/// planned one counts; a fault that has struck once is gone unless it goes on.
class FaultyStore final : public store::Engine {
 public:
  explicit FaultyStore(std::shared_ptr<store::Engine> inner) : inner_(std::move(inner)) {}

  void plan(const Fault& fault);
  /// Forgets all faults that have not struck.
  void heal();
  /// Whether planned faults are left that have not struck at all.
  bool pending() const;

  /// Requests that arrived since the last `reset_counters`, faulty ones included.
  int requests(RequestKind kind) const;
  int requests() const;
  /// Sum of what the replies said, of every delivery.
  store::Cost cost() const;
  std::vector<LoggedCall> log() const;
  void reset_counters();

  const store::Capabilities& capabilities() const noexcept override {
    return inner_->capabilities();
  }
  void execute(std::span<store::Call> calls) noexcept override;
  void prefetch(std::uint64_t key_hash) const noexcept override { inner_->prefetch(key_hash); }
  Result<store::EngineState> state() override { return inner_->state(); }
  Status backup(const std::string& directory) override { return inner_->backup(directory); }
  Result<std::vector<store::ChangeRecord>> changes(std::uint64_t position, int limit) override {
    return inner_->changes(position, limit);
  }

 private:
  struct Planned {
    Fault fault;
    int seen = 0;
    bool struck = false;
  };

  std::optional<Fault> next_fault(const store::Call& call);
  void pass_on(std::span<store::Call> calls);
  void strike(const Fault& fault, store::Call& call);
  void note_cost(const store::Call& call);
  void note(const store::Call& call, int deliveries);

  std::shared_ptr<store::Engine> inner_;
  mutable std::mutex mutex_;
  std::vector<Planned> planned_;
  std::array<int, kRequestKinds> requests_{};
  store::Cost cost_;
  std::vector<LoggedCall> log_;
};

}  // namespace stint::test

#endif  // STINT_TESTING_FAULTY_STORE_H_
