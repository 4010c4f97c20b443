package parity

import (
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

const (
	gi = int64(1) << 30
	ti = gi << 10
)

// sized is a request in the cluster and a restore size of the real driver.
func sized(name, request string, restore int64) input {
	return input{
		name: name, want: "snapshot", storage: &bench.Behaviour{SizeBytes: restore},
		volume: func(_ *corev1.PersistentVolume, pvc *corev1.PersistentVolumeClaim) {
			pvc.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(request)}
		},
	}
}

// written is a request as it stands in the item, which the API server would have written in its own way.
func written(name, request string, restore int64, differs ...string) input {
	return input{
		name: name, want: "snapshot", storage: &bench.Behaviour{SizeBytes: restore}, differs: differs,
		item: set(request, "spec", "resources", "requests", "storage"),
	}
}

// sizes are: the request is raised to what a restore needs, and in which words.
var sizes = []input{
	sized("size 2Gi, request 1Gi", "1Gi", 2*gi),
	sized("size 2Gi, request 3Gi", "3Gi", 2*gi),
	sized("F113 size 1Gi, request 50Mi", "50Mi", gi),
	sized("size unknown to the driver", "1Gi", 0),
	sized("R-35 1536Mi", "1Gi", 1610612736),
	sized("R-35 plain digits", "1Gi", 1500000000),
	sized("R-35 one byte more", "1Gi", gi+1),
	sized("R-35 1Ti", "1Gi", ti),
	sized("R-35 1Ki", "1", 1024),
	sized("R-35 1k", "1", 1000),
	sized("R-35 largest", "1Gi", 1<<63-1),
	sized("request 1500M of equal size", "1500M", 1500000000),
	sized("request 500M, one byte more", "500M", 500000001),
	sized("request 1e9", "1e9", gi),
	sized("request of milli", "1073741824500m", gi),
	sized("request beyond 64 bits", "1e30", gi),
	{name: "size 2Gi, no requests", want: "snapshot", storage: &bench.Behaviour{SizeBytes: 2 * gi}, item: set(map[string]any{}, "spec", "resources", "requests")},
	{name: "size 2Gi, no resources", want: "snapshot", storage: &bench.Behaviour{SizeBytes: 2 * gi}, item: unset("spec", "resources")},
	{name: "R-36 size 0, no requests", want: "snapshot", storageClasses: of("d"), classes: onlyClass, handling: &handling{restoreSize: new(int64)},
		item: set(map[string]any{}, "spec", "resources", "requests")},
	{name: "R-36 size 0", want: "snapshot", storageClasses: of("d"), classes: onlyClass, handling: &handling{restoreSize: new(int64)}},
	written("request 1.5Gi in the item", "1.5Gi", gi, "D-as-written"),
	written("request 1e9 in the item, raised", "1e9", gi),
	written("request 0 in the item", "0", gi),
	{name: "request that is no quantity", want: "error item", differs: []string{"D-bad-quantity"}, warnings: 1,
		storage: &bench.Behaviour{SizeBytes: gi}, item: set("lots", "spec", "resources", "requests", "storage")},
}

// onlyClass is the one class of driver d.
var onlyClass = []class{{name: "d.{id}", driver: "d.{id}"}}

func named(name string) func(*velerov1.Backup) {
	return func(backup *velerov1.Backup) { backup.Name = name }
}

// labelInputs are the labels of PVC and VolumeSnapshot, and Velero's way to shorten (0.2).
var labelInputs = []input{
	{name: "R-23 labels copied", volume: labels("team", "a", "app.kubernetes.io/name", "shop", "empty", ""), want: "snapshot"},
	{name: "R-24 annotations not copied", volume: annotated("team", "a"), want: "snapshot"},
	{name: "R-23 backup-name of the PVC is overwritten", volume: labels("velero.io/backup-name", "old"), want: "snapshot"},
	{name: "F43 labels of pruning tools", want: "snapshot", differs: []string{"D-labels-not-copied"}, volume: labels("team", "a", "argocd.argoproj.io/instance", "shop",
		"app.kubernetes.io/instance", "shop", "kustomize.toolkit.fluxcd.io/name", "x", "helm.toolkit.fluxcd.io/name", "y")},
	{name: "F43 labels of an earlier restore", want: "snapshot", differs: []string{"D-labels-not-copied"},
		volume: labels("velero.io/restore-name", "r", "velero.io/volume-snapshot-name", "velero-data-x")},
	{name: "F41 label that the API server refuses", item: set(map[string]any{"bad": "a b", "good": "c"}, "metadata", "labels"),
		want: "error create", differs: []string{"D-bad-label"}},
	{name: "0.2 backup name of 62 bytes", backup: named(strings.Repeat("b", 62)), want: "snapshot"},
	{name: "0.2 backup name of 63 bytes", backup: named(strings.Repeat("b", 63)), want: "snapshot"},
	{name: "0.2 backup name of 64 bytes", backup: named(strings.Repeat("b", 64)), want: "snapshot"},
	{name: "F41 backup name of 84 bytes", backup: named("backup-" + strings.Repeat("e7a1d0f3-", 8) + "e7a1d"), want: "snapshot"},
	{name: "0.2 backup name of 253 bytes", backup: named(strings.Repeat("b.c", 84) + "d"), want: "snapshot"},
	{name: "F40 backup name of a schedule", backup: named("k14-prod-avenirsocial-gs-0-0-6-12-18-ttl-23-hours-20250904201247"), want: "snapshot"},
	{name: "R-22 long PVC name", claim: strings.Repeat("a", 180), want: "snapshot", differs: []string{"D-generate-name"}},
	{name: "F41 PVC name of 250 bytes", claim: strings.Repeat("a", 250), want: "error create", differs: []string{"D-generate-name"},
		volume: func(pv *corev1.PersistentVolume, pvc *corev1.PersistentVolumeClaim) {
			pv.Name = "pv-" + pvc.Namespace
			pvc.Spec.VolumeName = pv.Name
		}},
	{name: "R-22 PVC name cut at a hyphen", claim: strings.Repeat("a", 50) + "-" + strings.Repeat("b", 20), want: "snapshot", differs: []string{"D-generate-name"}},
	{name: "R-22 PVC name with dots", claim: "data.with.dots", want: "snapshot"},
}

var future = map[string]any{"number": int64(9007199254740993), "list": []any{"a", map[string]any{"b": "<&>"}}, "nothing": nil}

// items are the PVC as it comes and goes.
var items = []input{
	{name: "item without anything but what is needed", want: "snapshot"},
	{name: "item of block mode", volume: mode(corev1.PersistentVolumeBlock), want: "snapshot"},
	{name: "item ReadWriteMany", volume: modes(rwx), want: "snapshot"},
	{name: "item ReadWriteOncePod", volume: modes(corev1.ReadWriteOncePod), want: "snapshot"},
	{name: "item of three access modes", volume: modes(rwo, rox, rwx), want: "snapshot"},
	{name: "item with dataSource", want: "snapshot", volume: func(_ *corev1.PersistentVolume, pvc *corev1.PersistentVolumeClaim) {
		group := "snapshot.storage.k8s.io"
		pvc.Spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: &group, Kind: "VolumeSnapshot", Name: "before"}
	}},
	{name: "item with selector", want: "snapshot", volume: func(_ *corev1.PersistentVolume, pvc *corev1.PersistentVolumeClaim) {
		pvc.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	}},
	{name: "item with limits, owner and finalizer", want: "snapshot", volume: func(_ *corev1.PersistentVolume, pvc *corev1.PersistentVolumeClaim) {
		pvc.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "o", UID: "u"}}
		pvc.Finalizers = []string{"parity.test/stays"}
		pvc.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")}
	}},
	{name: "item with conditions", want: "snapshot", volume: func(_ *corev1.PersistentVolume, pvc *corev1.PersistentVolumeClaim) {
		pvc.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimResizing, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	}},
	{name: "R-33 item with annotations", volume: annotated("a", "b", "backup.velero.io/must-include-additional-items", "false"), want: "snapshot"},
	{name: "W-28 unknown fields", want: "snapshot", differs: []string{"D-unknown-fields"}, item: func(item *unstructured.Unstructured) {
		for _, path := range [][]string{{"metadata", "fromTheFuture"}, {"spec", "fromTheFuture"}, {"status", "fromTheFuture"}, {"fromTheFuture"}} {
			set(future, path...)(item)
		}
	}},
	{name: "W-28 unknown fields, echoed", want: "echo", backup: noSnapshots, item: set(future, "spec", "fromTheFuture")},
	{name: "R-41 without creationTimestamp", want: "snapshot", differs: []string{"D-as-written"}, item: unset("metadata", "creationTimestamp")},
	{name: "R-41 null labels and empty annotations", want: "snapshot", item: func(item *unstructured.Unstructured) {
		set(nil, "metadata", "labels")(item)
		set(map[string]any{}, "metadata", "annotations")(item)
	}},
	{name: "backup without UID", backup: func(backup *velerov1.Backup) { backup.UID = "" }, want: "snapshot"},
}
