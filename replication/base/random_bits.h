// The source of randomness for identities and nonces.

#ifndef ROCKSYNC_REPLICATION_BASE_RANDOM_BITS_H_
#define ROCKSYNC_REPLICATION_BASE_RANDOM_BITS_H_

#include <cstddef>
#include <cstdint>

namespace rocksync {

// Fills `bytes` from OpenSSL's generator; false if it has none. Thread-safe.
bool RandomBytes(uint8_t* bytes, size_t count);

// Returns 64 random bits of the system's, never all 0. Thread-safe.
uint64_t RandomBits();

// Replaces the source of both functions, for simulations that replay a seed;
// null restores the default. Must not be called while a replica is open, and
// not in production: ids and nonces must be unpredictable.
void SetRandomSourceForTesting(void (*source)(uint8_t* bytes, size_t count));

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_BASE_RANDOM_BITS_H_
