package backups

import (
	"context"
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// leftoverLimit is how long the snapshotter may take to finish what it was told to take back.
const leftoverLimit = 30 * time.Second

// resyncAfter is how long the sidecar gets before its resync is brought forward.
const resyncAfter = 3 * time.Second

// eventually waits for a condition and says how long that took.
func (s *setting) eventually(limit time.Duration, what string, condition func() (bool, string)) {
	s.Helper()
	begin := time.Now()
	if err := bench.Eventually(s.ctx, limit, 50*time.Millisecond, func(context.Context) (bool, string) { return condition() }); err != nil {
		s.Fatalf("%s: %v", what, err)
	}
	s.Logf("%s after %s", what, time.Since(begin).Round(10*time.Millisecond))
}

// becomes waits until the cluster and the storage are as asked. Where one of them does not answer it asks again.
func (s *setting) becomes(limit time.Duration, what string, condition func(bench.State) bool) {
	s.Helper()
	s.eventually(limit, what, func() (bool, string) {
		state, err := b.State(s.ctx, s.namespace)
		if err != nil {
			return false, err.Error()
		}
		return condition(state), state.String()
	})
}

// here asks for what is in the namespace of this test's Velero.
func (s *setting) here() *client.ListOptions {
	return &client.ListOptions{Namespace: s.velero.Namespace}
}

// serverSays waits until the server has logged the message.
func (s *setting) serverSays(message string) {
	s.Helper()
	s.eventually(time.Minute, message, func() (bool, string) {
		log, err := s.velero.ServerLog()
		return err == nil && len(saying(logLines(log), message)) > 0, fmt.Sprint(err)
	})
}

// driverIsCalled waits until the driver makes so many snapshots: the application is frozen and we wait.
func (s *setting) driverIsCalled(volumes int) {
	s.Helper()
	s.becomes(30*time.Second, "driver called", func(state bench.State) bool { return len(state.Storage.Calls) == volumes })
}

// leavesOnly waits until no more than so many storage snapshots are left, and nothing of them in the cluster. When
// nobody undoes any more the sidecar may need its resync (README, "The snapshotter's own race"); it looks only at
// contents that carry every mark for their deletion.
func (s *setting) leavesOnly(storage int, limit time.Duration) {
	s.Helper()
	patience := time.Now().Add(resyncAfter)
	s.becomes(limit, "nothing left", func(state bench.State) bool {
		done := len(state.Snapshots) == 0 && len(state.Contents) == 0 && len(state.Storage.Live) == storage
		if !done && time.Now().After(patience) {
			woken, err := b.Resync(s.ctx, state)
			s.Logf("resync of %d contents (%v)", woken, err)
			patience = time.Now().Add(resyncAfter)
		}
		return done
	})
}

// labelled are the VolumeSnapshots that the README's label finds in this test's namespace.
func (s *setting) labelled() []snapshotv1.VolumeSnapshot {
	s.Helper()
	found, err := b.Snapshots.SnapshotV1().VolumeSnapshots("").List(s.ctx, metav1.ListOptions{LabelSelector: labelCreatedBy})
	if err != nil {
		s.Fatal(err)
	}
	var ours []snapshotv1.VolumeSnapshot
	for _, one := range found.Items {
		if one.Namespace == s.namespace {
			ours = append(ours, one)
		}
	}
	return ours
}

// deleteLabelled does what the README says about the one VolumeSnapshot that a backup has left.
func (s *setting) deleteLabelled(backup string) {
	s.Helper()
	left := s.labelled()
	if len(left) != 1 || left[0].DeletionTimestamp != nil || left[0].Labels[velerov1.BackupNameLabel] != backup {
		s.Fatalf("found by label: %v, wanted the one of backup %s; %s", left, backup, s.state())
	}
	if err := b.Snapshots.SnapshotV1().VolumeSnapshots(s.namespace).Delete(s.ctx, left[0].Name, metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
}

// thawed demands that the application was frozen so often and is not frozen any more.
func (s *setting) thawed(times int) {
	s.Helper()
	windows, err := b.Windows(s.namespace, "app")
	if err != nil {
		s.Fatal(err)
	}
	if len(windows) != times {
		s.Errorf("%d freezes, %d wanted: %v", len(windows), times, windows)
	}
	for _, window := range windows {
		if window.Thawed.IsZero() {
			s.Errorf("the application is still frozen, since %s", window.Frozen)
			continue
		}
		s.Logf("frozen for %s", window.Length().Round(time.Millisecond))
	}
}
