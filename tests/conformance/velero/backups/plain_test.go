package backups

import (
	"maps"
	"slices"
	"testing"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// Ours beside the built-in's, of one application: the same in the status, the archive, VolumeInfo and the operations,
// apart from what is listed. A Velero with the plugin and without a policy is no different at all from one without it.
func TestPlain(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Install{Env: earlyForBoth})
	without := s.beside("Plain-builtin", bench.Install{WithoutPlugin: true, Env: earlyForBoth})
	s.behave(bench.Behaviour{SizeBytes: 3 << 30})
	s.application(bench.Application{Volumes: []bench.Volume{
		{Name: "data", Labels: map[string]string{"app": "shop", "app.kubernetes.io/instance": "shop"}, Annotations: map[string]string{"owner": "ops"}},
		{Name: "logs"},
		{Name: "scratch", Plain: true},
	}})

	byBuiltIn := without.completed(without.comparable("builtin", ""))
	handles := slices.Collect(maps.Values(without.taken(byBuiltIn, builtIn, s.namespace, "data", "logs")))
	s.left(s.namespace, handles...)

	withoutPolicy := s.completed(s.comparable("no-policy", ""))
	handles = slices.AppendSeq(handles, maps.Values(s.taken(withoutPolicy, builtIn, s.namespace, "data", "logs")))
	s.left(s.namespace, handles...)
	s.compare(byBuiltIn, withoutPolicy, nil)

	byUs := s.completed(s.comparable("ours", bench.Policy()))
	handles = slices.AppendSeq(handles, maps.Values(s.taken(byUs, us, s.namespace, "data", "logs")))
	s.left(s.namespace, handles...)
	allowed := []difference{
		{`volumeinfo/(data|logs)/<nil>\..*`, "Velero's list of skipped volumes: a policy keeps its own action off, and no plugin can take a volume out again (8.4)"},
		{`volumesnapshots.*metadata\.labels\.app\.kubernetes\.io/instance`, "a pruning tool's label is not copied (W-41)"},
		{`volumesnapshots.*metadata\.labels\.velero-plugin-csi-fastpoll/created-by`, "ours can be told from the built-in's"},
		{`volumesnapshots.*metadata\.labels\.velero\.io/backup-uid`, "found by the backup's UID, since names repeat (F86, F91)"},
		{`volumesnapshots.*metadata\.labels\.velero\.io/pvc-uid`, "found by the claim's UID (F79)"},
	}
	if !bench.VeleroAtLeast("1.17") {
		allowed = append(allowed, difference{`persistentvolumeclaims/.*\.requests\.storage`,
			"the claim asks for what the storage needs, which the built-in does from 1.17 on (R-34, C-7)"})
	}
	s.compare(byBuiltIn, byUs, allowed)
}

// comparable leaves out what an earlier backup has left in the namespace.
func (s *setting) comparable(name, policy string) *velerov1.Backup {
	s.Helper()
	backup := s.backup(s.unique(name), policy)
	backup.Spec.ExcludedResources = []string{"events", "events.events.k8s.io"}
	return backup
}
