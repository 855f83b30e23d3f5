// What a `Lease` holds.
#ifndef STINT_LIMITER_LEASE_STATE_H_
#define STINT_LIMITER_LEASE_STATE_H_

#include <utility>

#include "ops/acquire.h"
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
  LeaseState(LeaseEnder& ender, ops::LeaseRecord record, bool degraded)
      : ender_(&ender), record_(std::move(record)), degraded_(degraded) {}

  LeaseEnder& ender() { return *ender_; }
  ops::LeaseRecord& record() { return record_; }
  const ops::LeaseRecord& record() const { return record_; }
  bool degraded() const { return degraded_; }
  bool open() const { return open_; }
  void end() { open_ = false; }

 private:
  LeaseEnder* ender_;
  ops::LeaseRecord record_;
  bool degraded_;
  bool open_ = true;
};

}  // namespace stint::internal

#endif  // STINT_LIMITER_LEASE_STATE_H_
