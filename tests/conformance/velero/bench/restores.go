package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Restored is a finished restore and what it has left in the object store.
type Restored struct {
	*velerov1.Restore
	Log              string
	Warnings, Errors []string
}

// Restore restores a backup, namespaces renamed by `into`, and waits until it is finished. Velero waits for restored
// claims to be bound: `provision` plays the provisioner meanwhile, and its context ends when the restore does.
func (v *Velero) Restore(ctx context.Context, name, backup string, into map[string]string, provision func(context.Context) error) (*Restored, error) {
	restore := &velerov1.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: name},
		Spec:       velerov1.RestoreSpec{BackupName: backup, NamespaceMapping: into},
	}
	if err := v.Client.Create(ctx, restore); err != nil {
		return nil, err
	}
	running, finished := context.WithCancel(ctx)
	defer finished()
	provisioned := make(chan error, 1)
	go func() { provisioned <- provision(running) }()
	err := Eventually(ctx, 2*time.Minute, 50*time.Millisecond, func(ctx context.Context) (bool, string) {
		restore = &velerov1.Restore{}
		err := v.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, restore)
		switch restore.Status.Phase {
		case velerov1.RestorePhaseCompleted, velerov1.RestorePhasePartiallyFailed, velerov1.RestorePhaseFailed, velerov1.RestorePhaseFailedValidation:
			return true, ""
		}
		return false, fmt.Sprintf("%v %+v", err, restore.Status)
	})
	finished()
	if err := errors.Join(err, <-provisioned); err != nil {
		return nil, fmt.Errorf("restore %s is %+v: %w", name, restore.Status, err)
	}
	restored := &Restored{Restore: restore}
	file := func(suffix string) string {
		return filepath.Join(v.store(), bucket, "restores", name, "restore-"+name+suffix)
	}
	log, err := readCompressed(file("-logs.gz"))
	if err != nil {
		return nil, err
	}
	restored.Log = string(log)
	restored.Warnings, restored.Errors, err = readResults(file("-results.gz"))
	return restored, err
}

// DeleteBackup asks Velero to delete a backup and waits until it is gone.
func (v *Velero) DeleteBackup(ctx context.Context, backup *velerov1.Backup) error {
	request := &velerov1.DeleteBackupRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: backup.Name, Labels: map[string]string{
			velerov1.BackupNameLabel: backup.Name, velerov1.BackupUIDLabel: string(backup.UID),
		}},
		Spec: velerov1.DeleteBackupRequestSpec{BackupName: backup.Name},
	}
	if err := v.Client.Create(ctx, request); err != nil {
		return err
	}
	err := Eventually(ctx, time.Minute, 50*time.Millisecond, func(ctx context.Context) (bool, string) {
		var seen velerov1.Backup
		err := v.Client.Get(ctx, client.ObjectKeyFromObject(backup), &seen)
		if apierrors.IsNotFound(err) {
			return true, ""
		}
		_ = v.Client.Get(ctx, client.ObjectKeyFromObject(request), request)
		return false, fmt.Sprintf("%v %s, request %+v", err, seen.Status.Phase, request.Status)
	})
	if err != nil {
		return fmt.Errorf("backup %s/%s is not deleted: %w", v.Namespace, backup.Name, err)
	}
	return nil
}
