package backups

import (
	"testing"
	"time"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// The API server is killed in the window and comes back. Our Execute waits it out without a complaint, the snapshot is
// in the backup and nothing else is left. The phase is only told, since Velero's own requests fail as well and what it
// makes of them is its own affair; and so is the built-in in the same trouble (W-3).
// Not parallel: every other test needs the API server.
func TestAPIServerRestarts(t *testing.T) {
	s := set(t, bench.Install{})
	builtin := set(t, bench.Install{WithoutPlugin: true, Env: earlyForBoth})
	for _, one := range []*setting{s, builtin} {
		one.application(bench.Application{Volumes: bench.Volumes(1)})
		one.behave(bench.Behaviour{Hang: true})
	}
	s.create(s.backup("api-restarts", bench.Policy()))
	builtin.create(builtin.backup("api-restarts-builtin", ""))
	s.driverIsCalled(1)
	builtin.driverIsCalled(1)

	b.KillAPIServer()
	s.serverSays("a look failed, looking on")
	if err := b.RestartAPIServer(); err != nil {
		t.Fatal(err)
	}
	if err := b.WaitForAPIServer(s.ctx); err != nil {
		t.Fatal(err)
	}
	// The snapshotter comes back only with its own back-off. A content that is deleted before stays until its resync,
	// and servers before 1.17 wait for that with the backup; the tests after this one need it too.
	if err := b.WaitForSnapshotter(s.ctx); err != nil {
		t.Fatal(err)
	}
	s.behave(bench.Behaviour{})
	builtin.behave(bench.Behaviour{})

	done, err := s.velero.Wait(s.ctx, "api-restarts", 2*time.Minute, bench.Finished)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := s.velero.Archive("api-restarts")
	if err != nil {
		t.Fatalf("%v, with status %+v", err, done.Status)
	}
	t.Logf("Velero with us: %s, warnings %q, errors %q", done.Status.Phase, archive.Warnings, archive.Errors)
	s.counts(done, archive, 0, 0)
	s.thawed(1)
	if cut := saying(ours(logLines(archive.Log)), "the storage has cut the snapshot"); len(cut) != 1 {
		t.Errorf("our Execute did not survive: %s", archive.Log)
	}
	if found := len(archive.Of(volumeSnapshotContents)); found != 1 {
		t.Errorf("%d contents in the archive, 1 wanted", found)
	}
	s.leavesOnly(1, leftoverLimit)

	if done, err = builtin.velero.Wait(s.ctx, "api-restarts-builtin", time.Minute, bench.Finished); err != nil {
		t.Log("Velero alone: ", err)
		return
	}
	t.Logf("Velero alone: %s, %d errors; left: %s", done.Status.Phase, done.Status.Errors, builtin.state())
}
