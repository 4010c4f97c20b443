package parity

import (
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// inPolicy is a policy with one rule. Conditions are YAML lines.
func inPolicy(conditions, action, parameter string) string {
	return "version: v1\nvolumePolicies:\n" + policyRule(conditions, action, parameter)
}

func policyRule(conditions, action, parameter string) string {
	text := "- conditions:\n    " + strings.ReplaceAll(conditions, "\n", "\n    ") + "\n  action:\n    type: " + action + "\n"
	if parameter != "" {
		text += "    parameters:\n      " + parameter + "\n"
	}
	return text
}

func capacity(size string) func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	return func(pv *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) {
		pv.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	}
}

// csi puts the PV behind a driver, with attributes.
func csi(driver string, attributes ...string) func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	return func(pv *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) {
		pv.Spec.CSI.Driver = driver
		if len(attributes) > 0 {
			pv.Spec.CSI.VolumeAttributes = mapped(attributes)
		}
	}
}

func modes(modes ...corev1.PersistentVolumeAccessMode) func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	return func(pv *corev1.PersistentVolume, pvc *corev1.PersistentVolumeClaim) {
		pv.Spec.AccessModes, pvc.Spec.AccessModes, pvc.Status.AccessModes = modes, modes, modes
	}
}

func mode(mode corev1.PersistentVolumeMode) func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	return func(pv *corev1.PersistentVolume, pvc *corev1.PersistentVolumeClaim) {
		pv.Spec.VolumeMode, pvc.Spec.VolumeMode = &mode, &mode
	}
}

// five are the rules A to E of Velero's own table.
var five = "version: v1\nvolumePolicies:\n" +
	policyRule("capacity: 0,10Gi\nstorageClass: [gp2, ebs-sc]\ncsi: {driver: aws.efs.csi.driver}", "skip", "") +
	policyRule("csi: {driver: files.csi.driver, volumeAttributes: {protocol: nfs}}", "skip", "") +
	policyRule("capacity: 10,100Gi\nstorageClass: [gp2, ebs-sc]\ncsi: {driver: aws.efs.csi.driver}", "snapshot", "") +
	policyRule("storageClass: [gp2, ebs-sc]\ncsi: {driver: aws.efs.csi.driver}", "fs-backup", "") +
	policyRule("pvcLabels: {environment: production}", "snapshot", "")

// policyMatches are the rows of Velero's Match table. Without a match a backup that takes no snapshots echoes.
var policyMatches = []input{
	{name: "Match A, skip", policy: five, volume: withVolume(capacity("5Gi"), pvClass("ebs-sc"), csi("aws.efs.csi.driver")), want: "echo"},
	{name: "Match B, skip", policy: five, volume: withVolume(capacity("5Gi"), pvClass("afs-nfs"), csi("files.csi.driver", "protocol", "nfs")), want: "echo"},
	{name: "Match none, no attributes", policy: five, volume: withVolume(capacity("5Gi"), pvClass("afs-smb"), csi("files.csi.driver")), want: "snapshot"},
	{name: "Match C before D, snapshot", policy: five, volume: withVolume(capacity("50Gi"), pvClass("ebs-sc"), csi("aws.efs.csi.driver")), backup: noSnapshots, want: "snapshot"},
	{name: "Match D, fs-backup", policy: five, volume: withVolume(capacity("500Gi"), pvClass("ebs-sc"), csi("aws.efs.csi.driver")), want: "echo"},
	{name: "Match none, NFS", policy: five, volume: withVolume(capacity("50Gi"), pvClass("ebs-sc"), nfs), want: "marked", differs: []string{"D-not-csi-mark"}},
	{name: "Match E, labels", policy: five, volume: withVolume(capacity("5Gi"), labels("environment", "production", "team", "backend")), backup: noSnapshots, want: "snapshot"},
	{name: "Match none, another label", policy: five, volume: withVolume(capacity("5Gi"), labels("environment", "staging")), backup: noSnapshots, want: "echo"},
	{name: "Match empty conditions", policy: "version: v1\nvolumePolicies:\n- conditions: {}\n  action: {type: skip}\n", want: "echo"},
	{name: "VP-15 no conditions", policy: "version: v1\nvolumePolicies:\n- action: {type: skip}\n", want: "echo"},
	{name: "VP-20 first match wins", want: "snapshot", backup: noSnapshots,
		policy: "version: v1\nvolumePolicies:\n" + policyRule("csi: {}", "snapshot", "") + policyRule("csi: {}", "skip", "")},
}

// skipIf is a row of Velero's GetMatchAction table: an action skip under these conditions, on this volume.
func skipIf(name, conditions, want string, volume ...func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim)) input {
	return input{name: name, policy: inPolicy(conditions, "skip", ""), volume: withVolume(volume...), want: want}
}

func skipIfNot(name, conditions string, volume ...func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim)) input {
	made := skipIf(name, conditions, "marked", volume...)
	made.differs = []string{"D-not-csi-mark"}
	return made
}

var (
	disks      = csi("disks.csi.driver")
	files      = csi("files.csi.driver")
	filesOther = csi("files.csi.driver", "key1", "val1")
	filesNFS   = csi("files.csi.driver", "key1", "val1", "protocol", "nfs")
)

const (
	rwo = corev1.ReadWriteOnce
	rox = corev1.ReadOnlyMany
	rwx = corev1.ReadWriteMany
)

// policyConditions are the rows of GetMatchAction and of the single conditions (7.5, 7.6).
var policyConditions = []input{
	skipIf("GetMatchAction csi {}", "csi: {}", "echo", disks),
	skipIf("GetMatchAction csi files, disks", "csi: {driver: files.csi.driver}", "snapshot", disks),
	skipIf("GetMatchAction csi files", "csi: {driver: files.csi.driver}", "echo", files),
	skipIf("GetMatchAction csi files nfs, disks", "csi: {driver: files.csi.driver, volumeAttributes: {protocol: nfs}}", "snapshot", disks),
	skipIf("GetMatchAction csi files nfs, other attribute", "csi: {driver: files.csi.driver, volumeAttributes: {protocol: nfs}}", "snapshot", filesOther),
	skipIf("GetMatchAction csi files nfs", "csi: {driver: files.csi.driver, volumeAttributes: {protocol: nfs}}", "echo", filesNFS),
	twoSkips("GetMatchAction two rules, disks", "echo", csi("disks.csi.driver", "key1", "val1")),
	twoSkips("GetMatchAction two rules, files other", "snapshot", filesOther),
	twoSkips("GetMatchAction two rules, files nfs", "echo", filesNFS),
	skipIf("GetMatchAction capacity", "capacity: 0,100Gi", "echo", capacity("1Gi")),
	skipIfNot("GetMatchAction nfs {}", "nfs: {}", nfs),
	skipIfNot("GetMatchAction capacity, NFS", "capacity: 0,100Gi", nfs),
	skipIf("GetMatchAction capacity and nfs, CSI", "capacity: 0,100Gi\nnfs: {}", "snapshot"),
	skipIfNot("GetMatchAction capacity and types, hostPath", "capacity: 0,100Gi\nvolumeTypes: [local, hostPath]", hostPath),
	skipIf("GetMatchAction capacity and types, CSI", "capacity: 0,100Gi\nvolumeTypes: [local, hostPath]", "snapshot"),
	skipIf("GetMatchAction capacity and type csi", "capacity: 0,100Gi\nvolumeTypes: [local, csi]", "echo"),
	skipIf("GetMatchAction type in capitals", "volumeTypes: [CSI]", "snapshot"),
	skipIf("GetMatchAction capacity and labels", "capacity: 0,100Gi\npvcLabels: {environment: production}", "echo", labels("environment", "production")),
	skipIf("GetMatchAction capacity and labels, more", "capacity: 0,100Gi\npvcLabels: {environment: production}", "echo", labels("environment", "production", "app", "backend")),
	skipIf("GetMatchAction two labels, PVC one", "pvcLabels: {environment: production, app: frontend}", "snapshot", labels("environment", "production")),
	skipIf("GetMatchAction labels, another value", "pvcLabels: {environment: production}", "snapshot", labels("environment", "staging")),
	skipIf("pvcLabels, PVC without labels", "pvcLabels: {environment: production}", "snapshot"),
	skipIf("pvcLabels empty", "pvcLabels: {}", "echo"),
	skipIf("GetMatchAction pvcPhase Pending, Bound", "pvcPhase: [Pending]", "snapshot"),
	skipIf("pvcPhase Pending, Bound", "pvcPhase: [Pending, Bound]", "echo"),
	skipIf("pvcPhase in lower case", "pvcPhase: [bound]", "snapshot"),
	skipIf("pvcPhase empty", "pvcPhase: []", "echo"),
	skipIf("GetMatchAction pvcVolumeMode Block", "pvcVolumeMode: Block", "echo", mode(corev1.PersistentVolumeBlock)),
	skipIf("GetMatchAction pvcVolumeMode Block, Filesystem", "pvcVolumeMode: Block", "snapshot"),
	skipIf("pvcVolumeMode Filesystem", "pvcVolumeMode: Filesystem", "echo"),
	skipIf("pvcVolumeMode in lower case", "pvcVolumeMode: filesystem", "snapshot"),
	skipIf("pvcVolumeMode foo", "pvcVolumeMode: foo", "snapshot"),
	skipIf("pvcVolumeMode empty", `pvcVolumeMode: ""`, "echo"),
	{name: "GetMatchAction pvcVolumeMode, PVC without mode", policy: inPolicy("pvcVolumeMode: Filesystem", "skip", ""), item: unset("spec", "volumeMode"), want: "snapshot"},
	skipIf("GetMatchAction pvcAccessModes RWO", "pvcAccessModes: [ReadWriteOnce]", "echo"),
	skipIf("GetMatchAction pvcAccessModes RWO, Block", "pvcAccessModes: [ReadWriteOnce]", "echo", mode(corev1.PersistentVolumeBlock)),
	skipIf("GetMatchAction pvcAccessModes RWO, RWO and ROX", "pvcAccessModes: [ReadWriteOnce]", "snapshot", modes(rwo, rox)),
	skipIf("GetMatchAction pvcAccessModes RWO, RWX", "pvcAccessModes: [ReadWriteOnce]", "snapshot", modes(rwx)),
	skipIf("GetMatchAction pvcAccessModes in another order", "pvcAccessModes: [ReadWriteMany, ReadOnlyMany]", "echo", modes(rox, rwx)),
	skipIf("GetMatchAction pvcAccessModes one missing", "pvcAccessModes: [ReadOnlyMany, ReadWriteMany]", "snapshot", modes(rwx)),
	skipIf("GetMatchAction Block and RWO", "pvcVolumeMode: Block\npvcAccessModes: [ReadWriteOnce]", "echo", mode(corev1.PersistentVolumeBlock)),
	skipIf("pvcAccessModes in lower case", "pvcAccessModes: [readwriteonce]", "snapshot"),
	skipIf("pvcAccessModes twice the same", "pvcAccessModes: [ReadWriteOnce, ReadWriteOnce]", "snapshot"),
	skipIf("pvcAccessModes empty", "pvcAccessModes: []", "echo"),

	skipIf("range 0,10Gi with 5Gi", "capacity: 0,10Gi", "echo", capacity("5Gi")),
	skipIf("range 0,10Gi with 15Gi", "capacity: 0,10Gi", "snapshot", capacity("15Gi")),
	skipIf("range 20Gi, with 25Gi", `capacity: "20Gi,"`, "echo", capacity("25Gi")),
	skipIf("range 20Gi,0 with 15Gi", "capacity: 20Gi,0", "snapshot", capacity("15Gi")),
	skipIf("range 10Gi,20Gi with 15Gi", "capacity: 10Gi,20Gi", "echo", capacity("15Gi")),
	skipIf("range 10Gi,20Gi with 5Gi", "capacity: 10Gi,20Gi", "snapshot", capacity("5Gi")),
	skipIf("range 10Gi,20Gi with 25Gi", "capacity: 10Gi,20Gi", "snapshot", capacity("25Gi")),
	skipIf("range 0,0 with 5Gi", "capacity: 0,0", "echo", capacity("5Gi")),
	skipIf("range at its upper limit", "capacity: 1Gi,20Gi", "echo", capacity("20Gi")),
	skipIf("range in other units", "capacity: 5000M,5001M", "echo", capacity("5G")),
	skipIf("range with blanks", `capacity: " 10Gi , 20Gi "`, "echo", capacity("15Gi")),
	skipIf("range without lower limit", `capacity: ",100Gi"`, "echo"),
	skipIf("range without limits", `capacity: ","`, "echo"),

	skipIf("storageClass gp2", "storageClass: [gp2]", "echo", pvClass("gp2")),
	skipIf("storageClass gp2, ebs-sc", "storageClass: [gp2, ebs-sc]", "echo", pvClass("gp2")),
	skipIf("storageClass gp2, other", "storageClass: [gp2]", "snapshot", pvClass("ebs-sc")),
	skipIf("storageClass empty list", "storageClass: []", "echo", pvClass("ebs-sc")),
	skipIf("storageClass, PV without", "storageClass: [gp2]", "snapshot", pvClass("")),
	skipIf("storageClass in capitals", "storageClass: [GP2]", "snapshot", pvClass("gp2")),
	skipIfNot("nfs server and path", "nfs: {server: 192.168.10.20, path: /share}", nfs),
	skipIf("csi driver in capitals", "csi: {driver: Files.csi.driver}", "snapshot", files),
	skipIf("csi attribute empty, missing beside others", `csi: {driver: files.csi.driver, volumeAttributes: {protocol: ""}}`, "echo", filesOther),
	skipIf("csi attribute empty, none at all", `csi: {driver: files.csi.driver, volumeAttributes: {protocol: ""}}`, "snapshot", files),
	skipIf("csi no attributes asked", `csi: {driver: files.csi.driver, volumeAttributes: {}}`, "echo", filesOther),
}

func twoSkips(name, want string, volume func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim)) input {
	return input{name: name, volume: volume, want: want, policy: "version: v1\nvolumePolicies:\n" +
		policyRule("csi: {driver: disks.csi.driver}", "skip", "") +
		policyRule("csi: {driver: files.csi.driver, volumeAttributes: {protocol: nfs}}", "skip", "")}
}

// warned is an input that ours warns about.
func warned(input input, warnings int) input {
	input.warnings = warnings
	return input
}

// policyForms are what YAML does to what was meant: VP-10 to VP-14, W-39.
var policyForms = []input{
	warned(skipIf("W-39 csi without value", "csi:", "echo"), 1),
	warned(skipIf("VP-13 nfs without value", "nfs:", "echo"), 1),
	warned(skipIf("VP-13 capacity without value", "capacity:", "echo"), 1),
	warned(skipIf("VP-13 storageClass without value", "storageClass:", "echo"), 1),
	warned(skipIf("VP-13 volumeTypes without value", "volumeTypes:", "echo"), 1),
	warned(skipIf("VP-13 pvcPhase without value", "pvcPhase:", "echo"), 1),
	skipIf("VP-14 pvcLabels without value", "pvcLabels:", "error policy"),
	skipIf("VP-14 pvcVolumeMode without value", "pvcVolumeMode:", "error policy"),
	skipIf("VP-14 pvcAccessModes without value", "pvcAccessModes:", "error policy"),
	skipIf("VP-12 number without quotes", "csi: {driver: files.csi.driver, volumeAttributes: {version: 1.10}}", "echo", csi("files.csi.driver", "version", "1.1")),
	skipIf("VP-12 number without quotes, as it was meant", "csi: {driver: files.csi.driver, volumeAttributes: {version: 1.10}}", "snapshot", csi("files.csi.driver", "version", "1.10")),
	skipIf("VP-12 number in quotes", `csi: {driver: files.csi.driver, volumeAttributes: {version: "1.10"}}`, "echo", csi("files.csi.driver", "version", "1.10")),
	skipIf("VP-12 hexadecimal", "csi: {driver: files.csi.driver, volumeAttributes: {id: 0x10}}", "echo", csi("files.csi.driver", "id", "16")),
	skipIf("VP-12 true", "csi: {driver: files.csi.driver, volumeAttributes: {encrypted: true}}", "echo", csi("files.csi.driver", "encrypted", "true")),
	skipIf("VP-12 yes", "csi: {driver: files.csi.driver, volumeAttributes: {encrypted: yes}}", "echo", csi("files.csi.driver", "encrypted", "yes")),
	skipIf("VP-12 date", "csi: {driver: files.csi.driver, volumeAttributes: {since: 2024-01-02}}", "echo", csi("files.csi.driver", "since", "2024-01-02T00:00:00Z")),
	skipIf("VP-12 exponent", "csi: {driver: files.csi.driver, volumeAttributes: {size: 1e3}}", "echo", csi("files.csi.driver", "size", "1000")),
	skipIf("VP-12 underscores", "csi: {driver: files.csi.driver, volumeAttributes: {size: 1_000}}", "echo", csi("files.csi.driver", "size", "1000")),
	skipIf("VP-12 octal", "csi: {driver: files.csi.driver, volumeAttributes: {mode: 0o17}}", "echo", csi("files.csi.driver", "mode", "15")),
	skipIf("VP-12 tilde", "csi: {driver: files.csi.driver, volumeAttributes: {mode: ~}}", "echo", csi("files.csi.driver", "mode", "")),
	skipIf("VP-12 number as storageClass", "storageClass: [1.50]", "echo", pvClass("1.5")),
	skipIf("VP-12 anchors", "csi: &d {driver: files.csi.driver}", "echo", files),
	skipIf("F50 CRLF", "csi: {}\r\n", "echo"),
	{name: "F50 byte order mark", policy: "\ufeff" + inPolicy("csi: {}", "skip", ""), want: "echo"},
	{name: "VP-10 second document", policy: inPolicy("csi: {}", "skip", "") + "---\nnonsense: [\n", want: "echo"},
	{name: "VP-10 comments and a leading mark", policy: "# rules\n---\n" + inPolicy("csi: {} # any", "skip", ""), want: "echo"},
	{name: "VP-10 JSON", policy: `{"version":"v1","volumePolicies":[{"conditions":{"csi":{}},"action":{"type":"skip"}}]}`, want: "echo"},
	{name: "VP-10 no policies", policy: "version: v1\n", want: "snapshot"},
}

func fault(name, policy string) input {
	return input{name: name, policy: policy, want: "error policy"}
}

// policyTexts are ConfigMaps that cannot be read (7.5 Load, 7.6 unmarshal).
var policyTexts = []input{
	fault("Load unknown condition", inPolicy("unknown: {}", "skip", "")),
	fault("Load condition in capitals", inPolicy("Capacity: 0,10Gi", "skip", "")),
	fault("Load duplicate key", inPolicy("csi: {}\ncsi: {}", "skip", "")),
	fault("Load storageClass as text", inPolicy("storageClass: gp2", "skip", "")),
	fault("Load csi as text", inPolicy("csi: aws.efs.csi.driver", "skip", "")),
	fault("Load nfs as text", inPolicy("nfs: server", "skip", "")),
	fault("Load pvcLabels as text", inPolicy("pvcLabels: production", "skip", "")),
	fault("Load pvcVolumeMode as list", inPolicy("pvcVolumeMode: [Block]", "skip", "")),
	fault("Load pvcAccessModes as text", inPolicy("pvcAccessModes: ReadWriteOnce", "skip", "")),
	fault("Load pvcAccessModes with a number", inPolicy("pvcAccessModes: [1]", "skip", "")),
	fault("Load csi driver as list", inPolicy("csi: {driver: [a]}", "skip", "")),
	fault("Load volumeAttributes as text", inPolicy("csi: {driver: a, volumeAttributes: b}", "skip", "")),
	fault("Load tab", "version: v1\nvolumePolicies:\n\t- conditions: {}\n"),
	fault("Load unknown top key", "version: v1\nunknown: x\n"),
	fault("Load unknown key of an action", "version: v1\nvolumePolicies:\n- conditions: {}\n  action: {type: skip, kind: x}\n"),
	fault("Load unknown key of a rule", "version: v1\nvolumePolicies:\n- conditions: {}\n  when: never\n  action: {type: skip}\n"),
	fault("parseCapacity one value", inPolicy("capacity: 10Gi", "skip", "")),
	fault("parseCapacity three values", inPolicy("capacity: 1,2,3", "skip", "")),
	fault("parseCapacity no quantity", inPolicy("capacity: invalid-capacity", "skip", "")),
	fault("parseCapacity letters", inPolicy("capacity: a,b", "skip", "")),
	fault("not YAML", "version: [v1\n"),
	fault("a text", "nonsense"),
}

// policyValidation are policies that can be read and are not allowed (7.7), and sections for others.
var policyValidation = []input{
	fault("validate capacity 100,50", inPolicy("capacity: 100,50", "skip", "")),
	fault("validate capacity 200,100", inPolicy("capacity: 200,100", "skip", "")),
	{name: "validate capacity 100,100", policy: inPolicy("capacity: 100,100", "skip", ""), want: "snapshot"},
	{name: "validate capacity 100,0", policy: inPolicy("capacity: 100,0", "skip", ""), want: "echo"},
	fault("validate version v2", strings.Replace(inPolicy("csi: {}", "skip", ""), "v1", "v2", 1)),
	fault("validate no version", "volumePolicies:\n"+policyRule("csi: {}", "skip", "")),
	fault("validate action unsupported", inPolicy("csi: {}", "unsupported", "")),
	fault("validate action in capitals", inPolicy("csi: {}", "Skip", "")),
	fault("validate no action", "version: v1\nvolumePolicies:\n- conditions: {}\n"),
	fault("validate attributes without driver", inPolicy("csi: {volumeAttributes: {a: b}}", "skip", "")),
	fault("validate second rule", inPolicy("csi: {}", "skip", "")+policyRule("csi: {}", "nothing", "")),
	{name: "validate all conditions", want: "echo", volume: withVolume(labels("a", "b"), csi("files.csi.driver", "protocol", "nfs")),
		policy: inPolicy("capacity: 0,10Gi\nstorageClass: ["+bench.StorageClass+"]\ncsi: {driver: files.csi.driver, volumeAttributes: {protocol: nfs}}\n"+
			"volumeTypes: [csi]\npvcLabels: {a: b}\npvcPhase: [Bound]\npvcVolumeMode: Filesystem\npvcAccessModes: [ReadWriteOnce]", "skip", "")},
	{name: "includeExcludePolicy beside", policy: inPolicy("csi: {}", "skip", "") + "includeExcludePolicy:\n  excludedNamespaceScopedResources: [secrets]\n", want: "echo"},
	fault("includeExcludePolicy with *", inPolicy("csi: {}", "skip", "")+"includeExcludePolicy:\n  includedNamespaceScopedResources: ['*']\n"),
	fault("includeExcludePolicy in both", inPolicy("csi: {}", "skip", "")+
		"includeExcludePolicy:\n  includedClusterScopedResources: [a]\n  excludedClusterScopedResources: [a]\n"),
}

// policySources are where the policy is: VP-1 to VP-4.
var policySources = []input{
	{name: "VP-1 kind in other letters", policy: inPolicy("csi: {}", "skip", ""), backup: ofKind("ConfigMap"), want: "echo"},
	{name: "VP-1 kind Secret", policy: inPolicy("csi: {}", "skip", ""), backup: ofKind("Secret"), want: "snapshot"},
	{name: "VP-2 ConfigMap missing", backup: func(backup *velerov1.Backup) { bench.WithPolicy(backup, "there-is-none") }, want: "error policy", says: []string{"there-is-none"}},
	{name: "VP-2 ConfigMap forbidden", policy: inPolicy("csi: {}", "skip", ""), between: answered(readsConfigMap, 1, always, status(403, "Forbidden", "not for you")),
		want: "error policy", says: []string{"not for you"}},
	{name: "VP-3 no key", data: map[string]string{}, want: "error policy"},
	{name: "VP-3 two keys", data: map[string]string{"a": inPolicy("csi: {}", "skip", ""), "b": inPolicy("csi: {}", "skip", "")}, want: "error policy"},
	{name: "VP-3 key of any name", data: map[string]string{"whatever": inPolicy("csi: {}", "skip", "")}, want: "echo"},
	{name: "VP-10 empty text", data: map[string]string{"policies.yaml": ""}, want: "error policy"},
}

func ofKind(kind string) func(*velerov1.Backup) {
	return func(backup *velerov1.Backup) { backup.Spec.ResourcePolicy.Kind = kind }
}
