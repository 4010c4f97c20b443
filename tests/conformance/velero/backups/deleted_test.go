package backups

import (
	"strings"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// Velero refuses to delete a backup that runs; the backup goes on as if nobody had asked, and can be deleted with its
// snapshot once it is done.
func TestDeletionRequestedWhileRunning(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Install{})
	s.waitsInTheDriver("deletion-requested")

	s.command("backup", "delete", "deletion-requested", "--confirm")
	s.refusedDeletion()
	s.behave(bench.Behaviour{})

	done, err := s.velero.Wait(s.ctx, "deletion-requested", time.Minute, bench.Finished)
	if err != nil {
		t.Fatal(err)
	}
	archive := s.ended(done, velerov1.BackupPhaseCompleted)
	s.counts(done, archive, 0, 0)
	s.leavesOnly(1, leftoverLimit)

	s.command("backup", "delete", "deletion-requested", "--confirm")
	s.backupGoes("deletion-requested")
	s.leavesOnly(0, leftoverLimit)
}

// The Backup object is deleted under a server that goes on without noticing: it writes an archive that nobody will
// list and never finalizes it, so the VolumeSnapshot stays. It is found by our label, and deleting it as the README
// says leaves nothing.
func TestBackupObjectDeletedWhileRunning(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Install{})
	s.application(bench.Application{Volumes: bench.Volumes(1)})
	s.behave(bench.Behaviour{Hang: true})
	backup := s.backup("object-deleted", bench.Policy())
	s.create(backup)
	s.driverIsCalled(1)

	if err := s.velero.Client.Delete(s.ctx, backup); err != nil {
		t.Fatal(err)
	}
	s.behave(bench.Behaviour{})

	s.serverSays("Initial backup processing complete")
	s.pluginsEnd(30 * time.Second)
	s.thawed(1)
	archive, err := s.velero.Archive("object-deleted")
	if err != nil {
		t.Fatal(err)
	}
	lines := ours(logLines(archive.Log))
	if len(saying(lines, "the storage has cut the snapshot")) != 1 || len(at(lines, "warning"))+len(at(lines, "error")) != 0 {
		t.Errorf("our lines: %v", lines)
	}
	s.deleteLabelled("object-deleted")
	s.leavesOnly(0, leftoverLimit)
}

// refusedDeletion waits until Velero has answered the request, and demands that it refuses.
func (s *setting) refusedDeletion() {
	s.Helper()
	var request velerov1.DeleteBackupRequest
	s.eventually(30*time.Second, "deletion request answered", func() (bool, string) {
		var requests velerov1.DeleteBackupRequestList
		if err := s.velero.Client.List(s.ctx, &requests, s.here()); err != nil {
			return false, err.Error()
		}
		if len(requests.Items) != 1 {
			return false, "no request"
		}
		request = requests.Items[0]
		return request.Status.Phase == velerov1.DeleteBackupRequestPhaseProcessed, string(request.Status.Phase)
	})
	if !contains(request.Status.Errors, "in progress") {
		s.Errorf("the request was answered with %q", request.Status.Errors)
	}
	s.Logf("Velero: %s", strings.Join(request.Status.Errors, "; "))
}
