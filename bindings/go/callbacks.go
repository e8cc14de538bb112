package rocksync

// #include <rocksync/c.h>
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// update is one call of Modify.
type update struct {
	change func(value []byte) ([]byte, error)
	err    error
}

//export rocksyncChange
func rocksyncChange(state unsafe.Pointer, values *C.rocksync_values_t) C.uchar {
	update := cgo.Handle(uintptr(state)).Value().(*update)
	var size C.size_t
	var before []byte
	if value := C.rocksync_values_get(values, 0, &size); value != nil {
		before = C.GoBytes(unsafe.Pointer(value), C.int(size))
	}
	after, err := update.change(before)
	if err != nil {
		update.err = err
		return 0
	}
	if after == nil {
		C.rocksync_values_set(values, 0, nil, 0)
	} else {
		C.rocksync_values_set(values, 0, text(after), C.size_t(len(after)))
	}
	return 1
}

//export rocksyncDiffers
func rocksyncDiffers(state unsafe.Pointer, difference C.int, family *C.char, familySize C.size_t, key *C.char, keySize C.size_t) {
	kinds := [...]string{"missing here", "missing there", "version", "content"}
	found := cgo.Handle(uintptr(state)).Value().(*Verification)
	found.Differences = append(found.Differences, Difference{
		Kind:   kinds[difference],
		Family: C.GoStringN(family, C.int(familySize)),
		Key:    C.GoBytes(unsafe.Pointer(key), C.int(keySize)),
	})
}
