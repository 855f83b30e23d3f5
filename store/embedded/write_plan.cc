#include "store/embedded/write_plan.h"

#include <cassert>
#include <utility>

#include "store/apply.h"

namespace stint::store {
namespace {

WritePlan failed_condition(const ImagePtr& before, bool transactional) {
  WritePlan plan;
  plan.outcome = Outcome::kConditionFailed;
  plan.cost = failed_condition_cost(before.get(), transactional);
  plan.message = kConditionFalse;
  return plan;
}

}  // namespace

WritePlan plan_put(const PutRequest& request, const ImagePtr& before, IndexLayout layout,
                   bool transactional) {
  if (request.condition() && !holds(*request.condition(), before.get(), request.params())) {
    return failed_condition(before, transactional);
  }
  WritePlan plan;
  plan.after = request.item();
  plan.may_move_in_indexes = true;
  plan.cost = write_cost(before.get(), plan.after.get(), layout, transactional);
  return plan;
}

WritePlan plan_update(const UpdateRequest& request, const ImagePtr& before, IndexLayout layout,
                      bool transactional) {
  const UpdateProgram& program = request.program();
  bool as_planned = before && before.get() == request.planned_from();
  assert(!as_planned || holds(program.condition, before.get(), request.params()));
  if (!as_planned && !holds(program.condition, before.get(), request.params())) {
    return failed_condition(before, transactional);
  }
  WritePlan plan;
  Result<ImagePtr> after = apply(program.actions, request.key(), before.get(), request.params());
  if (!after) {
    plan.outcome = Outcome::kInvalid;
    plan.message = after.error().message();
    return plan;
  }
  plan.after = std::move(*after);
  plan.may_move_in_indexes = !before || touches_index_keys(program.actions);
  plan.cost = plan.may_move_in_indexes
                  ? write_cost(before.get(), plan.after.get(), layout, transactional)
                  : write_cost_in_place(*before, *plan.after, layout, transactional);
  return plan;
}

WritePlan plan_delete(const DeleteRequest& request, const ImagePtr& before, IndexLayout layout,
                      bool transactional) {
  if (request.condition() && !holds(*request.condition(), before.get(), request.params())) {
    return failed_condition(before, transactional);
  }
  WritePlan plan;
  plan.may_move_in_indexes = true;
  plan.cost = write_cost(before.get(), nullptr, layout, transactional);
  return plan;
}

WritePlan plan_check(const CheckRequest& request, const ImagePtr& before) {
  if (!holds(request.condition(), before.get(), request.params())) {
    return failed_condition(before, true);
  }
  WritePlan plan;
  plan.after = before;
  plan.cost = failed_condition_cost(before.get(), true);
  return plan;
}

WritePlan plan_transact_item(const TransactItem& item, const ImagePtr& before, IndexLayout layout) {
  if (const auto* put = std::get_if<PutRequest>(&item)) {
    return plan_put(*put, before, layout, true);
  }
  if (const auto* update = std::get_if<UpdateRequest>(&item)) {
    return plan_update(*update, before, layout, true);
  }
  if (const auto* removal = std::get_if<DeleteRequest>(&item)) {
    return plan_delete(*removal, before, layout, true);
  }
  return plan_check(*std::get_if<CheckRequest>(&item), before);
}

Key transact_key(const TransactItem& item) {
  if (const auto* put = std::get_if<PutRequest>(&item)) return put->item()->key();
  if (const auto* update = std::get_if<UpdateRequest>(&item)) return update->key();
  if (const auto* removal = std::get_if<DeleteRequest>(&item)) return removal->key();
  return std::get_if<CheckRequest>(&item)->key();
}

bool reply_if_cancelled(std::span<const TransactItem> items, std::span<const WritePlan> plans,
                        std::span<const ImagePtr> before, TransactReply& reply) {
  assert(items.size() == plans.size() && items.size() == before.size());
  const WritePlan* first = nullptr;
  for (const WritePlan& plan : plans) {
    if (plan.outcome == Outcome::kOk) continue;
    first = &plan;
    break;
  }
  if (!first) return false;
  reply.outcome = first->outcome;
  reply.message = first->message;
  reply.reasons.resize(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    reply.reasons[i].outcome = plans[i].outcome;
    if (plans[i].outcome == Outcome::kConditionFailed) reply.reasons[i].image = before[i];
    // Every item was looked at, and is charged as if its own condition had failed; a request that
    // is refused as a whole is charged nothing.
    if (first->outcome == Outcome::kConditionFailed) {
      reply.cost += failed_condition_cost(before[i].get(), true);
    }
  }
  return true;
}

void reply_to_repetition(std::span<const ImagePtr> current, TransactReply& reply) {
  for (const ImagePtr& image : current) {
    // A read as part of a transaction counts twice.
    reply.cost.read_units += 2 * read_units(image ? image->size_bytes() : 0, Consistency::kStrong);
  }
}

}  // namespace stint::store
