package parity

import (
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// retained is one class of driver d with policy Retain.
var retained = []class{{name: "d.{id}", driver: "d.{id}", retain: true}}

// never is a sidecar that does nothing.
var never = &handling{never: true}

// waits end with a handle, sooner or later.
var waits = []input{
	{name: "wait handle at 0.3 s", storage: &bench.Behaviour{Latency: 300 * time.Millisecond}, want: "snapshot"},
	{name: "wait handle at 1.4 s", storage: &bench.Behaviour{Latency: 1400 * time.Millisecond}, want: "snapshot"},
	{name: "wait handle at 7 s", storage: &bench.Behaviour{Latency: 7 * time.Second}, want: "snapshot"},
	{name: "wait handle at 0.3 s, early phase off", storage: &bench.Behaviour{Latency: 300 * time.Millisecond}, slow: true, want: "snapshot"},
	{name: "TW-1 handle at once, by the stand-in", storageClasses: of("d"), classes: onlyClass, handling: &handling{}, want: "snapshot"},
	{name: "F22 not ready to use for long", storage: &bench.Behaviour{NotReady: time.Hour}, want: "snapshot"},
	{name: "F11 driver fails twice, then heals", storage: &bench.Behaviour{Failures: 2, Code: uint32(codes.Internal), Message: "array busy"}, want: "snapshot"},
	{name: "F11 driver unavailable twice, then heals", storage: &bench.Behaviour{Failures: 2, Code: uint32(codes.Unavailable), Message: "array busy"}, want: "snapshot"},
	{name: "F16 handle beside an error", storageClasses: of("d"), classes: onlyClass, want: "snapshot", warnings: 1,
		handling: &handling{handle: is("h"), failed: true, message: is("upload failed")},
		backup:   backupAnnotated("velero-plugin-csi-fastpoll/early-window", "2s")},
	{name: "F22 empty handle", storageClasses: of("d"), classes: onlyClass, handling: &handling{handle: is("")},
		backup: timeout(1500 * time.Millisecond), want: "snapshot", differs: []string{"D-empty-handle"}},
	{name: "W-2 handle after the timeout, inside the early phase", storageClasses: of("d"), classes: onlyClass, handling: &handling{after: 2 * time.Second},
		backup: timeout(500 * time.Millisecond), want: "snapshot", differs: []string{"D-one-deadline"}},
	{name: "timeout of 1 ms, early phase on", backup: timeout(time.Millisecond), storage: &bench.Behaviour{Latency: 1300 * time.Millisecond}, want: "snapshot", differs: []string{"D-one-deadline"}},
	{name: "timeout 0, early phase on", backup: timeout(0), want: "snapshot"},
	{name: "F04 timeout 0, early phase off", backup: timeout(0), slow: true, want: "error gone", differs: []string{"D-timeout-zero"}},
	{name: "F05 timeout negative, early phase on", backup: timeout(-time.Second), want: "snapshot", differs: []string{"D-timeout-negative"}, says: []string{"spec.csiSnapshotTimeout"}},
}

// nobodyBinds leaves the PVC unbound in the cluster, so that the snapshot-controller makes no content.
func nobodyBinds(s *side) error { return setPhase(s, corev1.ClaimPending) }

func setPhase(s *side, phase corev1.PersistentVolumeClaimPhase) error {
	claims := b.Kube.CoreV1().PersistentVolumeClaims(s.namespace)
	pvc, err := claims.Get(s.ctx, s.claim, metav1.GetOptions{})
	if err != nil {
		return err
	}
	pvc.Status.Phase = phase
	_, err = claims.UpdateStatus(s.ctx, pvc, metav1.UpdateOptions{})
	return err
}

// removeSnapshot is somebody who deletes the VolumeSnapshot, once it is as asked.
func removeSnapshot(when func(snapshotv1.VolumeSnapshot, bench.State) bool) func(*side) error {
	return func(s *side) error {
		found, err := s.appears(when)
		if err != nil {
			return err
		}
		return b.Snapshots.SnapshotV1().VolumeSnapshots(s.namespace).Delete(s.ctx, found.Name, metav1.DeleteOptions{})
	}
}

func hasContent(_ snapshotv1.VolumeSnapshot, state bench.State) bool { return len(state.Contents) > 0 }

// failsSoon is a driver that hangs so far, and that fails a second after the VolumeSnapshot.
func failsSoon(code codes.Code, message string) func(*side) error {
	return func(s *side) error {
		if _, err := s.appears(func(snapshotv1.VolumeSnapshot, bench.State) bool { return true }); err != nil {
			return err
		}
		time.Sleep(time.Second)
		return b.Driver.Behave(s.namespace+"/", bench.Behaviour{Failures: -1, Code: uint32(code), Message: message})
	}
}

// erred is a timeout that leaves two looks, after 5 s and 10 s, to see an error. The error itself must come after the
// first look, which is at once, or ours would warn of one that lasts 10 s.
var erred = timeout(12 * time.Second)

// timeouts end without a handle. The early phase is off, since the built-in adds it to every timeout. None is a multiple
// of 5 s: the built-in looks then, and a request that the timeout cuts off is another error.
var timeouts = []input{
	{name: "TE-3 nobody reconciles, 20 ms", slow: true, backup: timeout(20 * time.Millisecond), prepare: nobodyBinds, want: "error timeout"},
	{name: "timeout nobody reconciles, 1 s", slow: true, backup: timeout(time.Second), prepare: nobodyBinds, want: "error timeout", says: []string{"1s"}},
	{name: "timeout content without handle", slow: true, backup: timeout(time.Second), storageClasses: of("d"), classes: onlyClass, handling: never, want: "error timeout"},
	{name: "timeout content without handle, Retain", slow: true, backup: timeout(time.Second), storageClasses: of("d"), classes: retained, handling: never, want: "error timeout"},
	{name: "timeout the storage is too slow", slow: true, backup: timeout(time.Second), storage: &bench.Behaviour{Latency: 2 * time.Second}, want: "error timeout", says: []string{bench.DriverName}},
	{name: "timeout the storage is too slow, Retain", slow: true, backup: timeout(time.Second), storage: &bench.Behaviour{Latency: 2 * time.Second},
		volume: annotated(classNote, bench.ClassRetain), want: "error timeout"},
	{name: "timeout with content error", slow: true, backup: erred, storageClasses: of("d"), classes: onlyClass,
		handling: &handling{after: time.Second, failed: true, message: is("the array has no space")}, want: "error timeout", says: []string{"the array has no space"}},
	{name: "F14 timeout with a long content error", slow: true, backup: erred, storageClasses: of("d"), classes: onlyClass,
		handling: &handling{after: time.Second, failed: true, message: is("first line\nsecond \"line\" " + strings.Repeat("x", 3000))}, want: "error timeout", says: []string{"first line"}},
	{name: "timeout with an error of the driver", slow: true, backup: erred,
		storage: &bench.Behaviour{Hang: true}, meanwhile: failsSoon(codes.Internal, "too many snapshots"), want: "error timeout", says: []string{"too many snapshots"}},
	{name: "F38 class deleted before the create", slow: true, backup: timeout(time.Second), want: "error timeout",
		storageClasses: []storageClass{{"sc.{namespace}", "d.{namespace}"}}, classes: []class{{name: "d.{namespace}", driver: "d.{namespace}"}},
		says: []string{"d.NAMESPACE"}, between: first(createsSnapshot, func(s *side) error {
			return b.Snapshots.SnapshotV1().VolumeSnapshotClasses().Delete(s.ctx, s.expand("d.{namespace}"), metav1.DeleteOptions{})
		})},
	{name: "TW-4 W-8 content error without message", storageClasses: of("d"), classes: onlyClass, handling: &handling{failed: true},
		backup: timeout(2 * time.Second), want: "error panic", differs: []string{"D-nameless-error"}},
	{name: "S-4 PV without claimRef", slow: true, backup: all(fsByDefault, timeout(time.Second)), pods: mounts, want: "error timeout",
		volume: func(pv *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) { pv.Spec.ClaimRef = nil }},
	{name: "TW-3 F24 VolumeSnapshot deleted before it is bound", prepare: nobodyBinds, meanwhile: removeSnapshot(func(snapshotv1.VolumeSnapshot, bench.State) bool { return true }), want: "error gone"},
	{name: "F24 VolumeSnapshot deleted while the storage works", storageClasses: of("d"), classes: onlyClass, handling: never, meanwhile: removeSnapshot(hasContent), want: "error gone"},
	{name: "F24 content deleted while the storage works", slow: true, backup: timeout(9 * time.Second), storageClasses: of("d"), classes: onlyClass, handling: never,
		want: "error timeout", differs: []string{"D-content-deleted"}, meanwhile: func(s *side) error {
			// Without its finalizer the content would be gone at once, and not only marked.
			found, err := s.appears(func(snapshot snapshotv1.VolumeSnapshot, state bench.State) bool {
				return snapshot.Status != nil && snapshot.Status.BoundVolumeSnapshotContentName != nil &&
					len(state.Contents) > 0 && len(state.Contents[0].Finalizers) > 0
			})
			if err != nil {
				return err
			}
			return b.Snapshots.SnapshotV1().VolumeSnapshotContents().Delete(s.ctx, *found.Status.BoundVolumeSnapshotContentName, metav1.DeleteOptions{})
		}},
	{name: "TW-2 bound to a content that does not exist", slow: true, backup: timeout(11 * time.Second), prepare: nobodyBinds, want: "error gone",
		meanwhile: func(s *side) error {
			found, err := s.appears(func(snapshotv1.VolumeSnapshot, bench.State) bool { return true })
			if err != nil {
				return err
			}
			_, err = b.Snapshots.SnapshotV1().VolumeSnapshots(s.namespace).Patch(s.ctx, found.Name, types.MergePatchType,
				[]byte(`{"status":{"boundVolumeSnapshotContentName":"gone"}}`), metav1.PatchOptions{}, "status")
			return err
		}},
	{name: "W-12 bound between look and delete, Retain", slow: true, backup: timeout(200 * time.Millisecond), storageClasses: of("d"), classes: retained,
		prepare: nobodyBinds, want: "error timeout", differs: []string{"D-undo-late"}, between: first(deletesSnapshot, func(s *side) error {
			if err := setPhase(s, corev1.ClaimBound); err != nil {
				return err
			}
			_, err := s.appears(func(snapshot snapshotv1.VolumeSnapshot, state bench.State) bool {
				return len(state.Contents) > 0 && standIn.live(s.namespace) > 0
			})
			return err
		})},
	{name: "W-13 delete fails once", slow: true, backup: timeout(time.Second), storageClasses: of("d"), classes: onlyClass, handling: never,
		want: "error timeout", differs: []string{"D-undo-retry"}, between: answered(deletesSnapshot, 1, 1, status(500, "InternalError", "etcdserver: leader changed"))},
	{name: "W-13 policy cannot be patched once, Retain", slow: true, backup: timeout(time.Second), storageClasses: of("d"), classes: retained, handling: never,
		want: "error timeout", differs: []string{"D-undo-retry"}, between: answered(asks("PATCH", "volumesnapshotcontents", true), 1, 1, status(500, "InternalError", "etcdserver: leader changed"))},
}

// faults are an API server in trouble, once: W-3.
var faults = []input{
	{name: "W-3 500 at the second look", differs: []string{"D-transient"}, want: "error gone", storage: slowly, between: answered(readsSnapshot, 2, 1, status(500, "InternalError", "etcdserver: leader changed"))},
	{name: "W-3 429 at the second look", differs: []string{"D-transient"}, want: "error gone", storage: slowly, between: answered(readsSnapshot, 2, 1, status(429, "TooManyRequests", "slow down"))},
	{name: "W-3 503 at the first look", differs: []string{"D-transient"}, want: "error gone", between: answered(readsSnapshot, 1, 1, status(503, "ServiceUnavailable", "starting"))},
	{name: "W-3 plain 404 at the second look", differs: []string{"D-transient"}, want: "error gone", storage: slowly, between: answered(readsSnapshot, 2, 1, status(404, "", "404 page not found"))},
	{name: "W-3 500 at a look at the content", differs: []string{"D-transient"}, want: "error gone", between: answered(readsContent, 1, 1, status(500, "InternalError", "etcdserver: leader changed"))},
	{name: "W-3 connection reset at the third look", differs: []string{"D-transient"}, want: "error gone", storage: slowly, between: answered(readsSnapshot, 3, 1, reset)},
	{name: "W-3 503 for the PV", differs: []string{"D-transient"}, want: "error volume", between: answered(readsVolume, 1, 1, status(503, "ServiceUnavailable", "starting"))},
	{name: "W-3 500 for the classes", differs: []string{"D-transient"}, want: "error class list", between: answered(listsClasses, 1, 1, status(500, "InternalError", "etcdserver: leader changed"))},
	{name: "W-3 500 for the ConfigMap", differs: []string{"D-transient"}, want: "error policy", policy: inPolicy("csi: {}", "snapshot", ""),
		between: answered(readsConfigMap, 1, 1, status(500, "InternalError", "etcdserver: leader changed"))},
	{name: "W-3 500 for the pods", differs: []string{"D-transient"}, want: "error pods", between: answered(listsPods, 1, 1, status(500, "InternalError", "etcdserver: leader changed"))},
	{name: "F09 500 for the create", differs: []string{"D-transient"}, want: "error create", between: answered(createsSnapshot, 1, 1, status(500, "InternalError", "etcdserver: leader changed"))},
	{name: "F09 answer to the create lost", differs: []string{"D-lost-answer"}, want: "error create", between: lostAnswer(createsSnapshot)},
	{name: "TE-2 create refused", want: "error create", says: []string{"injected error on create"}, between: answered(createsSnapshot, 1, always, status(403, "Forbidden", "injected error on create"))},
	{name: "F106 quota exceeded", want: "error create", says: []string{"exceeded quota"}, prepare: func(s *side) error {
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{}}}
		_, err := b.Kube.CoreV1().ResourceQuotas(s.namespace).Create(s.ctx, quota, metav1.CreateOptions{})
		return err
	}, between: answered(createsSnapshot, 1, always, status(403, "Forbidden", "exceeded quota: none, requested: count/volumesnapshots.snapshot.storage.k8s.io=1"))},
	{name: "create refused as invalid", want: "error create", says: []string{"denied by a webhook"},
		between: answered(createsSnapshot, 1, always, status(422, "Invalid", "denied by a webhook"))},
}

// slowly needs more than one look.
var slowly = &bench.Behaviour{Latency: 1500 * time.Millisecond}
