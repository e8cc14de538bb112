// Integers and strings as bytes. Put functions append. Get functions consume
// what they parse from the front of `*input` and return true, or return false
// and leave `*input` and the result unspecified. No Get reads beyond the input
// or allocates.
//
//   fixed   big-endian, so that the order of bytes is the order of values
//   varint  seven bits a byte, least significant first, the high bit set on
//           all but the last; at most 10 bytes. Only the shortest form is
//           accepted, so a value has one encoding, and overflow is refused.

#ifndef ROCKSYNC_SKETCH_ELEMENT_CODING_H_
#define ROCKSYNC_SKETCH_ELEMENT_CODING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rocksync {

// Writes `value` to sizeof(T) bytes at `out`, which must be there, and returns
// what follows them.
template <typename T>
char* EncodeFixed(char* out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    out[i] = static_cast<char>(value >> (8 * (sizeof(T) - 1 - i)) & 0xff);
  }
  return out + sizeof(T);
}

template <typename T>
void PutFixed(std::string* out, T value) {
  char bytes[sizeof(T)];
  EncodeFixed(bytes, value);
  out->append(bytes, sizeof(T));
}

template <typename T>
[[nodiscard]] bool GetFixed(std::string_view* input, T* value) {
  if (input->size() < sizeof(T)) return false;
  const char* const bytes = input->data();
  uint64_t result = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    result = result << 8 | static_cast<uint8_t>(bytes[i]);
  }
  *value = static_cast<T>(result);
  input->remove_prefix(sizeof(T));
  return true;
}

inline void PutFixed8(std::string* out, uint8_t value) { PutFixed(out, value); }
inline void PutFixed16(std::string* out, uint16_t value) {
  PutFixed(out, value);
}
inline void PutFixed32(std::string* out, uint32_t value) {
  PutFixed(out, value);
}
inline void PutFixed64(std::string* out, uint64_t value) {
  PutFixed(out, value);
}

[[nodiscard]] inline bool GetFixed8(std::string_view* input, uint8_t* value) {
  return GetFixed(input, value);
}
[[nodiscard]] inline bool GetFixed16(std::string_view* input, uint16_t* value) {
  return GetFixed(input, value);
}
[[nodiscard]] inline bool GetFixed32(std::string_view* input, uint32_t* value) {
  return GetFixed(input, value);
}
[[nodiscard]] inline bool GetFixed64(std::string_view* input, uint64_t* value) {
  return GetFixed(input, value);
}

inline void PutVarint64(std::string* out, uint64_t value) {
  char bytes[10];
  size_t size = 0;
  while (value >= 0x80) {
    bytes[size++] = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  bytes[size++] = static_cast<char>(value);
  out->append(bytes, size);
}

[[nodiscard]] inline bool GetVarint64(std::string_view* input,
                                      uint64_t* value) {
  uint64_t result = 0;
  for (size_t i = 0; i < input->size() && i < 10; ++i) {
    const uint64_t byte = static_cast<uint8_t>((*input)[i]);
    if (i == 9 && byte > 1) return false;  // beyond 64 bits
    result |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      if (byte == 0 && i > 0) return false;  // not the shortest form
      *value = result;
      input->remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

// Reads a varint, which must be at most `max`.
[[nodiscard]] inline bool GetVarint64(std::string_view* input, uint64_t max,
                                      uint64_t* value) {
  return GetVarint64(input, value) && *value <= max;
}

// Reads exactly `size` bytes, as a view into the input.
[[nodiscard]] inline bool GetBytes(std::string_view* input, size_t size,
                                   std::string_view* value) {
  if (input->size() < size) return false;
  *value = input->substr(0, size);
  input->remove_prefix(size);
  return true;
}

// Appends the length as a varint, then the bytes.
inline void PutLengthPrefixed(std::string* out, std::string_view value) {
  PutVarint64(out, value.size());
  out->append(value);
}

// Reads length-prefixed bytes, at most `max`, as a view into the input.
[[nodiscard]] inline bool GetLengthPrefixed(std::string_view* input, size_t max,
                                            std::string_view* value) {
  uint64_t size = 0;
  return GetVarint64(input, max, &size) && size <= input->size() &&
         GetBytes(input, static_cast<size_t>(size), value);
}

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_ELEMENT_CODING_H_
