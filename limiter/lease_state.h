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

/// An open lease of nothing. Its memory is that of an earlier lease of the thread, if there is one.
LeaseStatePtr new_lease_state(LeaseEnder& ender);

}  // namespace stint::internal

#endif  // STINT_LIMITER_LEASE_STATE_H_
