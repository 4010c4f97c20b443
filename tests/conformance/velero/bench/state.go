package bench

import (
	"context"
	"fmt"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// State is everything that a snapshot leaves: its object, its content, and the snapshot in the storage.
type State struct {
	Snapshots []snapshotv1.VolumeSnapshot
	Contents  []snapshotv1.VolumeSnapshotContent
	Storage   StorageReport
}

// State reads what belongs to the PVCs of a namespace. Contents are cluster-wide; their reference says whose they
// are, also when the VolumeSnapshot is gone.
func (b *Bench) State(ctx context.Context, namespace string) (state State, err error) {
	snapshots, err := b.Snapshots.SnapshotV1().VolumeSnapshots(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return state, err
	}
	contents, err := b.Snapshots.SnapshotV1().VolumeSnapshotContents().List(ctx, metav1.ListOptions{})
	if err != nil {
		return state, err
	}
	state.Snapshots = snapshots.Items
	for _, content := range contents.Items {
		if content.Spec.VolumeSnapshotRef.Namespace == namespace {
			state.Contents = append(state.Contents, content)
		}
	}
	state.Storage, err = b.Driver.Snapshots(namespace + "/")
	return state, err
}

// Empty is true when nothing is left anywhere.
func (s State) Empty() bool {
	return len(s.Snapshots) == 0 && len(s.Contents) == 0 && len(s.Storage.Live) == 0
}

// String tells what is left and in what condition, for the message of a failed test.
func (s State) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d VolumeSnapshots, %d contents, %d storage snapshots (%d deleted)",
		len(s.Snapshots), len(s.Contents), len(s.Storage.Live), len(s.Storage.Deleted))
	for _, one := range s.Snapshots {
		fmt.Fprintf(&text, "\n  VolumeSnapshot %s/%s deleted=%v finalizers=%v", one.Namespace, one.Name, one.DeletionTimestamp, one.Finalizers)
	}
	for _, one := range s.Contents {
		handle := "none"
		if one.Status != nil && one.Status.SnapshotHandle != nil {
			handle = *one.Status.SnapshotHandle
		}
		fmt.Fprintf(&text, "\n  content %s policy=%s handle=%s deleted=%v finalizers=%v annotations=%v",
			one.Name, one.Spec.DeletionPolicy, handle, one.DeletionTimestamp, one.Finalizers, one.Annotations)
	}
	for _, one := range s.Storage.Live {
		fmt.Fprintf(&text, "\n  storage %s of %s", one.Handle, one.Volume)
	}
	return text.String()
}

// Resync is what csi-snapshotter's resync does every 15 minutes: it makes the sidecar look again at contents that are
// marked for deletion in every way. It misses some when a VolumeSnapshot is deleted while CreateSnapshot is in
// flight (see the facts suite). It returns how many it had to wake.
func (b *Bench) Resync(ctx context.Context, state State) (woken int, err error) {
	for _, content := range state.Contents {
		_, marked := content.Annotations["snapshot.storage.kubernetes.io/volumesnapshot-being-deleted"]
		if !marked || content.DeletionTimestamp == nil || content.Spec.DeletionPolicy != snapshotv1.VolumeSnapshotContentDelete {
			continue
		}
		woken++
		touch := fmt.Sprintf(`{"metadata":{"annotations":{"conformance/resync":"%d"}}}`, time.Now().UnixNano())
		if _, err := b.Snapshots.SnapshotV1().VolumeSnapshotContents().Patch(ctx, content.Name, types.MergePatchType, []byte(touch), metav1.PatchOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return woken, err
		}
	}
	return woken, nil
}
