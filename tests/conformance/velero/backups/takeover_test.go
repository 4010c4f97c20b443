package backups

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

const takeOver = "velero-plugin-csi-fastpoll/take-over"

// Every way to keep the built-in off for us (README "Which volumes it takes", 9.1), and what only looks like one: each
// volume has one snapshot, of this plugin or of the built-in.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	const echoed = "Velero has taken this PVC already"
	anotherDriver := strings.Replace(bench.ActionPolicy("skip", true), bench.DriverName, "other", 1)
	decide(t,
		decision{name: "skip-naming-us", policy: bench.ActionPolicy("skip", true), who: us},
		decision{name: "custom-naming-us", policy: bench.ActionPolicy("custom", true), since: "1.18.1", who: us},
		decision{name: "annotation", withoutVolumes: true, annotated: "true", who: us},
		decision{name: "annotation-and-another-driver", policy: anotherDriver, withoutVolumes: true, annotated: "true", who: us},
		decision{name: "no-policy", who: builtIn, leaves: echoed},
		decision{name: "annotation-alone", annotated: "true", who: builtIn, leaves: echoed},
		decision{name: "snapshot", policy: bench.ActionPolicy("snapshot", false), who: builtIn, leaves: echoed},
		decision{name: "snapshot-without-volumes", policy: bench.ActionPolicy("snapshot", false), withoutVolumes: true, who: builtIn, leaves: echoed},
	)
}

// What nobody takes is not taken by us either, and what may be a mistake is one warning per backup.
func TestLeftAlone(t *testing.T) {
	t.Parallel()
	misspelt := strings.Replace(bench.ActionPolicy("custom", true), "fastpoll\n", "fastpol\n", 1)
	decide(t,
		decision{name: "skip", policy: bench.ActionPolicy("skip", false), leaves: "a volume policy has action skip"},
		decision{name: "without-volumes", withoutVolumes: true, leaves: "the backup has snapshotVolumes: false"},
		decision{name: "annotation-yes", withoutVolumes: true, annotated: "yes", leaves: "hands its PVCs to this plugin", warns: true},
		decision{name: "custom-alone", policy: bench.ActionPolicy("custom", false), since: "1.18.1", leaves: "names no handler", warns: true},
		decision{name: "custom-almost", policy: misspelt, since: "1.18.1", leaves: "does not name it", warns: true},
	)
}

// decision is a backup and who takes its volumes; without a taker nobody does.
type decision struct {
	name, policy string
	// withoutVolumes is snapshotVolumes: false, annotated the value of the take-over annotation.
	withoutVolumes bool
	annotated      string
	// since is the Velero that has the policy's action.
	since string
	who   taker
	// leaves is why the plugin leaves a volume alone, warns whether that is a warning.
	leaves string
	warns  bool
}

// decide runs the backups of one application one after the other, up to the first that goes wrong: the snapshots of
// each are still there in the next one.
func decide(t *testing.T, decisions ...decision) {
	installed := set(t, bench.Install{Env: quick})
	installed.application(bench.Application{Volumes: bench.Volumes(2)})
	var handles []string
	for _, c := range decisions {
		right := t.Run(c.name, func(t *testing.T) {
			if c.since != "" && !bench.VeleroAtLeast(c.since) {
				t.Skipf("Velero has no action custom before %s", c.since)
			}
			handles = installed.in(t).decides(c, handles)
		})
		if !right {
			return
		}
	}
}

// decides runs one backup and returns the handles of all snapshots so far.
func (s *setting) decides(c decision, handles []string) []string {
	s.Helper()
	backup := s.backup(s.unique(c.name), c.policy)
	if c.withoutVolumes {
		no := false
		backup.Spec.SnapshotVolumes = &no
	}
	if c.annotated != "" {
		backup.Annotations = map[string]string{takeOver: c.annotated}
	}
	done := s.completed(backup)
	switch {
	case c.who != "":
		handles = slices.AppendSeq(handles, maps.Values(s.taken(done, c.who, s.namespace, "data-0", "data-1")))
	case c.warns:
		s.untouched(done, c.leaves)
	default:
		s.untouched(done, "")
	}
	s.left(s.namespace, handles...)
	wanted := 0
	if c.leaves != "" {
		wanted = 2
	}
	if said := done.lines("leaving the PVC alone"); len(said) != wanted || wanted > 0 && !strings.Contains(said[0], c.leaves) {
		s.Errorf("wanted %d lines with %q, the plugin said %q", wanted, c.leaves, said)
	}
	return handles
}

// Velero before 1.18.1 does not know custom and refuses the backup (README, way 1).
func TestCustomBeforeItExists(t *testing.T) {
	t.Parallel()
	if bench.VeleroAtLeast("1.18.1") {
		t.Skip("this Velero knows the action custom")
	}
	s := set(t, bench.Install{Env: quick})
	s.application(bench.Application{Volumes: bench.Volumes(1)})
	done, err := s.velero.Run(s.ctx, s.backup(s.unique("custom"), bench.ActionPolicy("custom", true)))
	if err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(done.Status.ValidationErrors, "\n"); done.Status.Phase != velerov1.BackupPhaseFailedValidation || !strings.Contains(said, "invalid action type custom") {
		t.Errorf("the backup is %s: %s", done.Status.Phase, said)
	}
	s.left(s.namespace)
}

// Without EnableCSI nothing would finalize, delete or restore a snapshot: no PVC is touched and one warning says so
// (9.1, README "Install into Velero").
func TestWithoutCSIFeature(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Install{Env: quick, Arguments: []string{"--features="}})
	s.application(bench.Application{Volumes: bench.Volumes(2)})
	const warning = "Velero runs without --features=EnableCSI"
	for name, text := range map[string]string{"policy": bench.Policy(), "no-policy": ""} {
		s.untouched(s.completed(s.backup(s.unique(name), text)), warning)
		s.left(s.namespace)
	}
}

// The global policy of 1.18.3 counts for every backup, after the backup's own rules.
func TestGlobalPolicy(t *testing.T) {
	t.Parallel()
	if !bench.VeleroAtLeast("1.18.3") {
		t.Skip("Velero has global volume policies from 1.18.3 on")
	}
	flag := "--global-backup-volume-policies-configmap=everywhere"
	s := set(t, bench.Install{Env: quick, Arguments: []string{flag}, Policies: map[string]string{"everywhere": bench.ActionPolicy("custom", true)}})
	s.application(bench.Application{Volumes: bench.Volumes(2)})
	byGlobal := s.completed(s.backup(s.unique("global"), ""))
	handles := slices.Collect(maps.Values(s.taken(byGlobal, us, s.namespace, "data-0", "data-1")))
	s.left(s.namespace, handles...)
	byOwn := s.completed(s.backup(s.unique("own"), bench.ActionPolicy("snapshot", false)))
	handles = slices.AppendSeq(handles, maps.Values(s.taken(byOwn, builtIn, s.namespace, "data-0", "data-1")))
	s.left(s.namespace, handles...)

	missing, err := b.InstallVelero(s.ctx, "GlobalPolicy-missing", bench.Install{Arguments: []string{flag}})
	if err == nil {
		missing.Stop()
		t.Fatal("the server starts without its global policy")
	}
	if !errors.Is(err, bench.ErrServerExited) {
		t.Fatalf("wanted a server that does not start: %v", err)
	}
	log, err := missing.ServerLog()
	if err != nil {
		t.Fatal(err)
	}
	if wanted := "ConfigMap " + missing.Namespace + "/everywhere"; !strings.Contains(log, wanted) {
		t.Errorf("%q is not in the server's log:\n%s", wanted, log)
	}
}

// untouched demands that nobody has snapshotted anything in a backup, and that the only warning, if any, is the
// plugin's: once, whatever the number of volumes.
func (s *setting) untouched(b backedUp, warning string) {
	s.Helper()
	status := b.Status
	if status.CSIVolumeSnapshotsAttempted != 0 || status.CSIVolumeSnapshotsCompleted != 0 || status.BackupItemOperationsAttempted != 0 {
		s.Errorf("%s: there are snapshots: %+v", b.Name, status)
	}
	for _, resource := range []string{volumeSnapshots, volumeSnapshotContents} {
		if found := len(b.archive.Of(resource)); found != 0 {
			s.Errorf("%s: %d %s in the archive", b.Name, found, resource)
		}
	}
	for _, claim := range b.archive.Of(volumeClaims) {
		if len(claim.GetLabels()) != 0 || len(claim.GetAnnotations()) != 0 {
			s.Errorf("%s: claim %s has labels %v and annotations %v", b.Name, claim.GetName(), claim.GetLabels(), claim.GetAnnotations())
		}
	}
	for _, info := range b.archive.VolumeInfo {
		if info["skipped"] != true {
			s.Errorf("%s: VolumeInfo has %v", b.Name, info)
		}
	}
	warnings := b.archive.Warnings
	switch {
	case warning == "" && len(warnings) != 0:
		s.Errorf("%s: warnings %q", b.Name, warnings)
	case warning != "" && (len(warnings) != 1 || !strings.Contains(warnings[0], warning)):
		s.Errorf("%s: warnings %q, wanted one with %q", b.Name, warnings, warning)
	}
}
