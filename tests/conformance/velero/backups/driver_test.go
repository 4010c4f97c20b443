package backups

import (
	"strings"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"google.golang.org/grpc/codes"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// The driver hangs for one of two volumes and for longer than the undo lasts. The backup is PartiallyFailed by it with
// the other volume in it, one error of ours tells all names, one warning names what stays, and the application is
// thawed. Once the driver answers nothing is left of that volume (W-6, W-12, W-13).
func TestDriverHangs(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Install{})
	s.application(bench.Application{Volumes: bench.Volumes(2)})
	hanging := bench.Handle(s.namespace, "data-0")
	if err := b.Driver.Behave(hanging, bench.Behaviour{Hang: true}); err != nil {
		t.Fatal(err)
	}
	release := func() {
		if err := b.Driver.Behave(hanging, bench.Behaviour{}); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(release)
	backup := s.backup("hangs", bench.Policy())
	// It holds for the volume whose driver is well, too, and many Veleros share this machine. With the undo's 30 s it
	// stays below the minute after which the sidecar gives up.
	backup.Spec.CSISnapshotTimeout.Duration = 15 * time.Second

	done, archive := s.run(backup, velerov1.BackupPhasePartiallyFailed)

	s.thawed(1)
	s.counts(done, archive, 1, 1)
	state := s.state()
	if len(state.Contents) != 1 {
		t.Fatalf("wanted the content of the hanging snapshot alone: %s", state)
	}
	content := state.Contents[0]
	failed := at(ours(logLines(archive.Log)), "error")
	for _, name := range []string{content.Spec.VolumeSnapshotRef.Name, content.Name, bench.DriverName, "data-0"} {
		for _, line := range failed {
			if !strings.Contains(line["error"]+line["pvc"], name) {
				t.Errorf("%s is not named by %v", name, line)
			}
		}
		// What `velero backup describe` shows.
		if !contains(archive.Errors, "timed out", name) {
			t.Errorf("%s is not named by the results %q", name, archive.Errors)
		}
	}
	if !contains(archive.Warnings, content.Name) {
		t.Errorf("what is left, %s, is not named by the warnings %q", content.Name, archive.Warnings)
	}
	if done.Status.CSIVolumeSnapshotsAttempted != 2 || done.Status.CSIVolumeSnapshotsCompleted != 1 {
		t.Errorf("%d CSI snapshots attempted and %d completed, 2 and 1 wanted", done.Status.CSIVolumeSnapshotsAttempted, done.Status.CSIVolumeSnapshotsCompleted)
	}
	for volume, wanted := range map[string]bool{"data-0": false, "data-1": true} {
		if found := archive.Objects["persistentvolumeclaims/"+s.namespace+"/"+volume] != nil; found != wanted {
			t.Errorf("PVC %s in the archive: %v, wanted %v", volume, found, wanted)
		}
	}
	if found := len(archive.Of(volumeSnapshots)); found != 1 {
		t.Errorf("%d VolumeSnapshots in the archive, 1 wanted", found)
	}

	release()
	s.leavesOnly(1, leftoverLimit)
	if kept := s.state().Storage.Live; len(kept) != 1 || kept[0].Volume != bench.Handle(s.namespace, "data-1") {
		t.Errorf("kept in the storage: %+v, wanted that of data-1", kept)
	}
}

// A driver that fails and then heals costs time, never the backup. What passes within 10 s is not even a warning; what
// lasts is one (W-5, F11, F18).
func TestDriverHeals(t *testing.T) {
	for _, one := range []struct {
		name string
		// The sidecar tries again after 1 s, 2 s, 4 s and 8 s.
		failures, warnings int
	}{{"soon", 2, 0}, {"late", 4, 1}} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			s := set(t, bench.Install{})
			s.application(bench.Application{Volumes: bench.Volumes(1)})
			s.behave(bench.Behaviour{Failures: one.failures, Code: uint32(codes.Internal), Message: "the array is busy"})

			backup := s.backup("heals-"+one.name, bench.Policy())
			// The plugin warns at a look, and the usual window has none between its 10 s and the success at 15 s.
			backup.Annotations = map[string]string{"velero-plugin-csi-fastpoll/early-window": "20s"}
			done, archive := s.run(backup, velerov1.BackupPhaseCompleted)

			s.thawed(1)
			s.counts(done, archive, one.warnings, 0)
			if one.warnings > 0 && !contains(archive.Warnings, "data-0", "the array is busy") {
				t.Errorf("warnings %q, wanted the PVC and the driver's own words", archive.Warnings)
			}
			if calls := s.state().Storage.Calls[bench.Handle(s.namespace, "data-0")]; calls <= one.failures {
				t.Errorf("CreateSnapshot was called %d times, the failures were not used up", calls)
			}
			if done.Status.CSIVolumeSnapshotsCompleted != 1 || len(archive.Of(volumeSnapshotContents)) != 1 {
				t.Errorf("the snapshot is not in the backup: %+v", done.Status)
			}
			s.leavesOnly(1, leftoverLimit)
		})
	}
}
