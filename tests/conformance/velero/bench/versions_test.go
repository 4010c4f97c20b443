package bench

import "testing"

func TestAVersionIsComparedByItsNumbers(t *testing.T) {
	for _, one := range []struct {
		actual, minimum string
		want            bool
	}{
		{"v1.18.3", "1.17", true},
		{"v1.17.0", "1.17", true},
		{"v1.16.2", "1.17", false},
		{"v1.9.7", "1.14", false},
		{"v1.18.3", "1.18.3", true},
		{"v1.18.0", "1.18.1", false},
		{"v8.4.0", "8.4", true},
	} {
		if got := atLeast(one.actual, one.minimum); got != one.want {
			t.Errorf("%s at least %s: %v", one.actual, one.minimum, got)
		}
	}
}

func TestOnlyProgramsInSeveralVersionsCarryOne(t *testing.T) {
	t.Setenv(veleroVariable, "1.14")
	t.Setenv(snapshotterVariable, "8.4")
	for name, want := range map[string]string{
		"velero-server": "velero-server-1.14", "snapshot-controller": "snapshot-controller-8.4",
		"csi-snapshotter": "csi-snapshotter-8.4", "etcd": "etcd",
	} {
		if got := programFile(name); got != want {
			t.Errorf("%s is %s, not %s", name, got, want)
		}
	}
}
