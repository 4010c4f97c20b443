package parity

import (
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

const (
	classNote = bench.ClassAnnotation
	forDriver = classNote + "_"
)

// of is a StorageClass whose provisioner is the driver of this name, and so the PV's.
func of(driver string) []storageClass {
	return []storageClass{{driver + "-sc.{id}", driver + ".{id}"}}
}

// upstream are the classes of Velero's own table: the drivers are made this input's own.
var upstream = []class{
	{name: "hostpath.{id}", driver: "hostpath.{id}", label: is("foo")},
	{name: "foo.{id}", driver: "foo.{id}", label: is("foo")},
	{name: "foowithoutlabel.{id}", driver: "foo.{id}"},
	{name: "bar.{id}", driver: "bar.{id}", label: is("true")},
	{name: "bar2.{id}", driver: "bar.{id}", label: is("true")},
	{name: "baz.{id}", driver: "baz.{id}"},
	{name: "amb1.{id}", driver: "amb.{id}"},
	{name: "amb2.{id}", driver: "amb.{id}"},
}

// classRules are the rows of Velero's tables for the choice of a VolumeSnapshotClass, and the marks beyond them.
var classRules = []input{
	{name: "TG-1 labelled class", storageClasses: of("hostpath"), classes: upstream, want: "snapshot", class: "hostpath.{id}"},
	{name: "TG-2 PVC annotation", storageClasses: of("foo"), classes: upstream, volume: annotated(classNote, "foowithoutlabel.{id}"),
		want: "snapshot", class: "foowithoutlabel.{id}"},
	{name: "TG-3 PVC annotation of another driver", storageClasses: of("bar"), classes: upstream, volume: annotated(classNote, "foowithoutlabel.{id}"),
		want: "snapshot", class: "bar.{id}", warnings: 1},
	{name: "TG-4 PVC annotation of another driver, backup annotation", storageClasses: of("bar"), classes: upstream,
		volume: annotated(classNote, "foowithoutlabel.{id}"), backup: backupAnnotated(forDriver+"bar.{id}", "bar2.{id}"),
		want: "snapshot", class: "bar2.{id}", warnings: 1},
	{name: "TG-5 backup annotation", storageClasses: of("foo"), classes: upstream, backup: backupAnnotated(forDriver+"foo.{id}", "foowithoutlabel.{id}"),
		want: "snapshot", class: "foowithoutlabel.{id}"},
	{name: "TG-6 backup annotation for another driver", storageClasses: of("bar"), classes: upstream,
		backup: backupAnnotated(forDriver+"foo.{id}", "foowithoutlabel.{id}"), want: "snapshot", class: "bar.{id}"},
	{name: "TG-7 driver without class", storageClasses: of("blah"), classes: upstream, want: "error class", says: []string{"blah."}},
	{name: "TG-8 both annotations name missing classes", storageClasses: of("foo"), classes: upstream,
		volume: annotated(classNote, "foo2.{id}"), backup: backupAnnotated(forDriver+"foo.{id}", "foo2.{id}"),
		want: "snapshot", class: "foo.{id}", warnings: 2},
	{name: "ForStorageClass foo", storageClasses: of("foo"), classes: upstream, want: "snapshot", class: "foo.{id}"},
	{name: "ForStorageClass bar", storageClasses: of("bar"), classes: upstream, want: "snapshot", class: "bar.{id}"},
	{name: "ForStorageClass baz, the only one", storageClasses: of("baz"), classes: upstream, want: "snapshot", class: "baz.{id}"},
	{name: "ForStorageClass amb, two without mark", storageClasses: of("amb"), classes: upstream, want: "error class", says: []string{"amb1.", "amb2."}},

	{name: "class PVC annotation before backup annotation", storageClasses: of("foo"), classes: upstream,
		volume: annotated(classNote, "foowithoutlabel.{id}"), backup: backupAnnotated(forDriver+"foo.{id}", "foo.{id}"),
		want: "snapshot", class: "foowithoutlabel.{id}"},
	{name: "class PVC annotation in capitals", storageClasses: of("foo"), classes: upstream,
		volume: annotated(classNote, "FOOWithoutLabel.{id}"), want: "snapshot", class: "foowithoutlabel.{id}"},
	{name: "class PVC annotation empty", storageClasses: of("foo"), classes: upstream, volume: annotated(classNote, ""), want: "snapshot", class: "foo.{id}"},
	{name: "class backup annotation in capitals", storageClasses: of("foo"), classes: upstream,
		backup: backupAnnotated(forDriver+"foo.{id}", "FooWithoutLabel.{id}"), want: "snapshot", class: "foowithoutlabel.{id}"},
	{name: "W-11 PVC annotation misspelt, only class", storageClasses: of("baz"), classes: upstream, volume: annotated(classNote, "bazz"),
		want: "snapshot", class: "baz.{id}", warnings: 1},
	{name: "W-11 PVC annotation misspelt, no mark", storageClasses: of("amb"), classes: upstream, volume: annotated(classNote, "amb3"),
		want: "error class", says: []string{"amb3"}},

	{name: "F34 default annotation", storageClasses: of("d"), want: "snapshot", class: "b.{id}",
		classes: []class{{name: "a.{id}", driver: "d.{id}"}, {name: "b.{id}", driver: "d.{id}", isDefault: is("true")}}},
	{name: "F34 default annotation without value", storageClasses: of("d"), want: "snapshot", class: "b.{id}",
		classes: []class{{name: "a.{id}", driver: "d.{id}"}, {name: "b.{id}", driver: "d.{id}", isDefault: is("")}}},
	{name: "F35 label before default annotation", storageClasses: of("d"), want: "snapshot", class: "b.{id}",
		classes: []class{{name: "a.{id}", driver: "d.{id}", isDefault: is("true")}, {name: "b.{id}", driver: "d.{id}", label: is("")}}},
	{name: "F34 two defaults, the first by name", storageClasses: of("d"), want: "snapshot", class: "a.{id}",
		classes: []class{{name: "b.{id}", driver: "d.{id}", isDefault: is("true")}, {name: "a.{id}", driver: "d.{id}", isDefault: is("true")}}},
	{name: "F34 two labels, the first by name", storageClasses: of("d"), want: "snapshot", class: "a.{id}",
		classes: []class{{name: "b.{id}", driver: "d.{id}", label: is("x")}, {name: "a.{id}", driver: "d.{id}", label: is("y")}}},
	{name: "F34 label of another driver's class", storageClasses: of("d"), want: "error class",
		classes: []class{{name: "a.{id}", driver: "d.{id}"}, {name: "b.{id}", driver: "d.{id}"}, {name: "c.{id}", driver: "e.{id}", label: is("x")}}},
	{name: "W-11 label says false beside an unmarked class", storageClasses: of("d"), want: "snapshot", class: "b.{id}", differs: []string{"D-class-mark-no"},
		classes: []class{{name: "a.{id}", driver: "d.{id}"}, {name: "b.{id}", driver: "d.{id}", label: is("false")}}},
	{name: "W-11 label says false beside a labelled class", storageClasses: of("d"), want: "snapshot", class: "a.{id}", oursClass: "b.{id}", differs: []string{"D-class-mark-no"}, warnings: 1,
		classes: []class{{name: "a.{id}", driver: "d.{id}", label: is("false")}, {name: "b.{id}", driver: "d.{id}", label: is("true")}}},
	{name: "W-11 label says false on the only class", storageClasses: of("d"), want: "snapshot", class: "a.{id}", warnings: 1,
		classes: []class{{name: "a.{id}", driver: "d.{id}", label: is("false")}}},
	{name: "W-11 default annotation says false", storageClasses: of("d"), want: "snapshot", class: "a.{id}", oursClass: "b.{id}", differs: []string{"D-class-mark-no"}, warnings: 1,
		classes: []class{{name: "a.{id}", driver: "d.{id}", isDefault: is("false")}, {name: "b.{id}", driver: "d.{id}", isDefault: is("true")}}},
	{name: "class driver in other letters, by mark", storageClasses: of("d"), want: "error class",
		classes: []class{{name: "a.{id}", driver: "D.{id}", label: is("x")}}},
	{name: "class driver in other letters, by annotation", storageClasses: of("d"), want: "snapshot", class: "a.{id}", volume: annotated(classNote, "a.{id}"),
		classes: []class{{name: "a.{id}", driver: "D.{id}"}}},
	{name: "class with policy Retain", storageClasses: of("d"), want: "snapshot", class: "a.{id}",
		classes: []class{{name: "a.{id}", driver: "d.{id}", retain: true}}},
	{name: "class named by PVC, real driver, Retain", volume: annotated(classNote, bench.ClassRetain), want: "snapshot", class: bench.ClassRetain},

	{name: "TE-8 policy snapshotClass", storageClasses: of("d"), policy: inPolicy("csi: {}", "snapshot", "snapshotClass: policy.{id}"),
		want: "snapshot", class: "labelled.{id}", oursClass: "policy.{id}", differs: []string{"D-policy-class"},
		classes: []class{{name: "labelled.{id}", driver: "d.{id}", label: is("x")}, {name: "policy.{id}", driver: "d.{id}"}}},
	fromPolicy("none", "", "error class"),
	honoured(fromPolicy("vsc-array-1", "vsc-array-1.{id}", "error class"), "vsc-array-1.{id}"),
	honoured(fromPolicy("vsc-array-2", "vsc-array-2.{id}", "error class"), "vsc-array-2.{id}"),
	fromPolicy("vsc-other of another driver", "vsc-other.{id}", "error class"),
	fromPolicy("missing", "non-existent", "error class"),
	honoured(fromPolicy("in capitals", "VSC-ARRAY-1.{id}", "error class"), "vsc-array-1.{id}"),
}

// fromPolicy is a row of Velero's table for the policy parameter snapshotClass.
func fromPolicy(name, parameterClass, want string) input {
	parameter := ""
	if parameterClass != "" {
		parameter = "snapshotClass: " + parameterClass
	}
	return input{
		name: "FromVolumePolicy " + name, storageClasses: of("infinibox"), policy: inPolicy("csi: {}", "snapshot", parameter),
		want: want,
		classes: []class{
			{name: "vsc-array-1.{id}", driver: "infinibox.{id}"}, {name: "vsc-array-2.{id}", driver: "infinibox.{id}"},
			{name: "vsc-other.{id}", driver: "other.{id}"},
		},
	}
}

// honoured is a row of which ours takes the class that the policy names.
func honoured(input input, class string) input {
	input.oursClass, input.differs = class, []string{"D-policy-class"}
	return input
}

// behind puts the PV behind another driver than its StorageClass's provisioner.
func behind(driver string) func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	return func(pv *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) { pv.Spec.CSI.Driver = driver }
}

// inClass changes the StorageClass of PVC and PV.
func inClass(name string) func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	return func(pv *corev1.PersistentVolume, pvc *corev1.PersistentVolumeClaim) {
		pvc.Spec.StorageClassName, pv.Spec.StorageClassName = &name, name
	}
}

// classDrivers are volumes whose driver and StorageClass do not say the same.
var classDrivers = []input{
	{name: "W-9 migrated, class of the provisioner only", volume: behind("gone.{id}"), want: "snapshot", class: bench.ClassDelete},
	{name: "W-10 class of the PV's driver only", storageClasses: []storageClass{{"sc.{id}", "old.{id}"}}, volume: behind("new.{id}"),
		classes: []class{{name: "new.{id}", driver: "new.{id}"}}, want: "error class", oursClass: "new.{id}", differs: []string{"D-pv-driver"}},
	{name: "W-10 classes of both", storageClasses: []storageClass{{"sc.{id}", "old.{id}"}}, volume: behind("new.{id}"),
		classes: []class{{name: "new.{id}", driver: "new.{id}"}, {name: "old.{id}", driver: "old.{id}"}},
		want:    "snapshot", class: "old.{id}", oursClass: "new.{id}", differs: []string{"D-pv-driver"}},
	{name: "W-10 backup annotation for the provisioner", storageClasses: []storageClass{{"sc.{id}", "old.{id}"}}, volume: behind("new.{id}"),
		classes: []class{{name: "a.{id}", driver: "old.{id}"}, {name: "b.{id}", driver: "old.{id}"}},
		backup:  backupAnnotated(forDriver+"old.{id}", "b.{id}"), want: "snapshot", class: "b.{id}"},
	{name: "backup annotation, provisioner in capitals", storageClasses: []storageClass{{"sc.{id}", "Old.{id}"}},
		classes: []class{{name: "a.{id}", driver: "Old.{id}"}, {name: "b.{id}", driver: "Old.{id}"}},
		backup:  backupAnnotated(forDriver+"old.{id}", "b.{id}"), want: "snapshot", class: "b.{id}"},
	{name: "W-9 StorageClass empty", volume: inClass(""), want: "error storage class", oursClass: bench.ClassDelete, differs: []string{"D-no-storage-class"}},
	{name: "W-9 StorageClass deleted", volume: inClass("gone.{id}"), want: "error storage class", oursClass: bench.ClassDelete, differs: []string{"D-no-storage-class"}},
	{name: "W-9 StorageClass deleted, driver without class", volume: withVolume(inClass("gone.{id}"), behind("blah.{id}")),
		want: "error storage class", differs: []string{"D-no-storage-class"}},
	{name: "R-5 no StorageClass", volume: withoutClass, want: "error storage class", oursClass: bench.ClassDelete, differs: []string{"D-no-storage-class"}},
	{name: "F48 no StorageClass and no CSI volume", volume: withVolume(withoutClass, hostPath), want: "error storage class", differs: []string{"D-no-storage-class"}},
	{name: "F48 no StorageClass and no volume", volume: withVolume(withoutClass, unbound), want: "error storage class", differs: []string{"D-no-storage-class"}},
	{name: "R-15 LIST of classes forbidden", between: answered(listsClasses, 1, always, status(403, "Forbidden", "not for you")),
		want: "error class list", says: []string{"not for you"}},
	{name: "no classes at all for the driver, policy snapshot", storageClasses: of("blah"), policy: inPolicy("csi: {}", "snapshot", ""), want: "error class"},
	// The first PVC of the backup makes ours remember the classes.
	{name: "class made during the backup", storageClasses: []storageClass{{"sc.{namespace}", "d.{namespace}"}}, want: "snapshot", class: "d.{namespace}",
		prepare: func(s *side) error {
			before, err := b.CreateVolume(s.ctx, s.namespace, bench.Volume{Name: "before"})
			if err != nil {
				return err
			}
			if _, _, _, _, err := s.plugin.Action.Execute(before, s.backup); err != nil {
				return err
			}
			return s.createClass(class{name: "d.{namespace}", driver: "d.{namespace}"})
		}},
	{name: "F34 annotation of the backup for the driver of another case", storageClasses: of("foo"), classes: upstream,
		backup: func(backup *velerov1.Backup) {
			backup.Annotations[strings.ToUpper(forDriver)+"foo.{id}"] = "foowithoutlabel.{id}"
		}, want: "snapshot", class: "foo.{id}"},
}

func withoutClass(pv *corev1.PersistentVolume, pvc *corev1.PersistentVolumeClaim) {
	pvc.Spec.StorageClassName, pv.Spec.StorageClassName = nil, ""
}

// withVolume puts several changes of PV and PVC together.
func withVolume(changes ...func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim)) func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	return func(pv *corev1.PersistentVolume, pvc *corev1.PersistentVolumeClaim) {
		for _, change := range changes {
			change(pv, pvc)
		}
	}
}
