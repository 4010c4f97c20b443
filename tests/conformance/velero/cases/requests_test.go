package cases

import (
	"context"
	"fmt"
	"strconv"
	"strings"
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

// One look is at most two requests, the VolumeSnapshot and its content, also while the handle is not there. At which
// instants looks are is proved on a paused clock, by the plugin's unit tests.
func TestOneLookIsAtMostTwoRequests(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Launch{Env: early(true)})
	s.behave(bench.Behaviour{Latency: 3500 * time.Millisecond})
	claim := s.volume(bench.Volume{Name: "data"})
	backup := bench.NewBackup("looks")
	answer := s.execute(claim, backup)
	s.hasSnapshot(answer, claim, backup)
	gets := 0
	for _, request := range s.requests() {
		if request.Kind() == "get volumesnapshots" || request.Kind() == "get volumesnapshotcontents" {
			gets++
		}
	}
	if builtin() {
		t.Skipf("the built-in does not tell its looks; they took %d requests", gets)
	}
	looks := s.looks()
	t.Logf("%d looks\n%s", looks, bench.Table(s.requests()))
	// A second apart from the create on. A busy machine may miss an instant; nothing may add one.
	if most := int(answer.took/time.Second) + 1; looks < 3 || looks > most {
		t.Errorf("%d looks, wanted 3 to %d within %s", looks, most, answer.took)
	}
	if gets < looks || gets > 2*looks {
		t.Errorf("%d requests in %d looks", gets, looks)
	}
}

// looks is how often the plugin has looked for the handle of its one volume, by its own word. Its lines come through a
// pipe, so they may be later than its answer.
func (s *setting) looks() int {
	s.Helper()
	looks := 0
	err := bench.Eventually(s.ctx, 30*time.Second, 20*time.Millisecond, func(context.Context) (bool, string) {
		cut := s.plugin.Logs.Containing("the storage has cut the snapshot")
		if len(cut) != 1 {
			return false, fmt.Sprintf("%q", cut)
		}
		for _, field := range strings.Fields(cut[0]) {
			if number, found := strings.CutPrefix(field, "looks="); found {
				looks, _ = strconv.Atoi(number)
			}
		}
		return looks > 0, cut[0]
	})
	if err != nil {
		s.Fatalf("one line with the number of looks: %v", err)
	}
	return looks
}
