package cases

import (
	"testing"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// W-9: a migrated volume's PV has a driver for which there is no VolumeSnapshotClass; the provisioner of its storage
// class has one.
func TestClassOfTheProvisionerServesWhenTheDriverHasNone(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Launch{Env: early(true)})
	claim := s.volume(bench.Volume{Name: "data", Driver: "migrated.csi.test"})
	backup := bench.NewBackup("provisioner")
	snapshot := s.hasSnapshot(s.execute(claim, backup), claim, backup)
	if *snapshot.Spec.VolumeSnapshotClassName != bench.ClassDelete {
		t.Errorf("class %s, wanted %s", *snapshot.Spec.VolumeSnapshotClassName, bench.ClassDelete)
	}
	s.quiet(0, 0)
}

// An annotation that names a class which does not exist is passed over, but never silently.
func TestAnnotationNamingAMissingClassIsAWarning(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Launch{Env: early(true)})
	claim := s.volume(bench.Volume{Name: "data", Annotations: map[string]string{bench.ClassAnnotation: "gone"}})
	backup := bench.NewBackup("missing-class")
	s.hasSnapshot(s.execute(claim, backup), claim, backup)
	if !builtin() && len(s.plugin.Logs.Containing("gone")) == 0 {
		t.Error("no line names the missing class")
	}
	s.quiet(1, 0)
}
