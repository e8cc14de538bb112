// For tests that try many cases, or load what is built into other programs.

#ifndef ROCKSYNC_TESTS_SANITIZED_H_
#define ROCKSYNC_TESTS_SANITIZED_H_

namespace rocksync {

// Whether this is compiled for a sanitizer, under which a program takes ten
// times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SANITIZED_H_
