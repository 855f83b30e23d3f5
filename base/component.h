// Visibility of what stint's components use of each other.
#ifndef STINT_BASE_COMPONENT_H_
#define STINT_BASE_COMPONENT_H_

/// Marks an internal class or function of the core that another component, such as the rocksdb
/// engine, calls. In a shared library it is exported under the symbol version STINT_PRIVATE_x.y.z,
/// so that only a component of the very same version can be loaded beside it. Never part of the
/// public interface.
#define STINT_COMPONENT __attribute__((visibility("default")))

#endif  // STINT_BASE_COMPONENT_H_
