package backups

import (
	"fmt"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// The server alone is killed while we wait, so nobody says Shutdown and nobody reads our log. Our process sees that
// its parent is gone, takes back what it has made and ends by itself; the server that comes next marks the backup
// Failed, and nothing is left (design: lost callers).
func TestServerKilled(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Install{})
	s.waitsInTheDriver("server-killed")
	if running := s.plugins(); len(running) != 1 {
		t.Fatalf("%d processes of ours wait, 1 wanted", len(running))
	}

	s.velero.Kill()

	s.pluginsEnd(30 * time.Second)
	for _, one := range s.labelled() {
		if one.DeletionTimestamp == nil {
			t.Errorf("VolumeSnapshot %s was not taken back", one.Name)
		}
	}
	s.behave(bench.Behaviour{})
	s.leavesOnly(0, leftoverLimit)
	s.restarted("server-killed")
}

// The container ends in the middle, and our process with it: nobody can take anything back. What is left is found by
// our label, with its backup's name; Velero's own deletion of the failed backup looks only into its own namespace and
// leaves it there, and what the README says removes it from cluster and storage (C-10, 8.7).
func TestContainerKilled(t *testing.T) {
	t.Parallel()
	s := set(t, bench.Install{})
	s.waitsInTheDriver("container-killed")

	s.velero.KillAll()
	s.behave(bench.Behaviour{})

	s.becomes(leftoverLimit, "snapshot cut after all", func(state bench.State) bool { return len(state.Storage.Live) == 1 })
	s.restarted("container-killed")
	s.command("backup", "delete", "container-killed", "--confirm")
	s.backupGoes("container-killed")
	s.Logf("after Velero's deletion of the failed backup: %s", s.state())
	s.deleteLabelled("container-killed")
	s.leavesOnly(0, leftoverLimit)
}

// restarted starts the server again and demands that it gives the backup up.
func (s *setting) restarted(backup string) {
	s.Helper()
	if err := s.velero.Start(); err != nil {
		s.Fatal(err)
	}
	done, err := s.velero.Wait(s.ctx, backup, time.Minute, bench.Finished)
	if err != nil {
		s.Fatal(err)
	}
	if done.Status.Phase != velerov1.BackupPhaseFailed {
		s.Errorf("backup %s is %s, wanted Failed: %+v", backup, done.Status.Phase, done.Status)
	}
	s.Logf("Velero: %s", done.Status.FailureReason)
	if s.velero.HasArchive(backup) {
		s.Errorf("a backup that was given up has an archive")
	}
}

// backupGoes waits until there is no such Backup any more.
func (s *setting) backupGoes(name string) {
	s.Helper()
	s.eventually(30*time.Second, "backup deleted", func() (bool, string) {
		var backups velerov1.BackupList
		if err := s.velero.Client.List(s.ctx, &backups, s.here()); err != nil {
			return false, err.Error()
		}
		for _, one := range backups.Items {
			if one.Name == name {
				return false, fmt.Sprintf("%+v", one.Status)
			}
		}
		return true, ""
	})
}

// plugins are the processes of our plugin that run.
func (s *setting) plugins() []bench.PluginProcess {
	s.Helper()
	running, err := s.velero.PluginProcesses()
	if err != nil {
		s.Fatal(err)
	}
	return running
}

// pluginsEnd waits until our processes have ended by themselves.
func (s *setting) pluginsEnd(limit time.Duration) {
	s.Helper()
	s.eventually(limit, "our process ended", func() (bool, string) {
		running := s.plugins()
		return len(running) == 0, fmt.Sprint(len(running), " still run")
	})
}
