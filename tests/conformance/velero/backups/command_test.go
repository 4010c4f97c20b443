package backups

import (
	"maps"
	"strings"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// What an operator sees through the velero command: the plugin in the list, the volume with its CSI snapshot, and
// exactly the warnings and errors that we have logged.
func TestVeleroCommand(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Install{})
	s.application(bench.Application{Volumes: bench.Volumes(1)})

	var listed bool
	// After 5 s it would print an error and end as if all were well.
	plugins := s.command("plugin", "get", "--timeout=1m")
	for _, line := range strings.Split(plugins, "\n") {
		fields := strings.Fields(line)
		listed = listed || len(fields) == 2 && fields[0] == "velero-plugin-csi-fastpoll/pvc-backupper" && fields[1] == "BackupItemActionV2"
	}
	if !listed {
		t.Errorf("not listed as BackupItemActionV2:\n%s", plugins)
	}

	t.Run("clean", func(t *testing.T) {
		s := s.in(t)
		done, archive := s.run(s.backup("command-clean", bench.Policy()), velerov1.BackupPhaseCompleted)
		s.counts(done, archive, 0, 0)
		s.shows(archive, "command-clean", "Completed", "CSI Snapshots:", s.namespace+"/data-0:", "Snapshot Content Name:")
		s.leavesOnly(1, leftoverLimit)
	})

	t.Run("warning", func(t *testing.T) {
		s := s.in(t)
		backup := s.backup("command-warning", bench.Policy())
		backup.Annotations = map[string]string{"velero-plugin-csi-fastpoll/early-window": "ten"}
		done, archive := s.run(backup, velerov1.BackupPhaseCompleted)
		s.counts(done, archive, 1, 0)
		s.shows(archive, "command-warning", "Completed", "Warnings:", "annotations of the backup that cannot be used",
			"velero-plugin-csi-fastpoll/early-window", s.namespace+"/data-0:")
		s.leavesOnly(2, leftoverLimit)
	})

	// Somebody deletes the VolumeSnapshot that we wait for (F91).
	t.Run("error", func(t *testing.T) {
		s := s.in(t)
		before := s.state().Storage.Calls[bench.Handle(s.namespace, "data-0")]
		s.behave(bench.Behaviour{Hang: true})
		s.create(s.backup("command-error", bench.Policy()))
		s.becomes(30*time.Second, "driver called", func(state bench.State) bool {
			return state.Storage.Calls[bench.Handle(s.namespace, "data-0")] > before
		})
		pruned := s.labelled()
		if len(pruned) != 1 {
			t.Fatalf("VolumeSnapshots %v, wanted the one of this backup", pruned)
		}
		if err := b.Snapshots.SnapshotV1().VolumeSnapshots(s.namespace).Delete(s.ctx, pruned[0].Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		s.behave(bench.Behaviour{})
		done, err := s.velero.Wait(s.ctx, "command-error", time.Minute, bench.Finished)
		if err != nil {
			t.Fatal(err)
		}
		archive := s.ended(done, velerov1.BackupPhasePartiallyFailed)
		s.counts(done, archive, 0, 1)
		s.shows(archive, "command-error", "PartiallyFailed", "Errors:", "the snapshot of the PVC failed",
			pruned[0].Name+" was deleted by somebody else while its handle was waited for", "/persistentvolumeclaims name: /data-0")
		s.leavesOnly(2, leftoverLimit)
	})
}

// in is this setting for a subtest.
func (s *setting) in(t *testing.T) *setting {
	inner := *s
	inner.T = t
	return &inner
}

// command runs the velero command and returns what it prints.
func (s *setting) command(arguments ...string) string {
	s.Helper()
	text, err := s.velero.Command(s.ctx, arguments...)
	if err != nil {
		s.Fatal(err)
	}
	return text
}

// shows demands the words in what the velero command describes, and every line of ours in the log that it downloads.
func (s *setting) shows(archive *bench.Archive, backup string, words ...string) {
	s.Helper()
	described := s.command("backup", "describe", backup, "--details")
	for _, word := range words {
		if !strings.Contains(described, word) {
			s.Errorf("%q is not in the description:\n%s", word, described)
		}
	}
	printed, kept := ours(logLines(s.command("backup", "logs", backup))), ours(logLines(archive.Log))
	if len(kept) == 0 || len(printed) != len(kept) {
		s.Fatalf("velero backup logs has %d lines of ours, the archive %d", len(printed), len(kept))
	}
	for i := range kept {
		if !maps.Equal(printed[i], kept[i]) {
			s.Errorf("velero backup logs has %v, the archive %v", printed[i], kept[i])
		}
	}
}
