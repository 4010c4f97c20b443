package parity

import (
	"context"
	"maps"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

const defaultClass = "snapshot.storage.kubernetes.io/is-default-class"

// createState makes everything that the input says, for one side. Classes are shared by both sides.
func (s *side) createState() (err error) {
	if err := s.createClasses(); err != nil {
		return err
	}
	if s.item, err = b.CreateVolume(s.ctx, s.namespace, bench.Volume{Name: s.claim, Change: s.change}); err != nil {
		return err
	}
	if s.in.item != nil {
		s.in.item(s.item)
	}
	for _, one := range s.in.pods {
		if err := s.createPod(one); err != nil {
			return err
		}
	}
	s.backup = bench.NewBackup("parity-" + s.in.id)
	data := s.in.data
	if s.in.policy != "" {
		data = map[string]string{"policies.yaml": s.in.policy}
	}
	if s.in.ours != "" && !s.builtin {
		data = map[string]string{"policies.yaml": s.in.ours}
	}
	if data != nil {
		if err := createConfigMap(s.ctx, s.namespace, data, s.expand); err != nil {
			return err
		}
		bench.WithPolicy(s.backup, s.namespace)
	}
	if s.in.backup != nil {
		s.in.backup(s.backup)
	}
	for key, value := range maps.Clone(s.backup.Annotations) {
		delete(s.backup.Annotations, key)
		s.backup.Annotations[s.expand(key)] = s.expand(value)
	}
	if s.in.prepare != nil {
		return s.in.prepare(s)
	}
	return nil
}

// change applies the input's change to both objects, and the words in place of theirs.
func (s *side) change(pv *corev1.PersistentVolume, pvc *corev1.PersistentVolumeClaim) {
	if len(s.in.storageClasses) > 0 {
		name := s.in.storageClasses[0].name
		pvc.Spec.StorageClassName, pv.Spec.StorageClassName = &name, name
		pv.Spec.CSI.Driver = s.in.storageClasses[0].provisioner
	}
	if s.in.volume != nil {
		s.in.volume(pv, pvc)
	}
	if pvc.Spec.StorageClassName != nil {
		name := s.expand(*pvc.Spec.StorageClassName)
		pvc.Spec.StorageClassName = &name
	}
	pv.Spec.StorageClassName = s.expand(pv.Spec.StorageClassName)
	if pv.Spec.CSI != nil {
		pv.Spec.CSI.Driver = s.expand(pv.Spec.CSI.Driver)
	}
	for key, value := range pvc.Annotations {
		pvc.Annotations[key] = s.expand(value)
	}
}

func createConfigMap(ctx context.Context, name string, data map[string]string, expand func(string) string) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bench.VeleroNamespace, Name: name}, Data: map[string]string{}}
	for key, value := range data {
		object.Data[key] = expand(value)
	}
	_, err := b.Kube.CoreV1().ConfigMaps(bench.VeleroNamespace).Create(ctx, object, metav1.CreateOptions{})
	return err
}

func (s *side) createClasses() error {
	for _, one := range s.in.storageClasses {
		object := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: s.expand(one.name)}, Provisioner: s.expand(one.provisioner)}
		if _, err := b.Kube.StorageV1().StorageClasses().Create(s.ctx, object, metav1.CreateOptions{}); ignoreExisting(err) != nil {
			return err
		}
	}
	for _, one := range s.in.classes {
		if err := s.createClass(one); err != nil {
			return err
		}
	}
	return nil
}

func (s *side) createClass(one class) error {
	object := &snapshotv1.VolumeSnapshotClass{
		ObjectMeta: metav1.ObjectMeta{Name: s.expand(one.name)}, Driver: s.expand(one.driver),
		DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete,
	}
	if one.retain {
		object.DeletionPolicy = snapshotv1.VolumeSnapshotContentRetain
	}
	if one.label != nil {
		object.Labels = map[string]string{bench.ClassAnnotation: *one.label}
	}
	if one.isDefault != nil {
		object.Annotations = map[string]string{defaultClass: *one.isDefault}
	}
	_, err := b.Snapshots.SnapshotV1().VolumeSnapshotClasses().Create(s.ctx, object, metav1.CreateOptions{})
	return ignoreExisting(err)
}

func ignoreExisting(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (s *side) createPod(one pod) error {
	namespace := s.namespace
	if one.namespace != "" {
		var err error
		if namespace, err = b.Namespace(s.ctx, s.mark+one.namespace); err != nil {
			return err
		}
	}
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: one.name, Namespace: namespace, Annotations: map[string]string{}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}},
	}
	if one.backup != "" {
		object.Annotations["backup.velero.io/backup-volumes"] = one.backup
	}
	if one.excludes != "" {
		object.Annotations["backup.velero.io/backup-volumes-excludes"] = one.excludes
	}
	for _, volume := range one.volumes {
		name, claim, mounts := strings.Cut(volume, "=")
		source := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
		switch {
		case one.ephemeral:
			source = corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
				Spec: s.claimSpec(),
			}}}
		case mounts:
			source = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}
		}
		object.Spec.Volumes = append(object.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	}
	if one.deleted {
		object.Finalizers = []string{"parity.test/stays"}
	}
	pods := b.Kube.CoreV1().Pods(namespace)
	object, err := pods.Create(s.ctx, object, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if one.phase != "" {
		object.Status.Phase = one.phase
		if _, err := pods.UpdateStatus(s.ctx, object, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if one.deleted {
		return pods.Delete(s.ctx, one.name, metav1.DeleteOptions{})
	}
	return nil
}

// claimSpec is the spec of this side's PVC, for an ephemeral volume of the same kind.
func (s *side) claimSpec() corev1.PersistentVolumeClaimSpec {
	pvc, err := b.Kube.CoreV1().PersistentVolumeClaims(s.namespace).Get(s.ctx, s.claim, metav1.GetOptions{})
	if err != nil {
		return corev1.PersistentVolumeClaimSpec{}
	}
	return corev1.PersistentVolumeClaimSpec{
		AccessModes: slices.Clone(pvc.Spec.AccessModes), Resources: pvc.Spec.Resources, StorageClassName: pvc.Spec.StorageClassName,
	}
}

// labels and annotated change the PVC.
func labels(pairs ...string) func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	return func(_ *corev1.PersistentVolume, pvc *corev1.PersistentVolumeClaim) { pvc.Labels = mapped(pairs) }
}

func annotated(pairs ...string) func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	return func(_ *corev1.PersistentVolume, pvc *corev1.PersistentVolumeClaim) { pvc.Annotations = mapped(pairs) }
}

func backupAnnotated(pairs ...string) func(*velerov1.Backup) {
	return func(backup *velerov1.Backup) { maps.Copy(backup.Annotations, mapped(pairs)) }
}

func mapped(pairs []string) map[string]string {
	made := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		made[pairs[i]] = pairs[i+1]
	}
	return made
}
