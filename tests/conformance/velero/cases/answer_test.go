package cases

import (
	"encoding/json"
	"reflect"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"github.com/vmware-tanzu/velero/pkg/plugin/velero"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// hasSnapshot checks a good answer against the cluster and the storage: R-20 … R-26 and our labels on the
// VolumeSnapshot, the bound content with the handle of the one live storage snapshot, R-30 … R-33 on the item, R-39.
func (s *setting) hasSnapshot(answer outcome, item *unstructured.Unstructured, backup *velerov1.Backup) snapshotv1.VolumeSnapshot {
	s.Helper()
	s.succeeds(answer)
	var mine []snapshotv1.VolumeSnapshot
	state := s.state()
	for _, one := range state.Snapshots {
		if source := one.Spec.Source.PersistentVolumeClaimName; source != nil && *source == item.GetName() {
			mine = append(mine, one)
		}
	}
	if len(mine) != 1 {
		s.Fatalf("%d VolumeSnapshots of %s, 1 wanted: %s", len(mine), item.GetName(), state)
	}
	snapshot := mine[0]
	if snapshot.Spec.VolumeSnapshotClassName == nil || *snapshot.Spec.VolumeSnapshotClassName == "" {
		s.Errorf("VolumeSnapshot without a class: %+v", snapshot.Spec)
	}
	s.labelled("VolumeSnapshot", snapshot.Labels, map[string]string{"velero.io/backup-name": backup.Name})
	if !builtin() {
		s.labelled("VolumeSnapshot", snapshot.Labels, map[string]string{
			"velero.io/backup-uid": string(backup.UID),
			"velero.io/pvc-uid":    string(item.GetUID()),
		})
		if snapshot.Labels["velero-plugin-csi-fastpoll/created-by"] == "" {
			s.Errorf("VolumeSnapshot without label velero-plugin-csi-fastpoll/created-by: %v", snapshot.Labels)
		}
	}
	s.bound(state, snapshot)

	s.labelled("item", answer.item.GetLabels(), map[string]string{
		"velero.io/volume-snapshot-name": snapshot.Name, "velero.io/backup-name": backup.Name,
	})
	s.labelled("item annotation", answer.item.GetAnnotations(), map[string]string{
		"velero.io/volume-snapshot-name":                 snapshot.Name,
		"backup.velero.io/must-include-additional-items": "true",
	})
	want := []velero.ResourceIdentifier{{
		GroupResource: schema.GroupResource{Group: "snapshot.storage.k8s.io", Resource: "volumesnapshots"},
		Namespace:     s.namespace, Name: snapshot.Name,
	}}
	if !reflect.DeepEqual(answer.additional, want) {
		s.Errorf("additional items %v, wanted %v", answer.additional, want)
	}
	if answer.operation != "" || len(answer.post) != 0 {
		s.Errorf("operation %q and post-operation items %v, none wanted (R-40)", answer.operation, answer.post)
	}
	return snapshot
}

// bound demands the content of a VolumeSnapshot with the handle of a live storage snapshot.
func (s *setting) bound(state bench.State, snapshot snapshotv1.VolumeSnapshot) {
	s.Helper()
	if snapshot.Status == nil || snapshot.Status.BoundVolumeSnapshotContentName == nil {
		s.Errorf("VolumeSnapshot %s is not bound", snapshot.Name)
		return
	}
	for _, content := range state.Contents {
		if content.Name != *snapshot.Status.BoundVolumeSnapshotContentName {
			continue
		}
		if _, labelled := content.Labels["velero.io/backup-name"]; labelled {
			s.Errorf("content %s has velero.io/backup-name, with which the Velero server would take it for its own", content.Name)
		}
		for _, cut := range state.Storage.Live {
			if content.Status != nil && content.Status.SnapshotHandle != nil && *content.Status.SnapshotHandle == cut.Handle {
				return
			}
		}
		s.Errorf("content %s has no handle of a live storage snapshot: %s", content.Name, state)
		return
	}
	s.Errorf("content %s is missing: %s", *snapshot.Status.BoundVolumeSnapshotContentName, state)
}

func (s *setting) labelled(what string, have, want map[string]string) {
	s.Helper()
	for key, value := range want {
		if have[key] != value {
			s.Errorf("%s: %s=%q, wanted %q", what, key, have[key], value)
		}
	}
}

// echoed demands the item as it came, byte by byte in its JSON form, nothing additional, and no API write.
func (s *setting) echoed(answer outcome, item *unstructured.Unstructured) {
	s.Helper()
	s.succeeds(answer)
	if have, want := encoded(s.T, answer.item), encoded(s.T, item); have != want {
		s.Errorf("item not echoed:\nhave %s\nwant %s", have, want)
	}
	if len(answer.additional)+len(answer.post) != 0 || answer.operation != "" {
		s.Errorf("an echo with additional items %v, post items %v, operation %q", answer.additional, answer.post, answer.operation)
	}
	if writes := s.writes(); len(writes) != 0 {
		s.Errorf("an echo with API writes:\n%s", bench.Table(writes))
	}
	if state := s.state(); !state.Empty() {
		s.Errorf("an echo that left something: %s", state)
	}
}

func encoded(t *testing.T, item *unstructured.Unstructured) string {
	t.Helper()
	text, err := json.Marshal(item.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
