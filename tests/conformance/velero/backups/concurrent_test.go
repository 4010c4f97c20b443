package backups

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// One plugin process is asked for several pods' volumes at once, and a volume of two pods is snapshotted once. Velero
// before 1.16 backs up one pod at a time; there the subtest is skipped.
func TestItemBlockWorkers(t *testing.T) {
	t.Parallel()
	how := bench.Install{Env: quick}
	if bench.VeleroAtLeast("1.16") {
		how.Arguments = []string{"--item-block-worker-count=4"}
	}
	s := set(t, how)
	claims := []string{"a", "b", "c", "d", "shared"}
	for _, name := range claims[:4] {
		s.application(bench.Application{Name: name, Volumes: []bench.Volume{{Name: name}}})
	}
	for _, name := range []string{"one", "other"} {
		s.application(bench.Application{Name: name, Volumes: []bench.Volume{{Name: "shared"}}})
	}
	s.behave(bench.Behaviour{Hang: true})
	backup := s.backup(s.unique("workers"), bench.Policy())
	s.create(backup)
	t.Run("at-once", func(t *testing.T) {
		if !bench.VeleroAtLeast("1.16") {
			t.Skip("Velero has no --item-block-worker-count before 1.16")
		}
		s.in(t).inFlight(4, func(volume string, calls int) bool { return calls > 0 }, s.namespace)
	})
	s.behave(bench.Behaviour{})
	done := s.finished(backup)
	handles := slices.Collect(maps.Values(s.taken(done, us, s.namespace, claims...)))
	s.left(s.namespace, handles...)
}

// Two backups run at once in one server, of namespaces in which everything has the same name; each has its own. Velero
// before 1.18 makes one backup at a time; there the subtest is skipped.
func TestConcurrentBackups(t *testing.T) {
	t.Parallel()
	how := bench.Install{Env: quick}
	if bench.VeleroAtLeast("1.18") {
		how.Arguments = []string{"--concurrent-backups=2", "--item-block-worker-count=4"}
	}
	s := set(t, how)
	other := *s
	other.namespace = s.newNamespace()
	claims := []string{"data-0", "data-1"}
	backups := map[*setting]*velerov1.Backup{}
	for _, each := range []*setting{s, &other} {
		each.application(bench.Application{Volumes: bench.Volumes(2)})
		each.behave(bench.Behaviour{Hang: true})
		t.Cleanup(func() { each.behave(bench.Behaviour{}) })
		backups[each] = each.backup(each.unique("same"), bench.Policy())
	}
	for _, backup := range backups {
		s.create(backup)
	}
	t.Run("at-once", func(t *testing.T) {
		if !bench.VeleroAtLeast("1.18") {
			t.Skip("Velero has no --concurrent-backups before 1.18")
		}
		s.in(t).inFlight(2, func(volume string, calls int) bool { return calls > 0 }, s.namespace, other.namespace)
	})
	for each := range backups {
		each.behave(bench.Behaviour{})
	}
	for each, backup := range backups {
		done := each.finished(backup)
		handles := slices.Collect(maps.Values(each.taken(done, us, each.namespace, claims...)))
		each.left(each.namespace, handles...)
	}
}

// Two Veleros back up one namespace at the same time (F91): each backup has snapshots of its own, and the end of one
// takes nothing from the other. One server never runs two such backups at a time.
func TestSameNamespaceAtOnce(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Install{Env: quick})
	beside := s.beside("SameNamespace-other", bench.Install{Env: quick})
	s.application(bench.Application{Volumes: bench.Volumes(2)})
	claims := []string{"data-0", "data-1"}
	s.behave(bench.Behaviour{Hang: true})
	backups := map[*setting]*velerov1.Backup{s: s.backup(s.unique("one"), bench.Policy()), beside: beside.backup(s.unique("other"), bench.Policy())}
	for each, backup := range backups {
		each.create(backup)
	}
	s.inFlight(1, func(volume string, calls int) bool { return calls > 1 }, s.namespace)
	s.behave(bench.Behaviour{})
	var all []string
	for each, backup := range backups {
		all = slices.AppendSeq(all, maps.Values(each.taken(each.finished(backup), us, s.namespace, claims...)))
	}
	if slices.Sort(all); len(slices.Compact(slices.Clone(all))) != 4 {
		t.Errorf("the backups share a snapshot: %q", all)
	}
	s.left(s.namespace, all...)
}

// create creates a Backup and does not wait for its end.
func (s *setting) create(backup *velerov1.Backup) {
	s.Helper()
	if err := s.velero.Client.Create(s.ctx, backup); err != nil {
		s.Fatal(err)
	}
}

// finished waits for a backup that was created before; it must be Completed.
func (s *setting) finished(backup *velerov1.Backup) backedUp {
	s.Helper()
	done, err := s.velero.Wait(s.ctx, backup.Name, 2*time.Minute, bench.Finished)
	if err != nil {
		s.Fatal(err)
	}
	return s.consistent(backedUp{done, s.ended(done, velerov1.BackupPhaseCompleted)})
}

// inFlight waits until the driver, which answers none of them, has been asked for `wanted` volumes of the namespaces,
// of each namespace at least one.
func (s *setting) inFlight(wanted int, asked func(volume string, calls int) bool, namespaces ...string) {
	s.Helper()
	err := bench.Eventually(s.ctx, time.Minute, 50*time.Millisecond, func(context.Context) (bool, string) {
		volumes, everywhere, seen := 0, true, ""
		for _, namespace := range namespaces {
			storage, err := b.Driver.Snapshots(namespace + "/")
			if err != nil {
				return false, err.Error()
			}
			here := 0
			for volume, calls := range storage.Calls {
				if asked(volume, calls) {
					here++
				}
			}
			volumes += here
			everywhere = everywhere && here > 0
			seen += fmt.Sprint(storage.Calls)
		}
		return volumes >= wanted && everywhere, seen
	})
	if err != nil {
		s.Fatal(err)
	}
}
