// Package facts measures what the snapshotter does by itself, without any plugin: what an undo can rely on. It
// states nothing; run it against another snapshotter version and compare.
package facts

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

var b *bench.Bench

func TestMain(m *testing.M) {
	os.Exit(bench.Main(m, bench.Options{}, func(started *bench.Bench) error {
		b = started
		return nil
	}, nil))
}

// volumes is how many snapshots each fact is measured on: enough to see a race that is not rare.
const volumes = 20

// observe makes `volumes` snapshots of a class under a behaviour, calls disturb for each once the driver was
// called, then release, and tells how many are gone completely after the limit and what the others look like.
func observe(t *testing.T, class string, how bench.Behaviour, disturb func(context.Context, *snapshotv1.VolumeSnapshot) error, release func(prefix string) error) {
	ctx := context.Background()
	namespace, err := b.Namespace(ctx, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	prefix := namespace + "/"
	if err := b.Driver.Behave(prefix, how); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for number := range volumes {
		group.Go(func() {
			name := fmt.Sprintf("data-%d", number)
			if _, err := b.CreateVolume(ctx, namespace, bench.Volume{Name: name}); err != nil {
				t.Error(err)
				return
			}
			snapshot := &snapshotv1.VolumeSnapshot{
				ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
				Spec: snapshotv1.VolumeSnapshotSpec{
					Source:                  snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: &name},
					VolumeSnapshotClassName: &class,
				},
			}
			snapshot, err := b.Snapshots.SnapshotV1().VolumeSnapshots(namespace).Create(ctx, snapshot, metav1.CreateOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := disturb(ctx, snapshot); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	time.Sleep(time.Second)
	if err := release(prefix); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	var state bench.State
	look(ctx, 20*time.Second, namespace, &state)
	t.Logf("after %s of %d: %s", time.Since(begin).Round(100*time.Millisecond), volumes, state)

	// The same again once every content that is left was helped.
	for _, content := range state.Contents {
		if err := remedy(ctx, content); err != nil {
			t.Logf("remedy for %s: %v", content.Name, err)
		}
	}
	begin = time.Now()
	look(ctx, 10*time.Second, namespace, &state)
	t.Logf("%s after the remedy: %s", time.Since(begin).Round(100*time.Millisecond), state)
}

// look keeps the last state that could be read until nothing is left or the time is up.
func look(ctx context.Context, limit time.Duration, namespace string, state *bench.State) {
	_ = bench.Eventually(ctx, limit, 100*time.Millisecond, func(ctx context.Context) (bool, string) {
		if seen, err := b.State(ctx, namespace); err == nil {
			*state = seen
			return seen.Empty(), ""
		}
		return false, ""
	})
}

// called waits until the driver has the CreateSnapshot call for a snapshot's volume.
func called(ctx context.Context, snapshot *snapshotv1.VolumeSnapshot) error {
	return bench.Eventually(ctx, 5*time.Second, 20*time.Millisecond, func(context.Context) (bool, string) {
		report, err := b.Driver.Snapshots(bench.Handle(snapshot.Namespace, snapshot.Name))
		return err == nil && len(report.Calls) > 0, "driver not called"
	})
}

func remove(ctx context.Context, snapshot *snapshotv1.VolumeSnapshot) error {
	return b.Snapshots.SnapshotV1().VolumeSnapshots(snapshot.Namespace).Delete(ctx, snapshot.Name, metav1.DeleteOptions{})
}

func removeContent(ctx context.Context, snapshot *snapshotv1.VolumeSnapshot) error {
	return b.Snapshots.SnapshotV1().VolumeSnapshotContents().Delete(ctx, "snapcontent-"+string(snapshot.UID), metav1.DeleteOptions{})
}

// remedy is what an undo can do about a content that stays: both marks that the sidecar wants, the policy, and, by
// the changing annotation, an event that makes it look.
func remedy(ctx context.Context, content snapshotv1.VolumeSnapshotContent) error {
	contents := b.Snapshots.SnapshotV1().VolumeSnapshotContents()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"snapshot.storage.kubernetes.io/volumesnapshot-being-deleted":"yes","conformance/touched":"%d"}},"spec":{"deletionPolicy":"Delete"}}`,
		time.Now().UnixNano())
	if _, err := contents.Patch(ctx, content.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		return err
	}
	return contents.Delete(ctx, content.Name, metav1.DeleteOptions{})
}

func patchContent(ctx context.Context, snapshot *snapshotv1.VolumeSnapshot, patch string) error {
	_, err := b.Snapshots.SnapshotV1().VolumeSnapshotContents().Patch(ctx, "snapcontent-"+string(snapshot.UID),
		types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

const toDelete = `{"spec":{"deletionPolicy":"Delete"}}`

func TestSnapshotDeletedWhileCreateIsInFlight(t *testing.T) {
	const latency = 700 * time.Millisecond
	nothing := func(string) error { return nil }
	for _, one := range []struct {
		name, class string
		disturb     func(context.Context, *snapshotv1.VolumeSnapshot) error
	}{
		{"delete-class", bench.ClassDelete, remove},
		{"retain-class", bench.ClassRetain, remove},
		{"retain-class-patched-before", bench.ClassRetain, func(ctx context.Context, snapshot *snapshotv1.VolumeSnapshot) error {
			if err := patchContent(ctx, snapshot, toDelete); err != nil {
				return err
			}
			return remove(ctx, snapshot)
		}},
		{"retain-class-patched-before-and-content-deleted-after", bench.ClassRetain, func(ctx context.Context, snapshot *snapshotv1.VolumeSnapshot) error {
			if err := patchContent(ctx, snapshot, toDelete); err != nil {
				return err
			}
			if err := remove(ctx, snapshot); err != nil {
				return err
			}
			return removeContent(ctx, snapshot)
		}},
		{"touched-only-after-1s", bench.ClassDelete, func(ctx context.Context, snapshot *snapshotv1.VolumeSnapshot) error {
			if err := remove(ctx, snapshot); err != nil {
				return err
			}
			// Well after the cut: the touch is the event which the sidecar does not make for itself.
			time.Sleep(time.Second)
			if err := patchContent(ctx, snapshot, `{"metadata":{"annotations":{"conformance/touched":"yes"}}}`); !apierrors.IsNotFound(err) {
				return err
			}
			return nil
		}},
		{"retain-class-patched-and-deleted-after", bench.ClassRetain, func(ctx context.Context, snapshot *snapshotv1.VolumeSnapshot) error {
			if err := remove(ctx, snapshot); err != nil {
				return err
			}
			time.Sleep(200 * time.Millisecond)
			if err := patchContent(ctx, snapshot, toDelete); err != nil {
				return err
			}
			return removeContent(ctx, snapshot)
		}},
		{"content-deleted-only", bench.ClassDelete, removeContent},
		{"content-deleted-then-snapshot", bench.ClassDelete, func(ctx context.Context, snapshot *snapshotv1.VolumeSnapshot) error {
			if err := removeContent(ctx, snapshot); err != nil {
				return err
			}
			return remove(ctx, snapshot)
		}},
	} {
		t.Run(one.name, func(t *testing.T) {
			observe(t, one.class, bench.Behaviour{Latency: latency}, func(ctx context.Context, snapshot *snapshotv1.VolumeSnapshot) error {
				if err := called(ctx, snapshot); err != nil {
					return err
				}
				return one.disturb(ctx, snapshot)
			}, nothing)
		})
	}
}

// The caller of a driver that hangs gives up: the snapshot is deleted while the call hangs, and then the driver is
// released.
func TestSnapshotDeletedWhileTheDriverHangs(t *testing.T) {
	for _, class := range []string{bench.ClassDelete, bench.ClassRetain} {
		t.Run(class, func(t *testing.T) {
			observe(t, class, bench.Behaviour{Hang: true}, remove, func(prefix string) error {
				return b.Driver.Behave(prefix, bench.Behaviour{})
			})
		})
	}
}

// The snapshot is deleted so early that the controller may not have seen it, or not have added its finalizers.
func TestSnapshotDeletedAfterSoManyMilliseconds(t *testing.T) {
	for _, wait := range []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond} {
		t.Run(wait.String(), func(t *testing.T) {
			observe(t, bench.ClassDelete, bench.Behaviour{Latency: 300 * time.Millisecond}, func(ctx context.Context, snapshot *snapshotv1.VolumeSnapshot) error {
				time.Sleep(wait)
				return remove(ctx, snapshot)
			}, func(string) error { return nil })
		})
	}
}
