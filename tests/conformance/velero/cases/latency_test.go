package cases

import (
	"os"
	"testing"
	"time"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// builtin is true when Velero's own action is under test; its early phase has another switch.
func builtin() bool { return os.Getenv("BUILTIN") != "" }

// early is the environment that switches the early phase.
func early(on bool) map[string]string {
	value := "false"
	if on {
		value = "true"
	}
	return map[string]string{"VELERO_CSI_EARLY_FAST_POLL": value, "CSI_SNAPSHOT_EARLY_FREQUENT_POLLING": value}
}

// The look that finds the handle is the first on the cadence after the storage had cut: every second while the
// early window lasts, every 5 s otherwise. The margin is for the snapshotter and the API server.
func TestReturnsAtTheFirstLookAfterTheHandle(t *testing.T) {
	const margin = 900 * time.Millisecond
	for _, one := range []struct {
		name    string
		early   bool
		latency time.Duration
		look    time.Duration
	}{
		{"early-0.3s", true, 300 * time.Millisecond, time.Second},
		{"early-1.4s", true, 1400 * time.Millisecond, 2 * time.Second},
		{"early-7s", true, 7 * time.Second, 8 * time.Second},
		{"slow-0.3s", false, 300 * time.Millisecond, 5 * time.Second},
		{"slow-1.4s", false, 1400 * time.Millisecond, 5 * time.Second},
		{"slow-7s", false, 7 * time.Second, 10 * time.Second},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			s := set(t, bench.Launch{Env: early(one.early)})
			s.behave(bench.Behaviour{Latency: one.latency})
			claim := s.volume(bench.Volume{Name: "data", Labels: map[string]string{"app": "shop"}})
			backup := bench.NewBackup("latency")

			answer := s.execute(claim, backup)
			snapshot := s.hasSnapshot(answer, claim, backup)

			s.labelled("VolumeSnapshot", snapshot.Labels, map[string]string{"app": "shop"})
			t.Logf("storage %s, Execute %s", one.latency, answer.took.Round(time.Millisecond))
			if answer.took < one.latency || answer.took > one.look+margin {
				t.Errorf("Execute took %s, wanted between the latency %s and %s after the look at %s", answer.took, one.latency, margin, one.look)
			}
			s.quiet(0, 0)
		})
	}
}
