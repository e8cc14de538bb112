package rocksync

// #include <rocksync/c.h>
import "C"

import (
	"fmt"
	"os"
	"runtime/cgo"
	"unsafe"
)

// update is one call of Update.
type update struct {
	change   func(value []byte) ([]byte, error)
	err      error
	panicked bool
	reason   any // of the panic
}

// call calls change. A panic must not pass through the library, which holds the
// key's lock: it goes on once the update has ended.
func (u *update) call(value []byte) (after []byte) {
	u.panicked = true
	defer func() {
		if u.panicked {
			u.reason = recover()
		}
	}()
	after, u.err = u.change(value)
	u.panicked = false
	return after
}

//export rocksyncChange
func rocksyncChange(state unsafe.Pointer, values *C.rocksync_values_t) C.uchar {
	update := cgo.Handle(uintptr(state)).Value().(*update)
	var size C.size_t
	var before []byte
	if value := C.rocksync_values_get(values, 0, &size); value != nil {
		before = C.GoBytes(unsafe.Pointer(value), C.int(size))
	}
	returned := false
	defer func() {
		if !returned {
			// Nothing holds a Goexit up, and the lock would never be released.
			fmt.Fprintln(os.Stderr, "rocksync: the function that Update calls has called runtime.Goexit, as FailNow of package testing does")
			os.Exit(2)
		}
	}()
	after := update.call(before)
	returned = true
	switch {
	case update.panicked || update.err != nil:
		return 0
	case after == nil:
		C.rocksync_values_set(values, 0, nil, 0)
	default:
		C.rocksync_values_set(values, 0, text(after), C.size_t(len(after)))
	}
	return 1
}

//export rocksyncDiffers
func rocksyncDiffers(state unsafe.Pointer, difference C.int, family *C.char, familySize C.size_t, key *C.char, keySize C.size_t) {
	kinds := [...]string{"missing_here", "missing_there", "version", "content"}
	found := cgo.Handle(uintptr(state)).Value().(*Verification)
	found.Differences = append(found.Differences, Difference{
		Kind:   kinds[difference],
		Family: C.GoStringN(family, C.int(familySize)),
		Key:    C.GoBytes(unsafe.Pointer(key), C.int(keySize)),
	})
}
