package cases

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"github.com/vmware-tanzu/velero/pkg/plugin/velero"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// setting is what one test has: a namespace, a plugin process, and the means to look at what it left.
type setting struct {
	*testing.T
	ctx       context.Context
	namespace string
	plugin    *bench.Plugin
}

// set makes a namespace and launches the plugin. With BUILTIN=1 Velero's own action takes the plugin's place, which
// proves the bench and shows where the two differ.
func set(t *testing.T, how bench.Launch) *setting {
	t.Helper()
	how.Builtin = how.Builtin || os.Getenv("BUILTIN") != ""
	s := &setting{T: t, ctx: context.Background()}
	var err error
	if s.namespace, err = b.Namespace(s.ctx, strings.TrimPrefix(t.Name(), "Test")); err != nil {
		t.Fatal(err)
	}
	if s.plugin, err = b.Launch(registry, strings.TrimPrefix(t.Name(), "Test"), how); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.plugin.Close()
		// Nothing may hang on after a test, or it would use the snapshotter's workers in the next one.
		s.behave(bench.Behaviour{})
	})
	return s
}

// behave tells the driver what to do with the volumes of this test.
func (s *setting) behave(how bench.Behaviour) {
	s.Helper()
	if err := b.Driver.Behave(s.namespace+"/", how); err != nil {
		s.Fatal(err)
	}
}

func (s *setting) volume(volume bench.Volume) *unstructured.Unstructured {
	s.Helper()
	claim, err := b.CreateVolume(s.ctx, s.namespace, volume)
	if err != nil {
		s.Fatal(err)
	}
	return claim
}

// outcome is what one Execute answered.
type outcome struct {
	item       *unstructured.Unstructured
	additional []velero.ResourceIdentifier
	operation  string
	post       []velero.ResourceIdentifier
	err        error
	took       time.Duration
}

// execute calls the plugin with a copy of the item, as Velero does.
func (s *setting) execute(item *unstructured.Unstructured, backup *velerov1.Backup) outcome {
	begin := time.Now()
	var answer outcome
	var updated runtime.Unstructured
	updated, answer.additional, answer.operation, answer.post, answer.err = s.plugin.Action.Execute(item.DeepCopy(), backup)
	answer.took = time.Since(begin)
	if updated != nil && answer.err == nil {
		answer.item = &unstructured.Unstructured{Object: updated.UnstructuredContent()}
	}
	return answer
}

// executing is execute in the background.
func (s *setting) executing(item *unstructured.Unstructured, backup *velerov1.Backup) <-chan outcome {
	answer := make(chan outcome, 1)
	go func() { answer <- s.execute(item, backup) }()
	return answer
}

// succeeds fails the test when Execute returned an error.
func (s *setting) succeeds(answer outcome) outcome {
	s.Helper()
	if answer.err != nil {
		s.Fatalf("Execute after %s: %v", answer.took, answer.err)
	}
	return answer
}

func (s *setting) state() bench.State {
	s.Helper()
	state, err := b.State(s.ctx, s.namespace)
	if err != nil {
		s.Fatal(err)
	}
	return state
}

// becomes waits until the state is as asked; the snapshotter needs a moment for whatever it does.
func (s *setting) becomes(limit time.Duration, what string, condition func(bench.State) bool) {
	s.Helper()
	begin := time.Now()
	err := bench.Eventually(s.ctx, limit, 50*time.Millisecond, func(context.Context) (bool, string) {
		state := s.state()
		return condition(state), state.String()
	})
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
	s.Logf("%s after %s", what, time.Since(begin).Round(10*time.Millisecond))
}

// leavesNothing is the end of every failed Execute: no VolumeSnapshot, no content, no storage snapshot.
func (s *setting) leavesNothing(limit time.Duration) {
	s.Helper()
	s.becomes(limit, "nothing left", bench.State.Empty)
}

// leavesNothingByItself is leavesNothing for a plugin that is gone: it cannot help the sidecar over its own race any
// more, so the sidecar's resync is allowed, but every mark must be right for it.
func (s *setting) leavesNothingByItself(limit time.Duration) {
	s.Helper()
	patience := time.Now().Add(limit / 4)
	s.becomes(limit, "nothing left", func(state bench.State) bool {
		if !state.Empty() && time.Now().After(patience) {
			woken, err := b.Resync(s.ctx, state)
			s.Logf("resync of %d contents (%v)", woken, err)
			patience = time.Now().Add(limit / 4)
		}
		return state.Empty()
	})
}

// quiet demands that the plugin wrote at most so many warnings and errors; each would count in the backup.
func (s *setting) quiet(warnings, errors int) {
	s.Helper()
	if lines := s.plugin.Logs.At(logrus.WarnLevel); len(lines) > warnings {
		s.Errorf("%d warnings, at most %d wanted:\n%s", len(lines), warnings, strings.Join(lines, "\n"))
	}
	if lines := s.plugin.Logs.At(logrus.ErrorLevel); len(lines) > errors {
		s.Errorf("%d errors, at most %d wanted:\n%s", len(lines), errors, strings.Join(lines, "\n"))
	}
}

// requests are those of this test's plugin process.
func (s *setting) requests() []bench.Request {
	s.Helper()
	requests, err := b.Requests(func(user string) bool { return user == s.plugin.User })
	if err != nil {
		s.Fatal(err)
	}
	return requests
}

// writes are the requests that could have changed the cluster.
func (s *setting) writes() []bench.Request {
	s.Helper()
	var writes []bench.Request
	for _, request := range s.requests() {
		if request.Write() {
			writes = append(writes, request)
		}
	}
	return writes
}
