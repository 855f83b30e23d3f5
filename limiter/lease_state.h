// What a `Lease` holds.
#ifndef STINT_LIMITER_LEASE_STATE_H_
#define STINT_LIMITER_LEASE_STATE_H_

#include <utility>

#include "ops/acquire.h"
#include "stint/decision.h"
#include "stint/result.h"

namespace stint::internal {

/// Ends a lease: what only a limiter can do.
class LeaseEnder {
 public:
  virtual ~LeaseEnder() = default;
  virtual Status settle_lease(ops::LeaseRecord& lease) = 0;
  virtual Status roll_back_lease(ops::LeaseRecord& lease) = 0;
  /// Whether leases that go out of scope are ended by `end_in_background` instead.
  virtual bool ends_in_background() const { return false; }
  /// Ends a lease without waiting. Trouble is reported as `report_lease_trouble` does.
  virtual void end_in_background(LeaseStatePtr lease, bool roll_back) {
    static_cast<void>(lease);
    static_cast<void>(roll_back);
  }
  /// Trouble that a destructor met.
  virtual void report_lease_trouble(const ops::LeaseRecord& lease, const Error& error) noexcept = 0;
};

class LeaseState {
 public:
  LeaseEnder& ender() { return *ender_; }
  ops::LeaseRecord& record() { return record_; }
  const ops::LeaseRecord& record() const { return record_; }
  bool degraded() const { return degraded_; }
  void set_degraded() { degraded_ = true; }
  bool open() const { return open_; }
  void end() { open_ = false; }

 private:
  friend LeaseStatePtr new_lease_state(LeaseEnder& ender);
  friend struct LeaseStateDeleter;
  LeaseState() = default;

  LeaseEnder* ender_ = nullptr;
  ops::LeaseRecord record_;
  bool degraded_ = false;
  bool open_ = false;
};

/// What a lease is, which is none afterwards; null if it was none before.
LeaseStatePtr take_state(Lease lease);

/// Whether ending the lease takes a request to the store.
bool has_to_write(const LeaseState& lease, bool roll_back);
/// Notes how the attempt to end it went: what failed without a trace may be tried again, what may
/// have been written may not.
void conclude(LeaseState& lease, const Status& status, bool roll_back);

/// An open lease of nothing. Its memory is that of an earlier lease of the thread, if there is one.
LeaseStatePtr new_lease_state(LeaseEnder& ender);

}  // namespace stint::internal

#endif  // STINT_LIMITER_LEASE_STATE_H_
