package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

const (
	// DriverName is the CSI driver of the bench, and so the provisioner of its storage class.
	DriverName = "fastpoll.csi.test"
	// ImpatientDriver is the same storage behind a csi-snapshotter that gives up after ImpatientTimeout instead of
	// a minute: with it a test sees in seconds what else takes minutes.
	ImpatientDriver  = "impatient.csi.test"
	ImpatientTimeout = 2 * time.Second
)

var customResourceDefinitions = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// applyCRDs creates the snapshotter's CRDs from its client module and waits until a list of them works.
func (b *Bench) applyCRDs(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(os.Getenv("CONFORMANCE_CRDS"), "*snapshot.storage.k8s.io_*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no CRD in CONFORMANCE_CRDS=%q (%v)", os.Getenv("CONFORMANCE_CRDS"), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &object.Object); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if _, err := b.Dynamic.Resource(customResourceDefinitions).Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	err = Eventually(ctx, 30*time.Second, 50*time.Millisecond, func(ctx context.Context) (bool, string) {
		for _, list := range []func() error{
			func() error {
				_, err := b.Snapshots.SnapshotV1().VolumeSnapshots("").List(ctx, metav1.ListOptions{})
				return err
			},
			func() error {
				_, err := b.Snapshots.SnapshotV1().VolumeSnapshotContents().List(ctx, metav1.ListOptions{})
				return err
			},
			func() error {
				_, err := b.Snapshots.SnapshotV1().VolumeSnapshotClasses().List(ctx, metav1.ListOptions{})
				return err
			},
		} {
			if err := list(); err != nil {
				return false, err.Error()
			}
		}
		return true, ""
	})
	if err != nil {
		return fmt.Errorf("lists of the snapshot CRDs: %w", err)
	}
	return nil
}

// startSnapshotter starts the driver first: csi-snapshotter asks it for its name and ends if nobody answers.
func (b *Bench) startSnapshotter(ctx context.Context) error {
	control := filepath.Join(b.Dir, "control.sock")
	socket := func(driver string) string { return filepath.Join(b.Dir, driver+".sock") }
	if _, err := b.start("csidriver", b.Program("csidriver"), "--control="+control,
		"--serve="+DriverName+"="+socket(DriverName), "--serve="+ImpatientDriver+"="+socket(ImpatientDriver)); err != nil {
		return err
	}
	b.Driver = newDriver(control)
	if err := Eventually(ctx, 30*time.Second, 20*time.Millisecond, func(context.Context) (bool, string) {
		_, err := b.Driver.Snapshots("")
		return err == nil, fmt.Sprint(err)
	}); err != nil {
		return fmt.Errorf("the driver's control does not answer: %w", err)
	}
	if err := b.startLimited("snapshot-controller", "snapshot-controller"); err != nil {
		return err
	}
	if err := b.startLimited("csi-snapshotter", "csi-snapshotter", "--csi-address="+socket(DriverName)); err != nil {
		return err
	}
	return b.startLimited("csi-snapshotter", "csi-snapshotter-impatient",
		"--csi-address="+socket(ImpatientDriver), "--timeout="+ImpatientTimeout.String())
}

// startLimited starts a part of the snapshotter under the request limits of the options, as a user of its own.
func (b *Bench) startLimited(program, name string, arguments ...string) error {
	kubeconfig, err := b.Kubeconfig(name, "system:masters")
	if err != nil {
		return err
	}
	qps := b.Options.SnapshotterQPS
	if qps == 0 {
		qps = 200
	}
	// A call that hangs keeps a worker. Of the usual ten all could hang in tests that run beside each other.
	_, err = b.start(name, b.Program(program), append(arguments, "--kubeconfig="+kubeconfig, "--v=5", "--worker-threads=100",
		fmt.Sprintf("--kube-api-qps=%d", qps), fmt.Sprintf("--kube-api-burst=%d", 2*qps))...)
	return err
}

// WaitForSnapshotter takes a snapshot of a volume of its own and removes it again: then the caches of controller
// and sidecar are filled. After a restart of the API server they come back only with their own back-off.
func (b *Bench) WaitForSnapshotter(ctx context.Context) error {
	namespace, err := b.Namespace(ctx, "canary")
	if err != nil {
		return err
	}
	name := "canary"
	if _, err := b.CreateVolume(ctx, namespace, Volume{Name: name}); err != nil {
		return err
	}
	class := ClassDelete
	canary := &snapshotv1.VolumeSnapshot{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: snapshotv1.VolumeSnapshotSpec{
			Source: snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: &name}, VolumeSnapshotClassName: &class,
		},
	}
	snapshots := b.Snapshots.SnapshotV1().VolumeSnapshots(namespace)
	if _, err := snapshots.Create(ctx, canary, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := Eventually(ctx, time.Minute, 50*time.Millisecond, func(ctx context.Context) (bool, string) {
		seen, err := snapshots.Get(ctx, name, metav1.GetOptions{})
		return err == nil && seen.Status != nil && seen.Status.ReadyToUse != nil && *seen.Status.ReadyToUse, fmt.Sprintf("%v %v", err, seen)
	}); err != nil {
		return fmt.Errorf("the snapshotter does not work: %w", err)
	}
	return snapshots.Delete(ctx, name, metav1.DeleteOptions{})
}
