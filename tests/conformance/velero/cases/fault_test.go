package cases

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// A driver that fails once and then succeeds costs a look, never the backup: errors of the driver are reported in
// the status and the sidecar tries again (F11).
func TestDriverErrorThenSuccessIsASuccess(t *testing.T) {
	for _, one := range []struct {
		name string
		code codes.Code
	}{{"internal", codes.Internal}, {"unavailable", codes.Unavailable}} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			s := set(t, bench.Launch{Env: early(true)})
			s.behave(bench.Behaviour{Failures: 2, Code: uint32(one.code), Message: "the array is busy", Latency: 100 * time.Millisecond})
			claim := s.volume(bench.Volume{Name: "data"})
			backup := bench.NewBackup("driver-error")

			s.hasSnapshot(s.execute(claim, backup), claim, backup)

			if calls := s.state().Storage.Calls[bench.Handle(s.namespace, "data")]; calls < 3 {
				t.Errorf("CreateSnapshot was called %d times, the failures were not used up", calls)
			}
			s.quiet(1, 0)
		})
	}
}

// The API server dies in the middle of the wait and comes back: connections reset, then refused, then 503, plain
// 404 and 403 for a moment. The wait goes on (design: transient errors). Not parallel: the others need the server.
func TestAPIServerRestartDuringTheWaitIsSurvived(t *testing.T) {
	s := set(t, bench.Launch{Env: early(true)})
	s.behave(bench.Behaviour{Hang: true})
	claim := s.volume(bench.Volume{Name: "data"})
	backup := bench.NewBackup("restart")
	backup.Spec.CSISnapshotTimeout.Duration = time.Minute

	running := s.executing(claim, backup)
	s.becomes(10*time.Second, "content made", func(state bench.State) bool { return len(state.Contents) == 1 })
	time.Sleep(500 * time.Millisecond)
	b.KillAPIServer()
	time.Sleep(3 * time.Second)
	if err := b.RestartAPIServer(); err != nil {
		t.Fatal(err)
	}
	if err := b.WaitForAPIServer(s.ctx); err != nil {
		t.Fatal(err)
	}
	// The tests after this one need the snapshotter too, also when this one fails.
	t.Cleanup(func() {
		if err := b.WaitForSnapshotter(s.ctx); err != nil {
			t.Error(err)
		}
	})
	s.behave(bench.Behaviour{})

	answer := <-running
	s.hasSnapshot(answer, claim, backup)
	t.Logf("Execute %s", answer.took.Round(time.Millisecond))
	s.quiet(1, 0)
}
