#include "stint/namespaces.h"

#include <chrono>
#include <utility>

#include "limiter/driver.h"
#include "limiter/store_handle.h"
#include "limiter/system_clock.h"
#include "limiter/system_seed.h"
#include "ops/namespaces.h"
#include "schema/entity_item.h"

namespace stint {
namespace {

constexpr std::chrono::seconds kTimeout{10};

template <typename T>
T run(const Store& store, ops::Op<T> op) {
  StoreHandle& handle = *store.handle();
  return limiter::run_alone(*handle.engine, handle.queues, std::move(op),
                            std::chrono::steady_clock::now() + kTimeout);
}

NamespaceStatus status_of(schema::NamespaceState state) {
  switch (state) {
    case schema::NamespaceState::kActive: return NamespaceStatus::kActive;
    case schema::NamespaceState::kDeleted: return NamespaceStatus::kDeleted;
    case schema::NamespaceState::kPurging: break;
  }
  return NamespaceStatus::kPurging;
}

Result<NamespaceInfo> info_of(const schema::NamespaceRecord& record) {
  NamespaceInfo info;
  info.name = record.name;
  info.id = record.id;
  info.status = status_of(record.state);
  Result<TimePoint> created_at = schema::parse_iso_seconds(record.created_at);
  if (!created_at) return created_at.error();
  info.created_at = *created_at;
  if (record.deleted_at) {
    Result<TimePoint> deleted_at = schema::parse_iso_seconds(*record.deleted_at);
    if (!deleted_at) return deleted_at.error();
    info.deleted_at = *deleted_at;
  }
  return info;
}

}  // namespace

std::string_view to_string(NamespaceStatus status) {
  switch (status) {
    case NamespaceStatus::kActive: return "active";
    case NamespaceStatus::kDeleted: return "deleted";
    case NamespaceStatus::kPurging: break;
  }
  return "purging";
}

Result<NamespaceRegistration> register_namespace(const Store& store, std::string_view name,
                                                 std::optional<TimePoint> at) {
  Random random(limiter::system_seed());
  TimePoint now = at ? *at : limiter::SystemClock().now();
  Result<ops::RegisteredNamespace> registered =
      run(store, ops::register_namespace(std::string(name), random, now));
  if (!registered) return registered.error();
  Result<NamespaceInfo> info = info_of(registered->record);
  if (!info) return info.error();
  return NamespaceRegistration{*std::move(info), registered->is_new};
}

Result<NamespaceInfo> find_namespace(const Store& store, std::string_view name) {
  Result<schema::NamespaceRecord> record = run(store, ops::find_namespace(std::string(name)));
  if (!record) return record.error();
  return info_of(*record);
}

Result<NamespaceList> list_namespaces(const Store& store) {
  Result<ops::NamespaceListing> found = run(store, ops::list_namespaces());
  if (!found) return found.error();
  NamespaceList list;
  list.unreadable = std::move(found->unreadable);
  for (const schema::NamespaceRecord& record : found->records) {
    Result<NamespaceInfo> info = info_of(record);
    if (info) {
      list.namespaces.push_back(*std::move(info));
    } else {
      list.unreadable.push_back("namespace \"" + Error::invalid("", record.name, "").value() +
                                "\": " + info.error().reason());
    }
  }
  return list;
}

}  // namespace stint
