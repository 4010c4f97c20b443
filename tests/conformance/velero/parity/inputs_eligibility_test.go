package parity

import (
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func phase(phase velerov1.BackupPhase) func(*velerov1.Backup) {
	return func(backup *velerov1.Backup) { backup.Status.Phase = phase }
}

func noSnapshots(backup *velerov1.Backup) {
	no := false
	backup.Spec.SnapshotVolumes = &no
}

func snapshotsUnset(backup *velerov1.Backup) { backup.Spec.SnapshotVolumes = nil }

func fsByDefault(backup *velerov1.Backup) {
	yes := true
	backup.Spec.DefaultVolumesToFsBackup = &yes
}

// set changes a field of the item, after it was read.
func set(value any, path ...string) func(*unstructured.Unstructured) {
	return func(item *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(item.Object, value, path...); err != nil {
			panic(err)
		}
	}
}

func unset(path ...string) func(*unstructured.Unstructured) {
	return func(item *unstructured.Unstructured) { unstructured.RemoveNestedField(item.Object, path...) }
}

// phases are the answers that need nothing but the request.
var phases = []input{
	{name: "TE-1 Finalizing", backup: phase(velerov1.BackupPhaseFinalizing), want: "echo"},
	{name: "R-3 FinalizingPartiallyFailed", backup: phase(velerov1.BackupPhaseFinalizingPartiallyFailed), want: "echo"},
	{name: "R-3 Finalizing, item of wrong types", backup: phase(velerov1.BackupPhaseFinalizing), item: set(int64(5), "spec", "storageClassName"), want: "echo"},
	{name: "R-3 WaitingForPluginOperations", backup: phase(velerov1.BackupPhaseWaitingForPluginOperations), want: "snapshot"},
	{name: "R-3 no phase", backup: phase(""), want: "snapshot"},
	{name: "R-4 storageClassName is a number", item: set(int64(5), "spec", "storageClassName"), want: "error item"},
	{name: "R-4 labels are a list", item: set([]any{"a"}, "metadata", "labels"), want: "error item"},
	{name: "R-4 spec is a text", item: set("nothing", "spec"), want: "error item"},
	{name: "R-4 item without kind", item: unset("kind"), want: "error item"},
}

func unbound(_ *corev1.PersistentVolume, pvc *corev1.PersistentVolumeClaim) {
	pvc.Spec.VolumeName, pvc.Status = "", corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
}

func inPhase(phase corev1.PersistentVolumeClaimPhase) func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	return func(_ *corev1.PersistentVolume, pvc *corev1.PersistentVolumeClaim) { pvc.Status.Phase = phase }
}

func volumeGone(s *side) error {
	return b.Kube.CoreV1().PersistentVolumes().Delete(s.ctx, "pv-"+s.namespace+"-data", metav1.DeleteOptions{})
}

// notBound are PVCs without a volume.
var notBound = []input{
	{name: "R-6 no volumeName", volume: unbound, want: "error unbound"},
	{name: "R-7 Pending", volume: inPhase(corev1.ClaimPending), want: "error phase"},
	{name: "R-7 Lost", volume: inPhase(corev1.ClaimLost), want: "error phase"},
	{name: "R-7 no phase", volume: inPhase(""), want: "error phase"},
	{name: "R-8 PV gone", prepare: volumeGone, want: "error volume"},
	{name: "R-8 PV forbidden", between: answered(readsVolume, 1, always, status(403, "Forbidden", "not for you")), want: "error volume", says: []string{"not for you"}},
	{name: "R-8 PV gone, snapshotVolumes false", prepare: volumeGone, backup: noSnapshots, want: "error volume", differs: []string{"D-unbound-policy"}},
	{name: "unbound, Pending, policy pvcPhase Pending", volume: unbound, policy: inPolicy("pvcPhase: [Pending]", "skip", ""), want: "error unbound", differs: []string{"D-unbound-policy"}},
	{name: "unbound, Pending, policy storageClass", volume: unbound, policy: inPolicy("storageClass: [gp2-csi]", "skip", ""), want: "error unbound"},
	{name: "unbound, Lost, policy pvcPhase Lost", volume: inPhase(corev1.ClaimLost), policy: inPolicy("pvcPhase: [Lost]", "skip", ""), want: "error phase", differs: []string{"D-unbound-policy"}},
	{name: "unbound, Lost, policy pvcPhase Pending, Lost", volume: inPhase(corev1.ClaimLost), policy: inPolicy("pvcPhase: [Pending, Lost]", "skip", ""), want: "error phase", differs: []string{"D-unbound-policy"}},
	{name: "unbound, policy snapshot", volume: unbound, policy: inPolicy("pvcPhase: [Pending]", "snapshot", ""), want: "error unbound"},
	{name: "unbound, snapshotVolumes false", volume: unbound, backup: noSnapshots, want: "error unbound", differs: []string{"D-unbound-policy"}},
}

func source(source corev1.PersistentVolumeSource) func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	return func(pv *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) {
		pv.Spec.PersistentVolumeSource = source
	}
}

var (
	hostPath = source(corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"}})
	nfs      = source(corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "192.168.10.20", Path: "/share"}})
)

// notCSI are volumes of other kinds: R-9 and C-4.
var notCSI = []input{
	{name: "R-9 hostPath", volume: hostPath, want: "marked", differs: []string{"D-not-csi-mark"}},
	{name: "R-9 NFS", volume: nfs, want: "marked", differs: []string{"D-not-csi-mark"}},
	{name: "R-9 iSCSI", volume: source(corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{
		TargetPortal: "10.0.0.1:3260", IQN: "iqn.2001-04.com.example:storage", Lun: 1}}), want: "marked", differs: []string{"D-not-csi-mark"}},
	{name: "F49 in-tree volume under CSI migration", want: "marked", differs: []string{"D-not-csi-mark"},
		volume: withVolume(source(corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}),
			func(pv *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) {
				pv.Annotations = map[string]string{"pv.kubernetes.io/migrated-to": "ebs.csi.aws.com"}
			})},
	{name: "R-9 hostPath with labels and annotations", want: "marked", differs: []string{"D-not-csi-mark"}, volume: withVolume(hostPath, labels("a", "b"), annotated("c", "d"))},
	{name: "R-9 hostPath, snapshotVolumes false", volume: hostPath, backup: noSnapshots, want: "marked", differs: []string{"D-not-csi-mark"}},
	{name: "C-4 already marked, but a CSI volume now", item: set("true", "metadata", "annotations", "backup.velero.io/skipped-no-csi-pv"), want: "snapshot"},
	{name: "R-9 hostPath, bad policy", volume: hostPath, policy: "nonsense", want: "marked", differs: []string{"D-policy-of-no-csi"}},
}

// pvClass changes the class that the PV names, and not the PVC's: policies look at the PV.
func pvClass(name string) func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	return func(pv *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) { pv.Spec.StorageClassName = name }
}

var mounts = []pod{{name: "pod-1", volumes: []string{"volume=data"}}}

func gp2(action string) string { return inPolicy("storageClass: [gp2-csi]", action, "") }

// fsBackup are the rows of ShouldPerformSnapshot: policy, snapshotVolumes, and file-system backup of the older way.
var fsBackup = []input{
	{name: "TS-1", volume: pvClass("gp2-csi"), policy: gp2("snapshot"), want: "snapshot"},
	{name: "TS-2", volume: pvClass("gp2-csi"), policy: gp2("snapshot"), backup: noSnapshots, want: "snapshot"},
	{name: "TS-3", volume: pvClass("gp2-csi"), policy: gp2("fs-backup"), want: "echo"},
	{name: "TS-4", volume: pvClass("gp3-csi"), policy: gp2("snapshot"), pods: []pod{{name: "pod-1"}}, want: "snapshot"},
	{name: "TS-5", volume: pvClass("gp3-csi"), policy: gp2("snapshot"), backup: fsByDefault, pods: mounts, want: "echo"},
	{name: "TS-6", volume: pvClass("gp3-csi"), policy: gp2("snapshot"), backup: fsByDefault,
		pods: []pod{{name: "pod-1", volumes: []string{"volume=data"}, excludes: "volume"}}, want: "snapshot"},
	{name: "TS-7", volume: pvClass("gp3-csi"), policy: gp2("snapshot"), pods: []pod{{name: "pod-1", volumes: []string{"volume=data"}, backup: "volume"}}, want: "echo"},
	{name: "TS-8", volume: pvClass("gp3-csi"), policy: gp2("snapshot"), pods: mounts, want: "snapshot"},
	{name: "TS-9", volume: pvClass("gp2-csi"), want: "snapshot"},
	{name: "TS-10", volume: pvClass("gp2-csi"), backup: noSnapshots, want: "echo"},
	{name: "TS-11 PVC without volume, empty policy list", volume: unbound, policy: "version: v1\nvolumePolicies: []\n", want: "error unbound"},
	// These rows of Velero's tables no call can show: TS-12 to TS-14 are TS-1, TS-5 and TS-1 with and without the pod
	// cache, which is there or not inside the process, and TH-1 is that it is made once; TN-1 and TN-2 are the constructor
	// with a failing and a good client factory. And these are of a later release: TF-1 to TF-4, which PVCs of a group the
	// policy leaves, and TD-1 to TD-4, the fields of a DataUpload; ours refuses both (D-group, D-data-movement).
	{name: "TS-15", volume: pvClass("gp2-csi"), backup: fsByDefault, pods: mounts, want: "echo"},
	{name: "TS-16", volume: pvClass("gp2-csi"), backup: all(fsByDefault, snapshotsUnset), pods: mounts, want: "echo"},
	{name: "7.4 snapshotVolumes unset", backup: snapshotsUnset, want: "snapshot"},
	{name: "TE-7 policy wins over snapshotVolumes", policy: inPolicy("csi: {}", "snapshot", ""), backup: noSnapshots, want: "snapshot"},

	{name: "W-23 pod Succeeded", backup: fsByDefault, pods: []pod{{name: "job", volumes: []string{"volume=data"}, phase: corev1.PodSucceeded}}, want: "echo"},
	{name: "W-23 pod Failed", backup: fsByDefault, pods: []pod{{name: "job", volumes: []string{"volume=data"}, phase: corev1.PodFailed}}, want: "echo"},
	{name: "W-23 pod going", backup: fsByDefault, pods: []pod{{name: "pod-1", volumes: []string{"volume=data"}, deleted: true}}, want: "echo"},
	{name: "W-24 list not trimmed", pods: []pod{{name: "pod-1", volumes: []string{"volume=data"}, backup: "other, volume"}}, want: "snapshot"},
	{name: "S-6 list of two", pods: []pod{{name: "pod-1", volumes: []string{"other", "volume=data"}, backup: "other,volume"}}, want: "echo"},
	{name: "W-24 exclusion not trimmed", backup: fsByDefault, pods: []pod{{name: "pod-1", volumes: []string{"volume=data"}, excludes: "other, volume"}}, want: "echo"},
	{name: "S-6 listed by the claim's name", pods: []pod{{name: "pod-1", volumes: []string{"volume=data"}, backup: "data"}}, want: "snapshot"},
	{name: "S-6 excluded though off by default", pods: []pod{{name: "pod-1", volumes: []string{"volume=data"}, excludes: "volume"}}, want: "snapshot"},
	{name: "S-4 pod of another namespace", backup: fsByDefault, pods: []pod{{name: "pod-1", volumes: []string{"volume=data"}, namespace: "x"}}, want: "snapshot"},
	{name: "S-4 pod with another claim", backup: fsByDefault, pods: []pod{{name: "pod-1", volumes: []string{"volume=data2"}}}, want: "snapshot"},
	{name: "S-4 ephemeral volume", backup: fsByDefault, pods: []pod{{name: "pod-1", volumes: []string{"volume"}, ephemeral: true}}, want: "snapshot"},
	{name: "S-4 second of two pods decides", pods: []pod{{name: "pod-1", volumes: []string{"volume=data"}}, {name: "pod-2", volumes: []string{"v=data"}, backup: "v"}}, want: "echo"},
	{name: "S-4 excluded in one pod, not in the other", backup: fsByDefault, want: "echo",
		pods: []pod{{name: "pod-1", volumes: []string{"volume=data"}, excludes: "volume"}, {name: "pod-2", volumes: []string{"v=data"}}}},
	{name: "F53 no pod, fs-backup by default", backup: fsByDefault, want: "snapshot"},
	{name: "S-2 policy fs-backup, no pod", policy: inPolicy("csi: {}", "fs-backup", ""), want: "echo"},
	{name: "R-10 pods forbidden", between: answered(listsPods, 1, always, status(403, "Forbidden", "not for you")), want: "error pods", says: []string{"not for you"}},
}

const handler = "handler: velero-plugin-csi-fastpoll"

// takeOver is who takes the PVC. Called alone, the built-in answers for the PVCs it takes; what keeps it off is
// what hands them to ours.
var takeOver = []input{
	{name: "C-2 custom with our handler", policy: inPolicy("csi: {}", "custom", handler), want: "echo", differs: []string{"D-take-over"}},
	{name: "C-2 skip with our handler", policy: inPolicy("csi: {}", "skip", handler), want: "echo", differs: []string{"D-take-over"}},
	{name: "C-2 custom for ours, snapshot for the built-in", policy: inPolicy("csi: {}", "snapshot", ""), ours: inPolicy("csi: {}", "custom", handler), want: "snapshot"},
	{name: "C-2 skip for ours, snapshot for the built-in", policy: inPolicy("csi: {}", "snapshot", ""), ours: inPolicy("csi: {}", "skip", handler), want: "snapshot"},
	{name: "C-2 custom for ours, no class", storageClasses: of("blah"), policy: inPolicy("csi: {}", "snapshot", ""), ours: inPolicy("csi: {}", "custom", handler), want: "error class"},
	{name: "C-2 custom for ours, fs-backup by default", backup: fsByDefault, pods: mounts, policy: inPolicy("csi: {}", "snapshot", ""),
		ours: inPolicy("csi: {}", "custom", handler), want: "snapshot"},
	{name: "custom of another handler", policy: inPolicy("csi: {}", "custom", "handler: someone-else"), want: "echo"},
	{name: "custom without parameters", policy: inPolicy("csi: {}", "custom", ""), want: "echo", warnings: 1},
	{name: "custom with handler misspelt", policy: inPolicy("csi: {}", "custom", "handler: velero-plugin-csi-fastpol"), want: "echo", warnings: 1},
	{name: "skip", policy: inPolicy("csi: {}", "skip", ""), want: "echo"},
	{name: "skip with parameters", policy: inPolicy("csi: {}", "skip", "because: cheap"), want: "echo"},
	{name: "C-2 snapshotVolumes false and take-over", backup: all(noSnapshots, backupAnnotated("velero-plugin-csi-fastpoll/take-over", "true")), want: "echo", differs: []string{"D-take-over"}},
	{name: "C-2 snapshotVolumes false and take-over of another value", backup: all(noSnapshots, backupAnnotated("velero-plugin-csi-fastpoll/take-over", "yes")), want: "echo", warnings: 1},
	{name: "C-2 take-over and fs-backup by annotation", want: "echo", pods: []pod{{name: "pod-1", volumes: []string{"volume=data"}, backup: "volume"}},
		backup: all(noSnapshots, backupAnnotated("velero-plugin-csi-fastpoll/take-over", "true"))},
	{name: "C-3 item carries this backup's snapshot", want: "snapshot", differs: []string{"D-taken"}, item: func(item *unstructured.Unstructured) {
		set(map[string]any{"velero.io/backup-name": "mine", "velero.io/volume-snapshot-name": "velero-data-x"}, "metadata", "labels")(item)
		set("velero-data-x", "metadata", "annotations", "velero.io/volume-snapshot-name")(item)
	}, backup: func(backup *velerov1.Backup) { backup.Name = "mine" }},
	{name: "C-3 item carries another backup's snapshot", want: "snapshot", item: func(item *unstructured.Unstructured) {
		set(map[string]any{"velero.io/backup-name": "old", "velero.io/volume-snapshot-name": "velero-data-x"}, "metadata", "labels")(item)
		set("velero-data-x", "metadata", "annotations", "velero.io/volume-snapshot-name")(item)
	}, differs: []string{"D-labels-not-copied"}},
	{name: "C-3 label of this backup alone", want: "snapshot", volume: labels("velero.io/backup-name", "mine"),
		backup: func(backup *velerov1.Backup) { backup.Name = "mine" }},
	{name: "W-14 global policy skip", want: "snapshot", differs: []string{"D-global-policy"}, prepare: globalPolicy("skip")},
	{name: "W-14 global policy snapshot, snapshotVolumes false", want: "echo", differs: []string{"D-global-policy"}, prepare: globalPolicy("snapshot"), backup: noSnapshots},
	{name: "W-14 global policy after the backup's own", want: "snapshot", policy: inPolicy("csi: {}", "snapshot", ""), prepare: globalPolicy("skip")},
	{name: "Velero without the CSI feature", arguments: []string{"--log-level=debug"}, want: "snapshot", differs: []string{"D-csi-feature"}, warnings: 1},
	{name: "F54 called twice", times: 2, want: "snapshot", differs: []string{"D-second-call"}},
}

// globalPolicy is a ConfigMap that the server names on every Backup.
func globalPolicy(action string) func(*side) error {
	return func(s *side) error {
		name := s.namespace + "-global"
		s.backup.Annotations["velero.io/global-backup-volume-policy-configmap"] = name
		return createConfigMap(s.ctx, name, map[string]string{"policies.yaml": inPolicy("csi: {}", action, "")}, s.expand)
	}
}

func moveData(mover string) func(*velerov1.Backup) {
	return func(backup *velerov1.Backup) {
		yes := true
		backup.Spec.SnapshotMoveData, backup.Spec.DataMover = &yes, mover
	}
}

func inGroup(backup *velerov1.Backup) {
	backup.Spec.VolumeGroupSnapshotLabelKey = "velero.io/volume-group"
}

// refusals are the PVCs that ours refuses so far, and those that cannot be snapshotted.
var refusals = []input{
	{name: "TE-4 data movement", backup: moveData(""), want: "upload", differs: []string{"D-data-movement"}, says: []string{"snapshotMoveData"}},
	{name: "TE-5 data movement, item", backup: moveData("velero"), want: "upload", differs: []string{"D-data-movement"}, volume: labels("app", "db")},
	{name: "TE-6 data movement without node-agent", want: "error data movement", differs: []string{"D-data-movement"},
		backup: all(moveData(""), func(backup *velerov1.Backup) { backup.Namespace = bareNamespace })},
	{name: "data movement by another mover without node-agent", backup: all(moveData("third-party"), func(backup *velerov1.Backup) { backup.Namespace = bareNamespace }),
		want: "upload", differs: []string{"D-data-movement"}},
	{name: "data movement of a volume that is skipped", backup: moveData(""), policy: inPolicy("csi: {}", "skip", ""), want: "echo"},
	{name: "G-6 group without class", backup: inGroup, volume: labels("velero.io/volume-group", "g"), want: "error group", differs: []string{"D-group"}, says: []string{"velero.io/volume-group=g"}},
	{name: "G-9 group that nobody snapshots", backup: all(inGroup, timeout(1e9)), want: "error group", differs: []string{"D-group"},
		volume: withVolume(labels("velero.io/volume-group", "g"), annotated("velero.io/csi-volume-group-snapshot-class", "some"))},
	{name: "group label without value", backup: inGroup, volume: labels("velero.io/volume-group", ""), want: "snapshot", differs: []string{"D-labels-not-copied"}},
	{name: "group label of another key", backup: inGroup, volume: labels("volume-group", "g"), want: "snapshot"},
	{name: "TF-5 group member that is skipped", backup: inGroup, volume: labels("velero.io/volume-group", "g"), policy: inPolicy("csi: {}", "skip", ""), want: "echo"},
	{name: "F90 PVC being deleted", slow: true, backup: timeout(1e9), want: "error timeout", differs: []string{"D-being-deleted"}, prepare: func(s *side) error {
		claims := b.Kube.CoreV1().PersistentVolumeClaims(s.namespace)
		pvc, err := claims.Get(s.ctx, s.claim, metav1.GetOptions{})
		if err != nil {
			return err
		}
		pvc.Finalizers = []string{"kubernetes.io/pvc-protection"}
		if _, err := claims.Update(s.ctx, pvc, metav1.UpdateOptions{}); err != nil {
			return err
		}
		if err := claims.Delete(s.ctx, s.claim, metav1.DeleteOptions{}); err != nil {
			return err
		}
		s.item, err = b.Dynamic.Resource(claimsResource).Namespace(s.namespace).Get(s.ctx, s.claim, metav1.GetOptions{})
		return err
	}},
}

var claimsResource = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
