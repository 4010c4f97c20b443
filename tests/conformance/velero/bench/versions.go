package bench

import (
	"os"

	"k8s.io/apimachinery/pkg/util/version"
)

// The versions that `tests/conformance/run` has chosen. It names the programs after the short one, "1.18", so that
// several live beside each other; the exact one, "v1.18.3", is what their go.mod says.
const (
	veleroVariable      = "CONFORMANCE_VELERO"
	snapshotterVariable = "CONFORMANCE_SNAPSHOTTER"
	exact               = "_VERSION"
)

// versioned are the programs that exist in several versions, and the variable with the chosen one.
var versioned = map[string]string{
	"velero-server":       veleroVariable,
	"snapshot-controller": snapshotterVariable,
	"csi-snapshotter":     snapshotterVariable,
}

// programFile is the name of a program's file: velero-server-1.18, etcd.
func programFile(name string) string {
	if variable, several := versioned[name]; several {
		return name + "-" + os.Getenv(variable)
	}
	return name
}

// VeleroVersion is the exact version of the Velero server of this run, "v1.18.3". The plugin client in the tests'
// own process is always that of this module.
func VeleroVersion() string { return os.Getenv(veleroVariable + exact) }

// SnapshotterVersion is the exact version of snapshot-controller, csi-snapshotter and the CRDs of this run.
func SnapshotterVersion() string { return os.Getenv(snapshotterVariable + exact) }

// VeleroAtLeast compares the Velero server of this run with a version like "1.17" or "1.18.1".
func VeleroAtLeast(minimum string) bool { return atLeast(VeleroVersion(), minimum) }

// SnapshotterAtLeast compares the snapshotter of this run with a version like "8.4".
func SnapshotterAtLeast(minimum string) bool { return atLeast(SnapshotterVersion(), minimum) }

// atLeast compares number by number and panics on what is no version: nothing that a test should survive.
func atLeast(actual, minimum string) bool {
	return version.MustParseGeneric(actual).AtLeast(version.MustParseGeneric(minimum))
}
