package backups

import (
	"testing"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Install{})
	s.application(bench.Application{Volumes: bench.Volumes(2)})
	done, archive := s.run(s.backup("plain", policy("custom", true)), velerov1.BackupPhaseCompleted)
	if done.Status.CSIVolumeSnapshotsAttempted != 2 || done.Status.CSIVolumeSnapshotsCompleted != 2 {
		t.Errorf("%d CSI snapshots attempted, %d completed, 2 and 2 wanted", done.Status.CSIVolumeSnapshotsAttempted, done.Status.CSIVolumeSnapshotsCompleted)
	}
	if found := len(archive.Of("volumesnapshots.snapshot.storage.k8s.io")); found != 2 {
		t.Errorf("%d VolumeSnapshots in the archive, 2 wanted", found)
	}
}
