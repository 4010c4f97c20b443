package cases

import (
	"fmt"
	"testing"
	"time"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// The budget of a PVC whose handle is there at the first look: 7 requests for the first of a backup, 5 for each
// further one, under policy `custom`. A look before the handle is there costs what a look costs and is not counted,
// so what is counted is everything up to the create, and one of each kind of request after it.
func TestRequestsPerVolumeStayInTheBudget(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Launch{Env: early(true)})
	if err := b.CreatePolicy(s.ctx, s.namespace, policyText("custom", "velero-plugin-csi-fastpoll")); err != nil {
		t.Fatal(err)
	}
	backup := bench.WithPolicy(bench.NewBackup("budget"), s.namespace)
	seen := 0
	for number, limit := range []int{7, 5, 5} {
		claim := s.volume(bench.Volume{Name: fmt.Sprintf("data-%d", number)})
		s.hasSnapshot(s.execute(claim, backup), claim, backup)
		all := s.requests()
		requests := all[seen:]
		seen = len(all)
		cost := costOf(requests)
		t.Logf("volume %d: %d of %d requests\n%s", number, cost, limit, bench.Table(requests))
		if cost > limit && !builtin() {
			t.Errorf("volume %d: %d requests, at most %d wanted", number, cost, limit)
		}
	}
}

// costOf counts as the comment of the test says.
func costOf(requests []bench.Request) int {
	cost, created, after := 0, false, map[string]bool{}
	for _, request := range requests {
		switch {
		case !created:
			cost++
			created = request.Kind() == "create volumesnapshots"
		case !after[request.Kind()]:
			after[request.Kind()] = true
			cost++
		}
	}
	return cost
}

// One look is at most two requests, the VolumeSnapshot and its content, also while the handle is not there.
func TestOneLookIsAtMostTwoRequests(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Launch{Env: early(true)})
	s.behave(bench.Behaviour{Latency: 3500 * time.Millisecond})
	claim := s.volume(bench.Volume{Name: "data"})
	backup := bench.NewBackup("looks")
	s.hasSnapshot(s.execute(claim, backup), claim, backup)
	// Looks are a second apart, from the first on; how many it takes depends on how busy the snapshotter is.
	looks, first := map[time.Duration]int{}, time.Time{}
	for _, request := range s.requests() {
		if request.Kind() == "get volumesnapshots" || request.Kind() == "get volumesnapshotcontents" {
			if first.IsZero() {
				first = request.Received
			}
			looks[(request.Received.Sub(first)+200*time.Millisecond).Truncate(time.Second)]++
		}
	}
	t.Logf("%d looks\n%s", len(looks), bench.Table(s.requests()))
	if len(looks) < 5 {
		t.Errorf("%d looks, for a handle after 3.5 s it takes five", len(looks))
	}
	for at, count := range looks {
		if count > 2 {
			t.Errorf("%d requests in the look at %s", count, at)
		}
	}
}
