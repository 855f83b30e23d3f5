#include "testing/faulty_store.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include "store/embedded/write_plan.h"
#include "store/reply.h"

namespace stint::test {
namespace {

using store::BatchGetReply;
using store::Call;
using store::Outcome;
using store::ReplyBase;

const ReplyBase& common(const Call& call) {
  return std::visit([](const auto& reply) -> const ReplyBase& { return reply; }, call.reply);
}

std::pair<std::string, std::string> place_of(const Call& call) {
  struct Visitor {
    using Place = std::pair<std::string, std::string>;
    Place operator()(const store::GetRequest* get) const { return place(get->key()); }
    Place operator()(const store::BatchGetRequest* batch) const {
      return batch->keys().empty() ? Place() : place(batch->keys()[0]);
    }
    Place operator()(const store::PutRequest* put) const {
      return put->item() ? Place(put->item()->pk(), put->item()->sk()) : Place();
    }
    Place operator()(const store::UpdateRequest* update) const { return place(update->key()); }
    Place operator()(const store::DeleteRequest* removal) const { return place(removal->key()); }
    Place operator()(const store::TransactRequest* transaction) const {
      return transaction->items().empty() ? Place()
                                          : place(store::transact_key(transaction->items()[0]));
    }
    Place operator()(const store::QueryRequest* query) const {
      return Place(query->partition(), query->sort_prefix());
    }
    Place operator()(const store::ScanRequest*) const { return Place(); }
    static Place place(const store::Key& key) { return Place(key.pk(), key.sk()); }
  };
  return std::visit(Visitor(), call.request);
}

// A failed transaction names the item that stood in the way.
void add_reasons(Call& call, Outcome outcome) {
  const auto* transaction = std::get_if<const store::TransactRequest*>(&call.request);
  if (!transaction || outcome == Outcome::kUnknown || outcome == Outcome::kUnavailable) return;
  auto& reply = std::get<store::TransactReply>(call.reply);
  reply.reasons.resize((*transaction)->items().size());
  if (!reply.reasons.empty()) reply.reasons[0].outcome = outcome;
}

void leave_unprocessed(Call& call, std::size_t keys) {
  auto* reply = std::get_if<BatchGetReply>(&call.reply);
  if (!reply) return;
  std::size_t total = reply->images.size();
  for (std::size_t i = total - std::min(keys, total); i < total; ++i) {
    reply->images[i] = store::ImagePtr();
    reply->unprocessed.push_back(i);
  }
}

}  // namespace

RequestKind kind_of(const Call& call) {
  struct Visitor {
    RequestKind operator()(const store::GetRequest*) const { return RequestKind::kGet; }
    RequestKind operator()(const store::BatchGetRequest*) const { return RequestKind::kBatchGet; }
    RequestKind operator()(const store::PutRequest*) const { return RequestKind::kPut; }
    RequestKind operator()(const store::UpdateRequest*) const { return RequestKind::kUpdate; }
    RequestKind operator()(const store::DeleteRequest*) const { return RequestKind::kDelete; }
    RequestKind operator()(const store::TransactRequest*) const { return RequestKind::kTransact; }
    RequestKind operator()(const store::QueryRequest*) const { return RequestKind::kQuery; }
    RequestKind operator()(const store::ScanRequest*) const { return RequestKind::kScan; }
  };
  return std::visit(Visitor(), call.request);
}

Fault Fault::on(RequestKind of_kind, int at_number) const {
  Fault fault = *this;
  fault.kind = of_kind;
  fault.number = at_number;
  return fault;
}

Fault Fault::at(int at_number) const {
  Fault fault = *this;
  fault.number = at_number;
  return fault;
}

Fault Fault::onwards() const {
  Fault fault = *this;
  fault.from_then_on = true;
  return fault;
}

void FaultyStore::plan(const Fault& fault) {
  std::lock_guard lock(mutex_);
  planned_.push_back(Planned{fault});
}

void FaultyStore::heal() {
  std::lock_guard lock(mutex_);
  planned_.clear();
}

bool FaultyStore::pending() const {
  std::lock_guard lock(mutex_);
  return std::any_of(planned_.begin(), planned_.end(),
                     [](const Planned& planned) { return !planned.struck; });
}

int FaultyStore::requests(RequestKind kind) const {
  std::lock_guard lock(mutex_);
  return requests_[static_cast<std::size_t>(kind)];
}

int FaultyStore::requests() const {
  std::lock_guard lock(mutex_);
  return std::accumulate(requests_.begin(), requests_.end(), 0);
}

store::Cost FaultyStore::cost() const {
  std::lock_guard lock(mutex_);
  return cost_;
}

std::vector<LoggedCall> FaultyStore::log() const {
  std::lock_guard lock(mutex_);
  return log_;
}

void FaultyStore::reset_counters() {
  std::lock_guard lock(mutex_);
  requests_ = {};
  cost_ = store::Cost();
  log_.clear();
}

void FaultyStore::execute(std::span<Call> calls) noexcept {
  // Healthy neighbours stay together, so that the engine beneath sees the batch that it would see.
  std::size_t begin = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    std::optional<Fault> fault = next_fault(calls[i]);
    if (!fault) continue;
    pass_on(calls.subspan(begin, i - begin));
    strike(*fault, calls[i]);
    begin = i + 1;
  }
  pass_on(calls.subspan(begin));
}

std::optional<Fault> FaultyStore::next_fault(const Call& call) {
  std::lock_guard lock(mutex_);
  std::optional<Fault> chosen;
  RequestKind kind = kind_of(call);
  for (auto planned = planned_.begin(); planned != planned_.end();) {
    const Fault& fault = planned->fault;
    bool counts = !fault.kind || *fault.kind == kind;
    if (counts) ++planned->seen;
    bool due = counts &&
               (fault.from_then_on ? planned->seen >= fault.number : planned->seen == fault.number);
    if (!due || chosen) {
      ++planned;
      continue;
    }
    chosen = fault;
    planned->struck = true;
    planned = fault.from_then_on ? std::next(planned) : planned_.erase(planned);
  }
  return chosen;
}

void FaultyStore::pass_on(std::span<Call> calls) {
  if (calls.empty()) return;
  inner_->execute(calls);
  for (const Call& call : calls) {
    note_cost(call);
    note(call, 1);
  }
}

void FaultyStore::strike(const Fault& fault, Call& call) {
  store::start_matching_reply(call);
  for (int i = 0; i < fault.deliveries; ++i) {
    inner_->execute(std::span<Call>(&call, 1));
    note_cost(call);
  }
  if (fault.outcome) {
    // What the engine answered is lost.
    store::set_trouble(store::start_matching_reply(call), *fault.outcome, "planned fault");
    add_reasons(call, *fault.outcome);
  }
  leave_unprocessed(call, fault.unprocessed);
  note(call, fault.deliveries);
}

void FaultyStore::note_cost(const Call& call) {
  std::lock_guard lock(mutex_);
  cost_ += common(call).cost;
}

void FaultyStore::note(const Call& call, int deliveries) {
  auto [pk, sk] = place_of(call);
  std::lock_guard lock(mutex_);
  RequestKind kind = kind_of(call);
  ++requests_[static_cast<std::size_t>(kind)];
  log_.push_back(LoggedCall{kind, std::move(pk), std::move(sk), deliveries, common(call).outcome});
}

}  // namespace stint::test
