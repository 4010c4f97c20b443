package cases

import (
	"fmt"
	"testing"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// policyText is a volume policy with one rule for the bench's driver.
func policyText(action, handler string) string {
	text := fmt.Sprintf("version: v1\nvolumePolicies:\n- conditions:\n    csi:\n      driver: %s\n  action:\n    type: %s\n", bench.DriverName, action)
	if handler != "" {
		text += fmt.Sprintf("    parameters:\n      handler: %s\n", handler)
	}
	return text
}

// Whose volume it is (design: take-over, C-1 … C-8): ours by a policy that names us, by the annotation of the
// backup, or because Velero's rules say snapshot and nobody took it. Else the item is echoed.
func TestTakesOverExactlyWhatIsItsOwn(t *testing.T) {
	const ours = "velero-plugin-csi-fastpoll"
	no := func(backup *velerov1.Backup) { value := false; backup.Spec.SnapshotVolumes = &value }
	for _, one := range []struct {
		name     string
		policy   string
		change   func(*velerov1.Backup)
		ours     bool
		warnings int
	}{
		{"custom-with-our-handler", policyText("custom", ours), nil, true, 0},
		{"skip-with-our-handler", policyText("skip", ours), nil, true, 0},
		{"no-policy", "", nil, true, 0},
		{"policy-snapshot", policyText("snapshot", ""), nil, true, 0},
		{"plain-skip", policyText("skip", ""), nil, false, 0},
		{"custom-of-another-handler", policyText("custom", "someone-else"), nil, false, 0},
		{"custom-without-parameter", policyText("custom", ""), nil, false, 1},
		{"no-snapshot-volumes", "", no, false, 0},
		{"no-snapshot-volumes-but-take-over", "", func(backup *velerov1.Backup) {
			no(backup)
			backup.Annotations[ours+"/take-over"] = "true"
		}, true, 0},
		{"finalizing", "", func(backup *velerov1.Backup) { backup.Status.Phase = velerov1.BackupPhaseFinalizing }, false, 0},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			s := set(t, bench.Launch{Env: early(true)})
			claim := s.volume(bench.Volume{Name: "data"})
			backup := bench.NewBackup(one.name)
			if one.policy != "" {
				if err := b.CreatePolicy(s.ctx, s.namespace, one.policy); err != nil {
					t.Fatal(err)
				}
				bench.WithPolicy(backup, s.namespace)
			}
			if one.change != nil {
				one.change(backup)
			}
			answer := s.execute(claim, backup)
			if one.ours {
				s.hasSnapshot(answer, claim, backup)
			} else {
				s.echoed(answer, claim)
			}
			s.quiet(one.warnings, 0)
		})
	}
}

// C-3: the built-in ran before us and has made this backup's VolumeSnapshot. Nothing is written, not a byte changes.
func TestItemTakenByTheBuiltinIsEchoed(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Launch{Env: early(true)})
	backup := bench.NewBackup("taken")
	claim := s.volume(bench.Volume{Name: "data"})
	claim.SetLabels(map[string]string{"velero.io/backup-name": backup.Name, "velero.io/volume-snapshot-name": "velero-data-x"})
	claim.SetAnnotations(map[string]string{"velero.io/volume-snapshot-name": "velero-data-x"})

	s.echoed(s.execute(claim, backup), claim)
	s.quiet(0, 0)
}

// The same marks from an older backup are leftovers of a restore, and the volume is ours.
func TestItemWithMarksOfAnotherBackupIsTaken(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Launch{Env: early(true)})
	backup := bench.NewBackup("new")
	claim := s.volume(bench.Volume{Name: "data"})
	claim.SetLabels(map[string]string{"velero.io/backup-name": "old", "velero.io/volume-snapshot-name": "velero-data-x"})
	claim.SetAnnotations(map[string]string{"velero.io/volume-snapshot-name": "velero-data-x"})

	s.hasSnapshot(s.execute(claim, backup), claim, backup)
	s.quiet(0, 0)
}

// R-9 and C-4: a volume that is not CSI's is nobody's snapshot. Echoed, never marked by us.
func TestVolumeWithoutCSIIsEchoed(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Launch{Env: early(true)})
	claim := s.volume(bench.Volume{Name: "data", Plain: true})
	s.echoed(s.execute(claim, bench.NewBackup("plain")), claim)
	s.quiet(0, 0)
}

// Without the CSI feature nothing would finalize, delete or restore a VolumeSnapshot.
func TestWithoutTheCSIFeatureTheItemIsEchoedWithAWarning(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Launch{Env: early(true), Arguments: []string{"--log-level=debug"}})
	claim := s.volume(bench.Volume{Name: "data"})
	s.echoed(s.execute(claim, bench.NewBackup("no-feature")), claim)
	s.quiet(1, 0)
}
