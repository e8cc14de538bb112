// Where identities and nonces get their randomness from.

#ifndef ROCKSYNC_REPLICATION_BASE_RANDOM_BITS_H_
#define ROCKSYNC_REPLICATION_BASE_RANDOM_BITS_H_

#include <cstddef>
#include <cstdint>

namespace rocksync {

// Fills `bytes` from OpenSSL's generator; false if that has none. Thread-safe.
bool RandomBytes(uint8_t* bytes, size_t count);

// 64 of the system's random bits, not all of them 0. Thread-safe.
uint64_t RandomBits();

// Replaces the source of both, for simulations that replay a seed; null
// restores the default. Not while a replica is open, and not in production: ids
// and nonces must not be known beforehand.
void SetRandomSourceForTesting(void (*source)(uint8_t* bytes, size_t count));

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_BASE_RANDOM_BITS_H_
