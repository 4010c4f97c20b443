package cases

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// undoLimit is how long the snapshotter may take to finish what it was told to take back.
const undoLimit = 30 * time.Second

// The deadline comes while the driver hangs. Whatever the class's policy, and whatever the storage does after its
// caller has given up, nothing may be left once the driver is released (W-12, W-13).
func TestTimeoutLeavesNothingOnceTheDriverAnswers(t *testing.T) {
	for _, one := range []struct{ name, class string }{{"delete", bench.ClassDelete}, {"retain", bench.ClassRetain}} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			s := set(t, bench.Launch{Env: early(true)})
			s.behave(bench.Behaviour{Hang: true})
			claim := s.volume(bench.Volume{Name: "data", Annotations: map[string]string{bench.ClassAnnotation: one.class}})
			backup := bench.NewBackup("timeout")
			backup.Spec.CSISnapshotTimeout.Duration = 3 * time.Second

			s.timesOut(s.execute(claim, backup), 3*time.Second)

			s.behave(bench.Behaviour{Latency: 200 * time.Millisecond})
			// The undo's 30 s are over, Execute has returned, and the plugin does nothing more.
			s.leavesNothingByItself(undoLimit)
			s.quiet(1, 1)
		})
	}
}

// The driver answers between the deadline and the undo: the storage snapshot comes late and must be caught.
func TestSnapshotCutAfterTheDeadlineIsTakenBack(t *testing.T) {
	for _, one := range []struct{ name, class string }{{"delete", bench.ClassDelete}, {"retain", bench.ClassRetain}} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			s := set(t, bench.Launch{Env: early(true)})
			s.behave(bench.Behaviour{Latency: 4500 * time.Millisecond})
			claim := s.volume(bench.Volume{Name: "data", Annotations: map[string]string{bench.ClassAnnotation: one.class}})
			backup := bench.NewBackup("late")
			backup.Spec.CSISnapshotTimeout.Duration = 3 * time.Second

			s.timesOut(s.execute(claim, backup), 3*time.Second)

			// The cut must really have happened, or this test would prove nothing.
			s.becomes(undoLimit, "cut late", func(state bench.State) bool {
				return len(state.Storage.Live)+len(state.Storage.Deleted) > 0
			})
			s.leavesNothing(undoLimit)
		})
	}
}

// The sidecar gives up on a driver that hangs, the storage cuts all the same, and the sidecar only learns of it when
// it asks again: the content must live until then, whatever we do to it.
func TestSnapshotCutAfterTheSidecarGaveUpIsTakenBack(t *testing.T) {
	for _, one := range []struct{ name, class string }{{"delete", bench.ImpatientClassDelete}, {"retain", bench.ImpatientClassRetain}} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			s := set(t, bench.Launch{Env: early(true)})
			s.behave(bench.Behaviour{Hang: true, CutAfterGivingUp: 2 * time.Second})
			claim := s.volume(bench.Volume{Name: "data", Impatient: true, Annotations: map[string]string{bench.ClassAnnotation: one.class}})
			backup := bench.NewBackup("given-up")
			backup.Spec.CSISnapshotTimeout.Duration = 3 * time.Second

			s.timesOut(s.execute(claim, backup), 3*time.Second)

			s.becomes(undoLimit, "cut late", func(state bench.State) bool {
				return len(state.Storage.Live)+len(state.Storage.Deleted) > 0
			})
			s.leavesNothing(undoLimit)
		})
	}
}

// timesOut demands the error of a deadline, in time: by the deadline and the 31 s that the undo may take.
func (s *setting) timesOut(answer outcome, deadline time.Duration) {
	s.Helper()
	if answer.err == nil {
		s.Fatalf("Execute succeeded after %s while the driver hung", answer.took)
	}
	s.Logf("Execute failed after %s: %v", answer.took.Round(time.Millisecond), answer.err)
	if answer.took < deadline-100*time.Millisecond || answer.took > deadline+31*time.Second {
		s.Errorf("Execute returned after %s, the deadline is %s", answer.took, deadline)
	}
	if builtin() {
		return
	}
	if status.Code(unwrapped(answer.err)) != codes.DeadlineExceeded && !strings.Contains(answer.err.Error(), "DeadlineExceeded") {
		s.Errorf("error %v, wanted the code DeadlineExceeded", answer.err)
	}
}

// unwrapped is the gRPC status inside what Velero's client returns.
func unwrapped(err error) error {
	for {
		inner, ok := err.(interface{ Unwrap() error })
		if !ok || inner.Unwrap() == nil {
			return err
		}
		err = inner.Unwrap()
	}
}
