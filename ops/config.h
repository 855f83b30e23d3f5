// Reading, resolving and changing configuration (rules 1.4, 5.3, 5.6; decision 29).
#ifndef STINT_OPS_CONFIG_H_
#define STINT_OPS_CONFIG_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/context.h"
#include "ops/op.h"
#include "stint/config.h"

namespace stint::ops {

/// The configuration items that decide about one entity and resource: which of them must be read,
/// and what they say together. Levels come from the cache unless `uncached`.
class ConfigReads {
 public:
  static constexpr std::size_t kLevels = 4;

  ConfigReads(Context& cx, std::string_view entity, std::string_view resource, bool uncached,
              TimePoint now);

  /// Appends the keys of the items to read, at most four.
  void append_keys(std::vector<store::Key>& keys) const;
  /// Takes the images in the order of the keys, remembers the shared levels, walks the levels.
  /// Errors: `kCorrupt`.
  Result<ResolvedConfig> resolve(std::span<const store::ImagePtr> images);

 private:
  struct Level {
    ConfigLevel level;
    std::string entity;
    std::string resource;
    std::optional<Caches::CachedConfig> cached;  // trusted without reading
    std::optional<Caches::CachedConfig> known;   // decoded before; saves decoding again
  };

  Context* cx_;
  TimePoint now_;
  std::array<Level, kLevels> levels_;
};

/// What a scope itself says. Errors: `kNotFound`, `kCorrupt`. One read.
Op<Result<ScopeConfig>> get_limits(Context& cx, const Scope& scope);

/// Replaces the limits of a scope. Stamps existing buckets at the entity levels. See `Limiter`.
Op<Result<LimitsChange>> set_limits(Context& cx, const Scope& scope,
                                    const std::vector<Limit>& limits,
                                    const SetLimitsOptions& options);

/// Removes the item of a scope. Errors: `kNotFound`.
Op<Result<LimitsChange>> delete_limits(Context& cx, const Scope& scope, bool dry_run);

/// The limits in force for an entity and resource, all levels read. One read.
Op<Result<ResolvedConfig>> resolve_config(Context& cx, std::string_view entity,
                                          std::string_view resource);

}  // namespace stint::ops

#endif  // STINT_OPS_CONFIG_H_
