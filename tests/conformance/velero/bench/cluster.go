package bench

import (
	"context"
	"fmt"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// VeleroNamespace is where Backups and policy ConfigMaps are.
	VeleroNamespace = "velero"
	StorageClass    = "fastpoll"
	// ClassDelete carries Velero's label and so is the one that is chosen; ClassRetain is asked for by annotation.
	ClassDelete = "fastpoll-delete"
	ClassRetain = "fastpoll-retain"
	// The same for the impatient driver.
	ImpatientStorageClass = "impatient"
	ImpatientClassDelete  = "impatient-delete"
	ImpatientClassRetain  = "impatient-retain"
	// ClassAnnotation on a PVC names its VolumeSnapshotClass.
	ClassAnnotation = "velero.io/csi-volumesnapshot-class"
)

var claims = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}

func (b *Bench) prepareCluster(ctx context.Context) error {
	if err := b.createNamespace(ctx, VeleroNamespace); err != nil {
		return err
	}
	for name, driver := range map[string]string{StorageClass: DriverName, ImpatientStorageClass: ImpatientDriver} {
		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: driver}
		if _, err := b.Kube.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	marked := map[string]string{ClassAnnotation: "true"}
	for _, class := range []struct {
		name, driver string
		labels       map[string]string
		policy       snapshotv1.DeletionPolicy
	}{
		{ClassDelete, DriverName, marked, snapshotv1.VolumeSnapshotContentDelete},
		{ClassRetain, DriverName, nil, snapshotv1.VolumeSnapshotContentRetain},
		{ImpatientClassDelete, ImpatientDriver, marked, snapshotv1.VolumeSnapshotContentDelete},
		{ImpatientClassRetain, ImpatientDriver, nil, snapshotv1.VolumeSnapshotContentRetain},
	} {
		object := &snapshotv1.VolumeSnapshotClass{
			ObjectMeta: metav1.ObjectMeta{Name: class.name, Labels: class.labels}, Driver: class.driver, DeletionPolicy: class.policy,
		}
		if _, err := b.Snapshots.SnapshotV1().VolumeSnapshotClasses().Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return b.bindPluginRole(ctx)
}

func (b *Bench) createNamespace(ctx context.Context, name string) error {
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := b.Kube.CoreV1().Namespaces().Create(ctx, object, metav1.CreateOptions{})
	return err
}

// Volume describes a bound PVC to be made.
type Volume struct {
	Name        string
	Labels      map[string]string
	Annotations map[string]string
	// Plain makes a PV without CSI source (a host path).
	Plain bool
	// Impatient puts the volume behind the impatient driver.
	Impatient bool
	// Driver is the PV's CSI driver when it is not its storage class's provisioner (a migrated volume).
	Driver string
	// Change is applied to both before they are made; the PVC's status is set as it leaves it.
	Change func(pv *corev1.PersistentVolume, pvc *corev1.PersistentVolumeClaim)
}

// Handle is the CSI volume handle of a PVC: its namespace in front lets a test steer and count its own volumes.
func Handle(namespace, claim string) string { return namespace + "/" + claim }

// CreateVolume makes a PV and its PVC, binds both by their status, since no controller does it here, and returns
// the PVC as Velero would read it.
func (b *Bench) CreateVolume(ctx context.Context, namespace string, volume Volume) (*unstructured.Unstructured, error) {
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	class, driver := StorageClass, DriverName
	if volume.Impatient {
		class, driver = ImpatientStorageClass, ImpatientDriver
	}
	if volume.Driver != "" {
		driver = volume.Driver
	}
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-" + namespace + "-" + volume.Name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: class, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef: &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: namespace, Name: volume.Name, APIVersion: "v1"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: driver, VolumeHandle: Handle(namespace, volume.Name),
			}},
		},
	}
	if volume.Plain {
		pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"}}
	}
	pvc := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: volume.Name, Labels: volume.Labels, Annotations: volume.Annotations},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: pv.Spec.AccessModes, StorageClassName: &class, VolumeName: pv.Name,
			Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}
	pvc.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: size, AccessModes: pvc.Spec.AccessModes}
	if volume.Change != nil {
		volume.Change(pv, pvc)
	}
	status := pvc.Status
	pvc, err := b.Kube.CoreV1().PersistentVolumeClaims(namespace).Create(ctx, pvc, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	if pv.Spec.ClaimRef != nil {
		pv.Spec.ClaimRef.UID = pvc.UID
	}
	if pv, err = b.Kube.CoreV1().PersistentVolumes().Create(ctx, pv, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	pv.Status.Phase = corev1.VolumeBound
	if _, err = b.Kube.CoreV1().PersistentVolumes().UpdateStatus(ctx, pv, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	pvc.Status = status
	if _, err = b.Kube.CoreV1().PersistentVolumeClaims(namespace).UpdateStatus(ctx, pvc, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	return b.Dynamic.Resource(claims).Namespace(namespace).Get(ctx, volume.Name, metav1.GetOptions{})
}

// Namespace makes a namespace for one test; its name begins with the test's.
func (b *Bench) Namespace(ctx context.Context, test string) (string, error) {
	b.mu.Lock()
	b.namespace++
	number := b.namespace
	b.mu.Unlock()
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(test))
	if len(name) > 45 {
		name = name[:45]
	}
	name = fmt.Sprintf("%s-%d", strings.Trim(name, "-"), number)
	return name, b.createNamespace(ctx, name)
}
