package parity

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"github.com/vmware-tanzu/velero/pkg/plugin/velero"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// side is one of the two: the built-in or ours, with a namespace, a PVC and a Backup of its own.
type side struct {
	*testing.T
	ctx       context.Context
	in        *input
	builtin   bool
	mark      string
	namespace string
	claim     string
	plugin    *bench.Plugin
	backup    *velerov1.Backup
	item      *unstructured.Unstructured

	// answer is that of the last Execute.
	updated    *unstructured.Unstructured
	additional []velero.ResourceIdentifier
	operation  string
	post       []velero.ResourceIdentifier
	err        error
	state      bench.State
	// called is what the input's own call returned.
	called any
}

// newSide makes the input's state for one of the two and chooses the process.
func newSide(t *testing.T, in *input, builtin bool) (*side, error) {
	s := &side{T: t, ctx: context.Background(), in: in, builtin: builtin, claim: in.claim}
	if s.claim == "" {
		s.claim = "data"
	}
	s.mark = in.id + "o"
	if builtin {
		s.mark = in.id + "b"
	}
	var err error
	if s.namespace, err = b.Namespace(s.ctx, s.mark); err != nil {
		return nil, err
	}
	standIn.handle(s.namespace, in.handling)
	if in.storage != nil {
		if err := b.Driver.Behave(s.namespace+"/", *in.storage); err != nil {
			return nil, err
		}
		// Nothing may hang on after an input, or it would use the snapshotter's workers in the next one.
		t.Cleanup(func() { _ = b.Driver.Behave(s.namespace+"/", bench.Behaviour{}) })
	}
	which := variant{builtin, !in.slow}
	s.plugin = shared[which]
	if in.between != nil || in.arguments != nil {
		how := bench.Launch{Arguments: in.arguments}
		if in.between != nil {
			how.Between = func(next http.Handler) http.Handler { return in.between(s, next) }
		}
		if s.plugin, err = launch(s.mark, which, how); err != nil {
			return nil, err
		}
		t.Cleanup(s.plugin.Close)
	}
	return s, s.createState()
}

// execute calls the action as Velero does, and lets the rest of the world act beside it.
func (s *side) execute() error {
	meanwhile := make(chan error, 1)
	if s.in.meanwhile == nil {
		meanwhile <- nil
	} else {
		go func() { meanwhile <- s.in.meanwhile(s) }()
	}
	if s.in.call != nil {
		s.called, s.err = s.in.call(s)
		return <-meanwhile
	}
	for range max(s.in.times, 1) {
		updated, additional, operation, post, err := s.plugin.Action.Execute(s.item.DeepCopy(), s.backup)
		s.updated, s.additional, s.operation, s.post, s.err = nil, additional, operation, post, err
		if updated != nil && err == nil {
			s.updated = &unstructured.Unstructured{Object: updated.UnstructuredContent()}
		}
	}
	if err := <-meanwhile; err != nil {
		return fmt.Errorf("beside the call, which answered %v: %w", s.err, err)
	}
	return s.settle()
}

const (
	// patience is how long what is going away may take; nobody waits that long for what stays.
	patience = time.Minute
	// still is how long nothing may have changed before something counts as left behind.
	still = 5 * time.Second
)

// settle waits until controllers and sidecars have nothing to do any more: after a success that is at once, after a
// failure when all is gone, or when what is left stays as it is and nobody is to take it away.
func (s *side) settle() error {
	var seen string
	since, woken := time.Now(), time.Now()
	return bench.Eventually(s.ctx, patience, 100*time.Millisecond, func(ctx context.Context) (bool, string) {
		state, err := b.State(ctx, s.namespace)
		if err != nil {
			return false, err.Error()
		}
		s.state = state
		if s.err == nil && s.operation == "" || s.live() == 0 && state.Empty() {
			return true, ""
		}
		if now := fmt.Sprint(state, s.live()); now != seen {
			seen, since = now, time.Now()
		}
		// The sidecar may overlook a content that is marked for deletion until its resync, whoever marked it.
		if time.Since(woken) > time.Second {
			woken = time.Now()
			if _, err := b.Resync(ctx, state); err != nil {
				return false, err.Error()
			}
		}
		return time.Since(since) > still && !going(state), seen
	})
}

// going is true while something is on its way out.
func going(state bench.State) bool {
	for _, one := range state.Snapshots {
		if one.DeletionTimestamp != nil {
			return true
		}
	}
	for _, one := range state.Contents {
		if one.DeletionTimestamp != nil && one.Spec.DeletionPolicy == snapshotv1.VolumeSnapshotContentDelete {
			return true
		}
	}
	return false
}

// live is how many snapshots the storage has, the real driver's and the stand-in's.
func (s *side) live() int { return len(s.state.Storage.Live) + standIn.live(s.namespace) }

// expand puts the words of input and side in place.
func (s *side) expand(text string) string {
	return strings.ReplaceAll(s.in.expand(text), "{namespace}", s.namespace)
}

// lines are this side's lines of one level.
func (s *side) lines(level string) (found []string) {
	for _, line := range s.plugin.Logs.Containing(s.mark + "-") {
		if strings.HasPrefix(line, level+":") {
			found = append(found, line)
		}
	}
	return found
}

// appears waits until this side's VolumeSnapshot is there and as asked.
func (s *side) appears(condition func(snapshotv1.VolumeSnapshot, bench.State) bool) (found snapshotv1.VolumeSnapshot, err error) {
	err = bench.Eventually(s.ctx, patience, 20*time.Millisecond, func(ctx context.Context) (bool, string) {
		state, err := b.State(ctx, s.namespace)
		if err != nil || len(state.Snapshots) == 0 {
			return false, fmt.Sprint("no VolumeSnapshot ", err)
		}
		found = state.Snapshots[0]
		return condition(found, state), state.String()
	})
	return found, err
}
