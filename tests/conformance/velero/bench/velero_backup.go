package bench

import (
	"context"
	"fmt"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewBackup is a Backup of namespaces, not yet in the cluster, for this installation to run. The function [NewBackup]
// is for a plugin that is called without a server.
func (v *Velero) NewBackup(name string, namespaces ...string) *velerov1.Backup {
	return &velerov1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: name},
		Spec: velerov1.BackupSpec{
			IncludedNamespaces: namespaces,
			CSISnapshotTimeout: metav1.Duration{Duration: time.Minute},
		},
	}
}

// CreatePolicy makes a volume policy ConfigMap where this installation looks for them. [Bench.CreatePolicy] is for
// plugins that are called without a server.
func (v *Velero) CreatePolicy(ctx context.Context, name, text string) error {
	_, err := v.bench.Kube.CoreV1().ConfigMaps(v.Namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: name}, Data: map[string]string{"policy.yaml": text},
	}, metav1.CreateOptions{})
	return err
}

// Finished says whether the server will do nothing more for a backup.
func Finished(backup *velerov1.Backup) bool {
	switch backup.Status.Phase {
	case velerov1.BackupPhaseCompleted, velerov1.BackupPhasePartiallyFailed, velerov1.BackupPhaseFailed, velerov1.BackupPhaseFailedValidation:
		return true
	}
	return false
}

// Run creates a Backup and waits until it is finished.
func (v *Velero) Run(ctx context.Context, backup *velerov1.Backup) (*velerov1.Backup, error) {
	if err := v.Client.Create(ctx, backup); err != nil {
		return nil, err
	}
	return v.Wait(ctx, backup.Name, 4*time.Minute, Finished)
}

// Wait looks at a Backup until it is as asked.
func (v *Velero) Wait(ctx context.Context, name string, limit time.Duration, condition func(*velerov1.Backup) bool) (*velerov1.Backup, error) {
	backup := &velerov1.Backup{}
	err := Eventually(ctx, limit, 50*time.Millisecond, func(ctx context.Context) (bool, string) {
		backup = &velerov1.Backup{}
		err := v.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, backup)
		return err == nil && condition(backup), fmt.Sprintf("%v %s %+v", err, backup.Status.Phase, backup.Status)
	})
	if err != nil {
		return nil, fmt.Errorf("backup %s/%s: %w", v.Namespace, name, err)
	}
	return backup, nil
}
