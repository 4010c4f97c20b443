package backups

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// A backup is restored beside its original from the snapshots, with volumes as large as the storage needs them (R-34,
// F113); what was restored is backed up again in spite of the marks that a restore leaves (W-27); and deleting the
// backups deletes their snapshots, each its own.
func TestRestoreElsewhere(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Install{Env: quick})
	s.behave(bench.Behaviour{SizeBytes: 3 << 30})
	s.application(bench.Application{Volumes: bench.Volumes(2)})
	claims := []string{"data-0", "data-1"}
	first := s.completed(s.backup(s.unique("first"), bench.Policy()))
	handles := s.taken(first, us, s.namespace, claims...)
	s.left(s.namespace, slices.Collect(maps.Values(handles))...)

	elsewhere := s.namespace + "-elsewhere"
	s.restore(first, elsewhere, handles)
	for _, name := range claims {
		claim := s.claim(elsewhere, name)
		if size := claim.Spec.Resources.Requests[corev1.ResourceStorage]; size.String() != "3Gi" {
			t.Errorf("restored claim %s asks for %s, the storage needs 3Gi", name, size.String())
		}
		// What W-27 says is left, or the second backup would prove nothing.
		if claim.Labels[labelBackup] != first.Name || claim.Labels[snapshotName] == "" || claim.Annotations[mustInclude] != "true" {
			t.Errorf("restored claim %s has labels %v and annotations %v", name, claim.Labels, claim.Annotations)
		}
	}

	again := s.backup(s.unique("second"), bench.Policy())
	again.Spec.IncludedNamespaces = []string{elsewhere}
	second := s.completed(again)
	cutAgain := s.taken(second, us, elsewhere, claims...)
	s.live(elsewhere, slices.Collect(maps.Values(cutAgain))...)
	for _, snapshot := range second.archive.Of(volumeSnapshots) {
		if snapshot.GetLabels()[labelBackup] != second.Name {
			continue
		}
		for label := range snapshot.GetLabels() {
			if label == "velero.io/restore-name" || label == snapshotName {
				t.Errorf("VolumeSnapshot %s has label %s of the restore", snapshot.GetName(), label)
			}
		}
	}

	if err := s.velero.DeleteBackup(s.ctx, first.Backup); err != nil {
		t.Fatal(err)
	}
	s.live(s.namespace)
	s.live(elsewhere, slices.Collect(maps.Values(cutAgain))...)
	if err := s.velero.DeleteBackup(s.ctx, second.Backup); err != nil {
		t.Fatal(err)
	}
	s.live(elsewhere)
	s.left(s.namespace)
	for _, name := range []string{first.Name, second.Name} {
		if s.velero.HasArchive(name) {
			t.Errorf("the archive of %s is still there", name)
		}
	}
}

// After the original is gone the restore must use the snapshots, although Velero lists the volumes as skipped too and
// their PVs say Retain: the last entry of a PV in VolumeInfo counts (8.4). With the skipped one the claims would be
// bound to PVs of volumes that nobody has.
func TestRestoreAfterLoss(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Install{Env: quick})
	s.application(bench.Application{Volumes: bench.Volumes(2)})
	backup := s.completed(s.backup(s.unique("before"), bench.Policy()))
	handles := s.taken(backup, us, s.namespace, "data-0", "data-1")
	s.left(s.namespace, slices.Collect(maps.Values(handles))...)

	// README "After the first backup": describe has the snapshot, Velero's summary in the log has the volume as skipped.
	described, err := s.velero.Command(s.ctx, "backup", "describe", backup.Name, "--details")
	if err != nil {
		t.Fatal(err)
	}
	summary := strings.Join(backup.lines("Summary for skipped PVs"), "\n")
	var volumes []string
	for claim, handle := range handles {
		volume := s.claim(s.namespace, claim).Spec.VolumeName
		volumes = append(volumes, volume)
		methods := backup.methods(s.namespace, claim)
		if !slices.Equal(methods, []string{"skipped", "CSISnapshot"}) {
			t.Errorf("VolumeInfo has %q for %s, wanted skipped first and then the snapshot", methods, claim)
		}
		if !strings.Contains(described, "Storage Snapshot ID: "+handle) {
			t.Errorf("describe does not name %s:\n%s", handle, described)
		}
		if !strings.Contains(summary, volume) || !strings.Contains(summary, "not satisfy the criteria for VolumePolicy") {
			t.Errorf("the log does not call %s skipped: %s", volume, summary)
		}
	}
	if strings.Contains(strings.ToLower(described), "skipped") {
		t.Errorf("describe calls something skipped:\n%s", described)
	}

	if err := b.RemoveNamespace(s.ctx, s.namespace); err != nil {
		t.Fatal(err)
	}
	restored := s.restore(backup, s.namespace, handles)
	for claim := range handles {
		volume, err := b.Kube.CoreV1().PersistentVolumes().Get(s.ctx, s.claim(s.namespace, claim).Spec.VolumeName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		// The new volume's class says Delete; Velero gives it what VolumeInfo has of the old one.
		if volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
			t.Errorf("the new volume of %s is to be reclaimed by %s", claim, volume.Spec.PersistentVolumeReclaimPolicy)
		}
	}
	for _, volume := range volumes {
		if !strings.Contains(restored.Log, "Dynamically re-provisioning persistent volume because it has a CSI VolumeSnapshot") {
			t.Errorf("the restore does not say that it uses the snapshot:\n%s", restored.Log)
		}
		if _, err := b.Kube.CoreV1().PersistentVolumes().Get(s.ctx, volume, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("PV %s is back: %v", volume, err)
		}
	}
}

// restore restores a backup's only namespace into another one, or the same, and demands that each claim is made from
// the snapshot with this handle.
func (s *setting) restore(from backedUp, into string, handles map[string]string) *bench.Restored {
	s.Helper()
	var mapping map[string]string
	if into != s.namespace {
		mapping = map[string]string{s.namespace: into}
	}
	restored, err := s.velero.Restore(s.ctx, from.Name+"-restored", from.Name, mapping, func(running context.Context) error {
		for name, wanted := range handles {
			handle, err := b.ProvisionFromSnapshot(running, into, name)
			if err != nil {
				return err
			}
			if handle != wanted {
				s.Errorf("restored claim %s is made from %s, wanted %s", name, handle, wanted)
			}
		}
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	if !bench.VeleroAtLeast("1.15") {
		// Without our plugin as well: it restores the content once with its snapshot and tries it once more by itself.
		restored.Warnings = slices.DeleteFunc(restored.Warnings, func(warning string) bool {
			return strings.HasPrefix(warning, "could not restore, VolumeSnapshotContent")
		})
	}
	if restored.Status.Phase != "Completed" || len(restored.Warnings)+len(restored.Errors) != 0 {
		s.Errorf("restore %s is %s, warnings %q, errors %q", restored.Name, restored.Status.Phase, restored.Warnings, restored.Errors)
	}
	if err := b.SchedulePods(s.ctx, into); err != nil {
		s.Fatal(err)
	}
	return restored
}

func (s *setting) claim(namespace, name string) *corev1.PersistentVolumeClaim {
	s.Helper()
	claim, err := b.Kube.CoreV1().PersistentVolumeClaims(namespace).Get(s.ctx, name, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return claim
}

// methods are how VolumeInfo says a claim was backed up, in its order.
func (b backedUp) methods(namespace, claim string) []string {
	var methods []string
	for _, info := range b.archive.VolumeInfo {
		if info["pvcNamespace"] != namespace || info["pvcName"] != claim {
			continue
		}
		method, _ := info["backupMethod"].(string)
		if info["skipped"] == true {
			method += "skipped"
		}
		methods = append(methods, method)
	}
	return methods
}
