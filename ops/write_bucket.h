// Sending one prepared bucket write and telling what became of it (decision 6).
#ifndef STINT_OPS_WRITE_BUCKET_H_
#define STINT_OPS_WRITE_BUCKET_H_

#include <optional>

#include "ops/context.h"
#include "ops/leg.h"
#include "ops/op.h"

namespace stint::ops {

/// What became of a write.
enum class Landing : std::uint8_t {
  kLanded,   ///< Applied exactly once; the leg holds the new image, if the store told it.
  kLost,     ///< Not applied: a condition failed. The leg holds what the store returned.
  kBusy,     ///< Not applied: another transaction was in the way.
  kUnknown,  ///< A credit of which nobody can tell; never repeated.
};

/// What became of an update that was sent, as far as its reply tells: takes the image into the leg.
/// Nothing when the outcome is unknown. Errors: those of the store.
std::optional<Result<Landing>> told_landing(Context& cx, Leg& leg, store::WriteReply& reply,
                                            TimePoint now);
/// What became of a single write of unknown outcome: looks it up by its nonce with one consistent
/// read. `is_credit`: if it is not found, it may still be under way and must not be sent again.
Op<Result<Landing>> look_up_landing(Context& cx, Leg& leg, TimePoint now, bool is_credit);
/// Both: what became of an update, given its reply.
Op<Result<Landing>> conclude_update(Context& cx, Leg& leg, store::WriteReply reply, TimePoint now,
                                    bool is_credit);

/// Sends a single write (an update, or a creation with its check as a transaction). A write of
/// unknown outcome is looked up as `look_up_landing` does.
Op<Result<Landing>> send_write(Context& cx, LegWrite& write, TimePoint now, bool is_credit);

/// Sends the writes of two legs as one transaction. Both landed, or neither.
Op<Result<Landing>> send_together(Context& cx, LegWrite& first, LegWrite& second, TimePoint now);

}  // namespace stint::ops

#endif  // STINT_OPS_WRITE_BUCKET_H_
