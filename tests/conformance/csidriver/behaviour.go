package main

import (
	"strings"
	"sync"
	"time"
)

// behaviour says how CreateSnapshot treats the volumes it is set for.
type behaviour struct {
	// Latency is the time from the call to the cut.
	Latency time.Duration `json:"latency"`
	// Failures is how many calls still fail, with Code and Message, before one succeeds. Negative: all.
	Failures int    `json:"failures"`
	Code     uint32 `json:"code"`
	Message  string `json:"message"`
	// Hang keeps every call waiting until the behaviour is replaced or the caller gives up.
	Hang bool `json:"hang"`
	// CutAfterGivingUp makes a call whose caller gave up cut the snapshot all the same, this long afterwards.
	// Zero: the call ends with its caller. Real storage does this: the array finishes what it was told.
	CutAfterGivingUp time.Duration `json:"cutAfterGivingUp"`
	// NotReady answers readyToUse=false for this long after the cut, as drivers do that upload.
	NotReady time.Duration `json:"notReady"`
	// SizeBytes is the answer's size_bytes; zero means that the driver does not know.
	SizeBytes int64 `json:"sizeBytes"`

	// replaced is closed when another behaviour takes this one's place: that ends a hang.
	replaced chan struct{}
}

// behaviours are looked up by the longest prefix of the volume handle that is set, so a test which puts its
// namespace in front of its handles has settings of its own and can run beside others.
type behaviours struct {
	mu       sync.Mutex
	byPrefix map[string]*behaviour
}

func newBehaviours() *behaviours {
	return &behaviours{byPrefix: map[string]*behaviour{"": {replaced: make(chan struct{})}}}
}

func (b *behaviours) set(prefix string, next behaviour) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next.replaced = make(chan struct{})
	if previous := b.byPrefix[prefix]; previous != nil {
		close(previous.replaced)
	}
	b.byPrefix[prefix] = &next
}

// take returns a copy of the behaviour for a volume and uses up one of its failures.
func (b *behaviours) take(volume string) (behaviour, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found, longest := b.byPrefix[""], -1
	for prefix, candidate := range b.byPrefix {
		if strings.HasPrefix(volume, prefix) && len(prefix) > longest {
			found, longest = candidate, len(prefix)
		}
	}
	fails := found.Failures != 0
	if found.Failures > 0 {
		found.Failures--
	}
	return *found, fails
}
