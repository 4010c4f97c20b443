package parity

import "regexp"

// errorKinds says what an error is about, whoever words it: the first that matches. Where `same` is true the text
// must be the built-in's, letter by letter; elsewhere ours says more (D-error-text).
var errorKinds = []struct {
	kind    string
	same    bool
	pattern *regexp.Regexp
}{
	{"item", false, regexp.MustCompile(`^(read the item of the request|cannot restore|cannot convert|quantities must match|Object 'Kind' is missing)`)},
	{"backup", false, regexp.MustCompile(`^read the backup of the request`)},
	{"operation", false, regexp.MustCompile(`DataUpload for operationID|operation ID \S* ?is invalid|is not one of velero-plugin-csi-fastpoll`)},
	{"unbound", true, regexp.MustCompile(`has no volume backing this claim`)},
	{"phase", true, regexp.MustCompile(`is in phase \S* ?and is not bound to a volume`)},
	{"storage class", false, regexp.MustCompile(`PVC has no storage class|error getting storage class`)},
	{"volume", false, regexp.MustCompile(`failed to get PV |get PV \S+ of PVC|get PersistentVolume`)},
	{"group", false, regexp.MustCompile(`VolumeGroupSnapshot|is in volume group|VolumeGroupSnapshotClass`)},
	{"data movement", false, regexp.MustCompile(`node-agent is not ready|does not move snapshot data`)},
	{"class", false, regexp.MustCompile(`failed to get VolumeSnapshotClass for provisioner`)},
	{"class list", false, regexp.MustCompile(`error listing VolumeSnapshotClass|list the VolumeSnapshotClasses`)},
	{"create", false, regexp.MustCompile(`error creating volume snapshot|create a VolumeSnapshot of PVC`)},
	{"policy", false, regexp.MustCompile(`failed to get volume policies from backup|read the volume policies|get ConfigMap|volume policy ConfigMap`)},
	{"pods", false, regexp.MustCompile(`failed to build PVC-to-Pod cache|list the pods of namespace`)},
	{"deletion", false, regexp.MustCompile(`is being deleted, so no snapshot`)},
	{"panic", false, regexp.MustCompile(`panic|nil pointer`)},
	{"gone", false, regexp.MustCompile(`failed to get volumesnapshot|failed to get VolumeSnapshotContent|was deleted by somebody else`)},
	{"timeout", false, regexp.MustCompile(`context deadline exceeded|CSI got timed out|timed out after`)},
}

// kindOf is the kind of an error text, or the text itself when nobody has thought of it.
func kindOf(text string) string {
	for _, one := range errorKinds {
		if one.pattern.MatchString(text) {
			return one.kind
		}
	}
	return "unknown: " + text
}

// sameText is true for the kinds whose text must be the built-in's.
func sameText(kind string) bool {
	for _, one := range errorKinds {
		if one.kind == kind {
			return one.same
		}
	}
	return true
}
