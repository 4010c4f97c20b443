package backups

import (
	"errors"
	"strconv"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

const (
	ourSwitch      = "VELERO_CSI_EARLY_FAST_POLL"
	upstreamSwitch = "CSI_SNAPSHOT_EARLY_FREQUENT_POLLING"
)

// The early phase is opted into by the server's environment: our process inherits it, follows our name before
// upstream's, and says once per backup which of them has decided.
func TestEarlySwitch(t *testing.T) {
	for _, one := range []struct {
		name        string
		environment map[string]string
		early, from string
		look        string
	}{
		{"ours", map[string]string{ourSwitch: "true"}, "on", ourSwitch, "every 1s for 10s, then every 5s"},
		{"upstream", map[string]string{upstreamSwitch: "true"}, "on", upstreamSwitch, "every 1s for 10s, then every 5s"},
		{"neither", map[string]string{}, "off", "default", "every 5s"},
		{"ours-beats-upstream", map[string]string{ourSwitch: "false", upstreamSwitch: "true"}, "off", ourSwitch, "every 5s"},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			s := set(t, bench.Install{Env: one.environment})
			s.application(bench.Application{Volumes: bench.Volumes(2)})
			s.behave(bench.Behaviour{Hang: true})
			name := "switch-" + one.name
			s.create(s.backup(name, bench.Policy()))
			s.driverIsCalled(1)
			running := s.plugins()
			if len(running) != 1 {
				t.Fatalf("%d processes of ours wait, 1 wanted", len(running))
			}
			for _, variable := range []string{ourSwitch, upstreamSwitch} {
				wanted, isSet := one.environment[variable]
				if value, found := running[0].Environment[variable]; value != wanted || found != isSet {
					t.Errorf("our process has %s=%q (%v), the server was given %q (%v)", variable, value, found, wanted, isSet)
				}
			}
			s.behave(bench.Behaviour{})

			done, err := s.velero.Wait(s.ctx, name, time.Minute, bench.Finished)
			if err != nil {
				t.Fatal(err)
			}
			archive := s.ended(done, velerov1.BackupPhaseCompleted)
			s.counts(done, archive, 0, 0)
			lines := ours(logLines(archive.Log))
			intro := saying(lines, "takes part in this backup")
			if len(intro) != 1 {
				t.Fatalf("%d introductions, 1 per backup wanted: %v", len(intro), intro)
			}
			if intro[0]["early"] != one.early || intro[0]["early_from"] != one.from || intro[0]["look"] != one.look {
				t.Errorf("introduced by %v, wanted early=%s from %s, %s", intro[0], one.early, one.from, one.look)
			}
			for _, line := range saying(lines, "the storage has cut the snapshot") {
				after, errDuration := time.ParseDuration(line["handle_after"])
				looks, errNumber := strconv.Atoi(line["looks"])
				if err := errors.Join(errDuration, errNumber); err != nil {
					t.Fatal(err)
				}
				// Looks have fixed instants: with the early phase off the nth is never earlier than this.
				if earliest := time.Duration(looks-1) * 5 * time.Second; one.early == "off" && after < earliest {
					t.Errorf("%d looks after %s with the early phase off", looks, after)
				}
			}
			s.leavesOnly(2, leftoverLimit)
		})
	}
}
