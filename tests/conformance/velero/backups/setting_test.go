package backups

import (
	"context"
	"strings"
	"testing"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// setting is what one test has: a Velero installation of its own, and a namespace with an application.
type setting struct {
	*testing.T
	ctx       context.Context
	velero    *bench.Velero
	namespace string
	// withoutPlugin is set where ours is not installed.
	withoutPlugin bool
}

// set installs Velero, by default with our plugin and its early phase on.
func set(t *testing.T, how bench.Install) *setting {
	t.Helper()
	s := &setting{T: t, ctx: context.Background(), withoutPlugin: how.WithoutPlugin}
	if how.Env == nil && !how.WithoutPlugin {
		how.Env = early
	}
	name := strings.TrimPrefix(t.Name(), "Test")
	var err error
	if s.velero, err = b.InstallVelero(s.ctx, name, how); err != nil {
		t.Fatal(err)
	}
	s.namespace = s.newNamespace()
	t.Cleanup(func() {
		s.velero.Stop()
		s.behave(bench.Behaviour{})
	})
	return s
}

var early = map[string]string{"VELERO_CSI_EARLY_FAST_POLL": "true"}

func (s *setting) newNamespace() string {
	s.Helper()
	namespace, err := b.Namespace(s.ctx, strings.TrimPrefix(s.Name(), "Test"))
	if err != nil {
		s.Fatal(err)
	}
	return namespace
}

// behave tells the driver what to do with the volumes of this test.
func (s *setting) behave(how bench.Behaviour) {
	s.Helper()
	if err := b.Driver.Behave(s.namespace+"/", how); err != nil {
		s.Fatal(err)
	}
}

func (s *setting) application(app bench.Application) {
	s.Helper()
	if err := b.CreateApplication(s.ctx, s.namespace, app); err != nil {
		s.Fatal(err)
	}
}

// backup is a Backup of this test's namespace; with a policy text it gets that as its resource policy.
func (s *setting) backup(name, policy string) *velerov1.Backup {
	s.Helper()
	backup := s.velero.NewBackup(name, s.namespace)
	if policy != "" {
		if err := s.velero.CreatePolicy(s.ctx, name, policy); err != nil {
			s.Fatal(err)
		}
		backup.Spec.ResourcePolicy = &corev1.TypedLocalObjectReference{Kind: "configmap", Name: name}
	}
	return backup
}

// run runs a backup to its end and demands the phase; on another one it prints what the backup itself says.
func (s *setting) run(backup *velerov1.Backup, phase velerov1.BackupPhase) (*velerov1.Backup, *bench.Archive) {
	s.Helper()
	done, err := s.velero.Run(s.ctx, backup)
	if err != nil {
		s.Fatal(err)
	}
	return done, s.ended(done, phase)
}

func (s *setting) ended(done *velerov1.Backup, phase velerov1.BackupPhase) *bench.Archive {
	s.Helper()
	archive, err := s.velero.Archive(done.Name)
	if err != nil {
		s.Fatalf("%v, with status %+v", err, done.Status)
	}
	if done.Status.Phase != phase {
		s.Fatalf("backup %s is %s, wanted %s: %+v\nwarnings %q\nerrors %q\n%s", done.Name, done.Status.Phase, phase, done.Status, archive.Warnings, archive.Errors, archive.Log)
	}
	return archive
}

func (s *setting) state() bench.State {
	s.Helper()
	state, err := b.State(s.ctx, s.namespace)
	if err != nil {
		s.Fatal(err)
	}
	return state
}

// quick is for what is not about the time of a look.
var quick = map[string]string{"VELERO_CSI_EARLY_FAST_POLL": "true", "VELERO_CSI_EARLY_INTERVAL": "100ms", "CSI_SNAPSHOT_EARLY_FREQUENT_POLLING": "true"}

// earlyForBoth is the early phase by upstream's name, which the built-in reads as well.
var earlyForBoth = map[string]string{"CSI_SNAPSHOT_EARLY_FREQUENT_POLLING": "true"}

// beside is this setting with another Velero for the same namespace.
func (s *setting) beside(name string, how bench.Install) *setting {
	s.Helper()
	other := *s
	other.withoutPlugin = how.WithoutPlugin
	var err error
	if other.velero, err = b.InstallVelero(s.ctx, name, how); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(other.velero.Stop)
	return &other
}

// unique is a backup's name that no other test uses: at the end of a backup Velero looks for the snapshots of that
// name in all namespaces.
func (s *setting) unique(name string) string { return s.namespace + "-" + name }

// waitsInTheDriver starts a backup of one volume and returns when the storage is at work and does not answer: the
// application is frozen, and our process waits.
func (s *setting) waitsInTheDriver(backup string) {
	s.Helper()
	s.application(bench.Application{Volumes: bench.Volumes(1)})
	s.behave(bench.Behaviour{Hang: true})
	s.create(s.backup(backup, bench.Policy()))
	s.driverIsCalled(1)
}
