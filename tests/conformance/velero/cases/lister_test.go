package cases

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/vmware-tanzu/velero/pkg/plugin/framework"
	"github.com/vmware-tanzu/velero/pkg/plugin/framework/common"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// Discovery by Velero's registry: one action, its command the path by which Velero started us, nothing else (P-14,
// section 4.3 of the protocol).
func TestListPluginsGivesOneActionOfTheV2Kind(t *testing.T) {
	want := []framework.PluginIdentifier{{
		Command: b.PluginPath(), Kind: common.PluginKindBackupItemActionV2, Name: bench.OurAction,
	}}
	if have := bench.Registered(registry, b.PluginPath()); !reflect.DeepEqual(have, want) {
		t.Errorf("registered %+v, wanted %+v", have, want)
	}
	// On a busy machine Velero's own process may miss the 2 s that it has to exit.
	ours := discoveryLogs.Except(b.Program("velero-server"))
	for _, level := range []logrus.Level{logrus.WarnLevel, logrus.ErrorLevel} {
		if lines := ours.At(level); len(lines) > 0 {
			t.Errorf("discovery logged:\n%s", strings.Join(lines, "\n"))
		}
	}
}

// R-1; and AppliesTo makes a client or a request only beside its answer, never instead of it.
func TestAppliesToIsPersistentVolumeClaimsOnly(t *testing.T) {
	s := set(t, bench.Launch{Env: map[string]string{"KUBECONFIG": "/does/not/exist"}})
	selector, err := s.plugin.Action.AppliesTo()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(selector.IncludedResources, []string{"persistentvolumeclaims"}) ||
		len(selector.IncludedNamespaces)+len(selector.ExcludedNamespaces)+len(selector.ExcludedResources) != 0 || selector.LabelSelector != "" {
		t.Errorf("selector %+v, only persistentvolumeclaims wanted", selector)
	}
	s.quiet(0, 0)
}

// Velero hands on all flags of its server; an unknown one must not keep us from starting (P-15).
func TestStartsWithFlagsItDoesNotKnow(t *testing.T) {
	s := set(t, bench.Launch{Arguments: []string{"--features", "EnableCSI", "--log-level", "warning",
		"--default-snapshot-move-data", "--unknown", "x", "-v", "4", "--repo-maintenance-job-configmap="}})
	if _, err := s.plugin.Action.AppliesTo(); err != nil {
		t.Fatal(err)
	}
	s.quiet(0, 0)
}

// A Progress or Cancel for an id that is not ours says so and names it.
func TestProgressAndCancelOfAForeignOperationNameIt(t *testing.T) {
	s := set(t, bench.Launch{})
	backup := bench.NewBackup("progress")
	if _, err := s.plugin.Action.Progress("du-foreign", backup); err == nil || !strings.Contains(err.Error(), "du-foreign") {
		t.Errorf("Progress: %v", err)
	}
	if err := s.plugin.Action.Cancel("du-foreign", backup); err == nil || !strings.Contains(err.Error(), "du-foreign") {
		t.Errorf("Cancel: %v", err)
	}
}
