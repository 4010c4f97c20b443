package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ProvisionFromSnapshot is what an external-provisioner does with a claim whose source is a snapshot: it waits until the
// snapshot is ready, refuses a claim that is smaller than it, and binds a new volume. It returns the
// storage's handle of the source.
func (b *Bench) ProvisionFromSnapshot(ctx context.Context, namespace, name string) (string, error) {
	claim, handle := &corev1.PersistentVolumeClaim{}, ""
	err := Eventually(ctx, time.Minute, 50*time.Millisecond, func(ctx context.Context) (bool, string) {
		seen, err := b.Kube.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		claim = seen
		source := claim.Spec.DataSource
		if source == nil || source.Kind != "VolumeSnapshot" {
			return false, fmt.Sprintf("its source is %v and its volume %q", source, claim.Spec.VolumeName)
		}
		handle, err = b.readySnapshot(ctx, namespace, source.Name)
		return err == nil, fmt.Sprint(err)
	})
	if err != nil {
		return "", fmt.Errorf("claim %s/%s: %w", namespace, name, err)
	}
	storage, err := b.Driver.Snapshots("")
	if err != nil {
		return "", err
	}
	request := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	for _, snapshot := range storage.Live {
		if snapshot.Handle == handle {
			if request.Value() < snapshot.Size {
				return "", fmt.Errorf("claim %s/%s asks for %s, its snapshot has %d bytes", namespace, name, request.String(), snapshot.Size)
			}
			return handle, b.bindNewVolume(ctx, claim)
		}
	}
	return "", fmt.Errorf("claim %s/%s: the storage has no snapshot %q", namespace, name, handle)
}

// readySnapshot returns the handle of a snapshot that a volume can be made of.
func (b *Bench) readySnapshot(ctx context.Context, namespace, name string) (string, error) {
	snapshot, err := b.Snapshots.SnapshotV1().VolumeSnapshots(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	status := snapshot.Status
	if status == nil || status.BoundVolumeSnapshotContentName == nil || status.ReadyToUse == nil || !*status.ReadyToUse {
		return "", fmt.Errorf("VolumeSnapshot %s is not ready: %+v", name, status)
	}
	content, err := b.Snapshots.SnapshotV1().VolumeSnapshotContents().Get(ctx, *status.BoundVolumeSnapshotContentName, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if content.Status == nil || content.Status.SnapshotHandle == nil {
		return "", fmt.Errorf("content %s has no handle", content.Name)
	}
	return *content.Status.SnapshotHandle, nil
}

// bindNewVolume gives a pending claim a volume of its own, as provisioner and binder do together.
func (b *Bench) bindNewVolume(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	size := corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]}
	volume, err := b.Kube.CoreV1().PersistentVolumes().Create(ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(claim.UID)},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: claim.Spec.AccessModes, StorageClassName: *claim.Spec.StorageClassName,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: DriverName, VolumeHandle: Handle(claim.Namespace, claim.Name),
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	volume.Status.Phase = corev1.VolumeBound
	if _, err := b.Kube.CoreV1().PersistentVolumes().UpdateStatus(ctx, volume, metav1.UpdateOptions{}); err != nil {
		return err
	}
	// By patches: Velero goes on labelling the claim.
	binding, err := json.Marshal(map[string]any{"spec": map[string]any{"volumeName": volume.Name}})
	if err != nil {
		return err
	}
	status, err := json.Marshal(map[string]any{"status": corev1.PersistentVolumeClaimStatus{
		Phase: corev1.ClaimBound, Capacity: size, AccessModes: claim.Spec.AccessModes,
	}})
	if err != nil {
		return err
	}
	claims := b.Kube.CoreV1().PersistentVolumeClaims(claim.Namespace)
	if _, err := claims.Patch(ctx, claim.Name, types.MergePatchType, binding, metav1.PatchOptions{}); err != nil {
		return err
	}
	_, err = claims.Patch(ctx, claim.Name, types.MergePatchType, status, metav1.PatchOptions{}, "status")
	return err
}

// SchedulePods puts the pods of a namespace that have no node yet on the one that there is and waits until they run.
func (b *Bench) SchedulePods(ctx context.Context, namespace string) error {
	pods := b.Kube.CoreV1().Pods(namespace)
	err := Eventually(ctx, 30*time.Second, 50*time.Millisecond, func(ctx context.Context) (bool, string) {
		list, err := pods.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		running := 0
		for _, pod := range list.Items {
			if pod.Status.Phase == corev1.PodRunning && pod.Spec.NodeName != "" {
				running++
			}
			if pod.Spec.NodeName == "" {
				binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: NodeName}}
				if err := pods.Bind(ctx, binding, metav1.CreateOptions{}); err != nil {
					return false, err.Error()
				}
			}
		}
		return running == len(list.Items), fmt.Sprintf("%d of %d pods run", running, len(list.Items))
	})
	if err != nil {
		return fmt.Errorf("pods of %s do not run: %w", namespace, err)
	}
	return nil
}

// RemoveNamespace removes a namespace with its pods, claims and volumes, as a disaster does and the controllers that
// are not here would.
func (b *Bench) RemoveNamespace(ctx context.Context, namespace string) error {
	core := b.Kube.CoreV1()
	claims, err := core.PersistentVolumeClaims(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if err := core.Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	for _, claim := range claims.Items {
		if err := core.PersistentVolumeClaims(namespace).Delete(ctx, claim.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		if err := core.PersistentVolumes().Delete(ctx, claim.Spec.VolumeName, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	err = Eventually(ctx, 30*time.Second, 50*time.Millisecond, func(ctx context.Context) (bool, string) {
		pods, err := core.Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		left, err := core.PersistentVolumeClaims(namespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(pods.Items)+len(left.Items) == 0, fmt.Sprint(err, len(pods.Items), " pods, claims ", left)
	})
	if err != nil {
		return fmt.Errorf("namespace %s does not become empty: %w", namespace, err)
	}
	if err := core.Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil {
		return err
	}
	object, err := core.Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	if err != nil {
		return err
	}
	object.Spec.Finalizers = nil
	if _, err := core.Namespaces().Finalize(ctx, object, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}
