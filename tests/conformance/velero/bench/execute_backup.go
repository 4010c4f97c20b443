package bench

import (
	"context"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// NewBackup is a Backup as a plugin sees it: in progress, with the server's defaults filled in. It need not be in
// the cluster, plugins get it with every call. [Velero.NewBackup] is one for a server.
func NewBackup(name string) *velerov1.Backup {
	yes, no := true, false
	return &velerov1.Backup{
		TypeMeta:   metav1.TypeMeta{APIVersion: "velero.io/v1", Kind: "Backup"},
		ObjectMeta: metav1.ObjectMeta{Namespace: VeleroNamespace, Name: name, UID: types.UID(uuid.NewUUID()), Annotations: map[string]string{}},
		Spec: velerov1.BackupSpec{
			SnapshotVolumes: &yes, DefaultVolumesToFsBackup: &no, SnapshotMoveData: &no,
			CSISnapshotTimeout: metav1.Duration{Duration: time.Minute}, StorageLocation: "default",
			ItemOperationTimeout: metav1.Duration{Duration: 4 * time.Hour},
		},
		Status: velerov1.BackupStatus{Phase: velerov1.BackupPhaseInProgress},
	}
}

// CreatePolicy makes a volume policy ConfigMap for backups that are only handed to plugins. [Velero.CreatePolicy] is
// for those of a server.
func (b *Bench) CreatePolicy(ctx context.Context, name, text string) error {
	_, err := b.Kube.CoreV1().ConfigMaps(VeleroNamespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: VeleroNamespace, Name: name}, Data: map[string]string{"policy.yaml": text},
	}, metav1.CreateOptions{})
	return err
}

// WithPolicy lets a backup use a policy ConfigMap.
func WithPolicy(backup *velerov1.Backup, name string) *velerov1.Backup {
	backup.Spec.ResourcePolicy = &corev1.TypedLocalObjectReference{Kind: "configmap", Name: name}
	return backup
}
