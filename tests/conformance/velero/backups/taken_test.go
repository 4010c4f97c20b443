package backups

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

const (
	volumeSnapshots        = "volumesnapshots.snapshot.storage.k8s.io"
	volumeSnapshotContents = "volumesnapshotcontents.snapshot.storage.k8s.io"
	volumeClaims           = "persistentvolumeclaims"

	labelBackup    = "velero.io/backup-name"
	labelBackupUID = "velero.io/backup-uid"
	labelClaimUID  = "velero.io/pvc-uid"
	labelCreatedBy = "velero-plugin-csi-fastpoll/created-by"
	snapshotName   = "velero.io/volume-snapshot-name"
	mustInclude    = "backup.velero.io/must-include-additional-items"
)

// taker is who has taken a snapshot.
type taker string

const (
	us      taker = "this plugin"
	builtIn taker = "the built-in"
)

// completed runs a backup, which must be Completed and say so everywhere.
func (s *setting) completed(backup *velerov1.Backup) backedUp {
	s.Helper()
	done, archive := s.run(backup, velerov1.BackupPhaseCompleted)
	return s.consistent(backedUp{done, archive})
}

// consistent demands that the numbers in the status are those of the results, and that nothing went wrong.
func (s *setting) consistent(b backedUp) backedUp {
	s.Helper()
	if b.Status.Warnings != len(b.archive.Warnings) || b.Status.Errors != len(b.archive.Errors) {
		s.Errorf("%s: %d warnings and %d errors in the status, but in the results %q and %q",
			b.Name, b.Status.Warnings, b.Status.Errors, b.archive.Warnings, b.archive.Errors)
	}
	if b.Status.Errors != 0 {
		s.Errorf("%s: errors %q", b.Name, b.archive.Errors)
	}
	return b
}

// taken demands that a backup has the snapshots of exactly these claims of a namespace, taken by `who` and whole in
// the status, the log, the archive and VolumeInfo. It returns the storage's handles by claim.
func (s *setting) taken(b backedUp, who taker, namespace string, claims ...string) map[string]string {
	s.Helper()
	attempted, done := b.Status.CSIVolumeSnapshotsAttempted, b.Status.CSIVolumeSnapshotsCompleted
	if attempted != len(claims) || done != len(claims) {
		s.Errorf("%s: %d CSI snapshots attempted and %d completed, wanted %d", b.Name, attempted, done, len(claims))
	}
	handles := map[string]string{}
	for _, snapshot := range b.archive.Of(volumeSnapshots) {
		claim := text(snapshot, "spec", "source", "persistentVolumeClaimName")
		if !bench.VeleroAtLeast("1.17") && snapshot.GetLabels()[labelBackup] != b.Name {
			// Collected like any other object: a snapshot of another backup, or of a restore.
			continue
		}
		if snapshot.GetNamespace() != namespace || !slices.Contains(claims, claim) || handles[claim] != "" {
			s.Errorf("%s: VolumeSnapshot %s/%s of %q in the archive is one too many", b.Name, snapshot.GetNamespace(), snapshot.GetName(), claim)
			continue
		}
		handles[claim] = s.archived(b, who, snapshot, claim)
	}
	result := "succeeded"
	if !bench.VeleroAtLeast("1.15") {
		// VolumeInfo has no result yet.
		result = ""
	}
	infos := b.csiInfos(namespace)
	for _, claim := range claims {
		if handles[claim] == "" {
			s.Errorf("%s: no VolumeSnapshot of %s in the archive", b.Name, claim)
		}
		info := infos[claim]
		if info.Handle != handles[claim] || info.Result != result {
			s.Errorf("%s: VolumeInfo of %s is %+v, wanted handle %q", b.Name, claim, info, handles[claim])
		}
	}
	if len(infos) != len(claims) {
		s.Errorf("%s: CSI entries of VolumeInfo for %v, wanted %v", b.Name, slices.Sorted(maps.Keys(infos)), claims)
	}
	s.told(b, who, claims)
	return handles
}

// archived looks at one claim, its VolumeSnapshot and its content in the archive (R-20 … R-33, C-5), and returns the
// handle.
func (s *setting) archived(b backedUp, who taker, snapshot *unstructured.Unstructured, claim string) string {
	s.Helper()
	pvc := b.archive.Objects[volumeClaims+"/"+snapshot.GetNamespace()+"/"+claim]
	content := b.archive.Objects[volumeSnapshotContents+"/"+text(snapshot, "status", "boundVolumeSnapshotContentName")]
	if pvc == nil || content == nil {
		s.Fatalf("%s: %s: in the archive are claim %v and content %v", b.Name, claim, pvc != nil, content != nil)
	}
	labels, annotations := pvc.GetLabels(), pvc.GetAnnotations()
	if labels[labelBackup] != b.Name || labels[snapshotName] != snapshot.GetName() ||
		annotations[snapshotName] != snapshot.GetName() || annotations[mustInclude] != "true" {
		s.Errorf("%s: claim %s has labels %v and annotations %v", b.Name, claim, labels, annotations)
	}
	for _, object := range []*unstructured.Unstructured{snapshot, content} {
		if object.GetLabels()[labelBackup] != b.Name {
			s.Errorf("%s: %s %s has labels %v", b.Name, object.GetKind(), object.GetName(), object.GetLabels())
		}
	}
	own := snapshot.GetLabels()
	by := builtIn
	if own[labelCreatedBy] != "" {
		by = us
		if own[labelBackupUID] != string(b.UID) || own[labelClaimUID] != string(pvc.GetUID()) {
			s.Errorf("%s: VolumeSnapshot %s has labels %v", b.Name, snapshot.GetName(), own)
		}
	}
	if by != who {
		s.Errorf("%s: %s was taken by %s, wanted %s", b.Name, claim, by, who)
	}
	return text(content, "status", "snapshotHandle")
}

// told demands the plugin's one line per backup where it is installed, one per claim that it took, and no complaint.
func (s *setting) told(b backedUp, who taker, claims []string) {
	s.Helper()
	introductions, wanted := 1, 1
	if s.withoutPlugin {
		introductions = 0
	}
	if who != us {
		wanted = 0
	}
	if found := len(b.lines("takes part in this backup")); found != introductions {
		s.Errorf("%s: %d lines introduce the plugin, wanted %d", b.Name, found, introductions)
	}
	cut := b.lines("the storage has cut the snapshot")
	for _, claim := range claims {
		said := slices.DeleteFunc(slices.Clone(cut), func(line string) bool { return !strings.Contains(line, " pvc="+claim+" ") })
		if len(said) != wanted {
			s.Errorf("%s: %d lines say that %s was cut, wanted %d", b.Name, len(said), claim, wanted)
		}
	}
	if len(cut) != wanted*len(claims) {
		s.Errorf("%s: %d snapshots cut according to the log, wanted %d", b.Name, len(cut), wanted*len(claims))
	}
	for _, line := range b.lines("pluginName=velero-plugin-csi-fastpoll") {
		if regexp.MustCompile(` level=(warning|error) `).MatchString(line) {
			s.Errorf("%s: %s", b.Name, line)
		}
	}
}

// lines are those of the backup's log with a text in them.
func (b backedUp) lines(text string) []string {
	return slices.DeleteFunc(strings.Split(b.archive.Log, "\n"), func(line string) bool { return !strings.Contains(line, text) })
}

// csiInfo is what tests look at in a CSI entry of VolumeInfo.
type csiInfo struct{ Handle, Result string }

// csiInfos are VolumeInfo's CSI entries of a namespace by claim. Two of one claim come out as one without a handle.
func (b backedUp) csiInfos(namespace string) map[string]csiInfo {
	infos := map[string]csiInfo{}
	for _, entry := range b.archive.VolumeInfo {
		info := &unstructured.Unstructured{Object: entry}
		claim := text(info, "pvcName")
		if text(info, "backupMethod") != "CSISnapshot" || text(info, "pvcNamespace") != namespace {
			continue
		}
		if _, twice := infos[claim]; twice {
			infos[claim] = csiInfo{Result: "two entries"}
			continue
		}
		infos[claim] = csiInfo{Handle: text(info, "csiSnapshotInfo", "snapshotHandle"), Result: text(info, "result")}
	}
	return infos
}

// left waits until the cluster has no VolumeSnapshot and no content of a namespace and demands that the storage has
// exactly these snapshots.
func (s *setting) left(namespace string, handles ...string) {
	s.Helper()
	err := bench.Eventually(s.ctx, 30*time.Second, 50*time.Millisecond, func(context.Context) (bool, string) {
		state, err := b.State(s.ctx, namespace)
		return err == nil && len(state.Snapshots) == 0 && len(state.Contents) == 0, fmt.Sprint(err, state)
	})
	if err != nil {
		s.Error(err)
	}
	s.live(namespace, handles...)
}

// live waits until the storage has exactly these snapshots of a namespace.
func (s *setting) live(namespace string, handles ...string) {
	s.Helper()
	slices.Sort(handles)
	err := bench.Eventually(s.ctx, 30*time.Second, 50*time.Millisecond, func(context.Context) (bool, string) {
		storage, err := b.Driver.Snapshots(namespace + "/")
		var live []string
		for _, one := range storage.Live {
			live = append(live, one.Handle)
		}
		slices.Sort(live)
		return err == nil && slices.Equal(live, handles), fmt.Sprintf("%v the storage has %q, wanted %q", err, live, handles)
	})
	if err != nil {
		s.Error(err)
	}
}

// text is a nested string, empty when it is not there.
func text(object *unstructured.Unstructured, path ...string) string {
	found, _, _ := unstructured.NestedString(object.Object, path...)
	return found
}
