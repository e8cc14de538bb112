package rocksync

import "sync"

// guard lets calls into an object of the library until it is closed, which
// waits for those that are under way.
type guard struct {
	mutex   sync.Mutex
	changed *sync.Cond
	calls   int
	closing bool
	closed  bool
}

func newGuard() *guard {
	g := &guard{}
	g.changed = sync.NewCond(&g.mutex)
	return g
}

// enter is false once the object is closed, or being closed, and if it never was
// opened: the guard of a zero value is nil. Else leave follows.
func (g *guard) enter() bool {
	if g == nil {
		return false
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.closing || g.closed {
		return false
	}
	g.calls++
	return true
}

// isClosing is for a call between enter and leave.
func (g *guard) isClosing() bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.closing
}

func (g *guard) leave() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.calls--
	g.changed.Broadcast()
}

// shut lets no more calls in, calls stop, and waits. False: it is closed, or
// never was opened. Else end follows.
func (g *guard) shut(stop func()) bool {
	if g == nil {
		return false
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	for g.closing {
		g.changed.Wait()
	}
	if g.closed {
		return false
	}
	g.closing = true
	g.mutex.Unlock()
	stop()
	g.mutex.Lock()
	for g.calls > 0 {
		g.changed.Wait()
	}
	return true
}

func (g *guard) end(closed bool) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.closing, g.closed = false, closed
	g.changed.Broadcast()
}
