package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// DriverName is the CSI driver of the bench, and so the provisioner of its storage class.
const DriverName = "fastpoll.csi.test"

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
	return Eventually(ctx, 30*time.Second, 50*time.Millisecond, func(ctx context.Context) (bool, string) {
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
}

// startSnapshotter starts the driver first: csi-snapshotter asks it for its name and ends if nobody answers.
func (b *Bench) startSnapshotter(ctx context.Context) error {
	endpoint, control := filepath.Join(b.Dir, "csi.sock"), filepath.Join(b.Dir, "control.sock")
	if _, err := b.start("csidriver", b.program("csidriver"),
		"--name="+DriverName, "--endpoint="+endpoint, "--control="+control); err != nil {
		return err
	}
	b.Driver = newDriver(control)
	if err := Eventually(ctx, 10*time.Second, 20*time.Millisecond, func(context.Context) (bool, string) {
		_, err := b.Driver.Snapshots("")
		return err == nil, fmt.Sprint(err)
	}); err != nil {
		return err
	}

	qps := b.Options.SnapshotterQPS
	if qps == 0 {
		qps = 200
	}
	limits := []string{fmt.Sprintf("--kube-api-qps=%d", qps), fmt.Sprintf("--kube-api-burst=%d", 2*qps)}
	controller, err := b.Kubeconfig("snapshot-controller", "system:masters")
	if err != nil {
		return err
	}
	if _, err := b.start("snapshot-controller", b.program("snapshot-controller"),
		append(limits, "--kubeconfig="+controller, "--v=5")...); err != nil {
		return err
	}
	sidecar, err := b.Kubeconfig("csi-snapshotter", "system:masters")
	if err != nil {
		return err
	}
	arguments := append(limits, "--kubeconfig="+sidecar, "--csi-address="+endpoint, "--v=5")
	if b.Options.SidecarTimeout > 0 {
		arguments = append(arguments, "--timeout="+b.Options.SidecarTimeout.String())
	}
	_, err = b.start("csi-snapshotter", b.program("csi-snapshotter"), arguments...)
	return err
}
