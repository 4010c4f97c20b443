package parity

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// handling is what the stand-in's sidecar writes into the status of a content.
type handling struct {
	// after is the time from the content to the status; never leaves it without one.
	after time.Duration
	never bool
	// handle nil is one of the stand-in's own.
	handle      *string
	restoreSize *int64
	// notReady leaves readyToUse false. failed is a status.error, its message nil when there is none.
	notReady bool
	failed   bool
	message  *string
}

// sidecar stands in for the csi-snapshotter of every driver that has none: inputs about classes need many drivers,
// and some need a status that no driver of ours gives.
type sidecar struct {
	mu       sync.Mutex
	handling map[string]handling
	handled  map[types.UID]string
	storage  map[string]map[string]bool
	// gone are contents that were marked for deletion before the storage had cut.
	gone map[types.UID]bool
}

func newSidecar() *sidecar {
	return &sidecar{handling: map[string]handling{}, handled: map[types.UID]string{}, storage: map[string]map[string]bool{}, gone: map[types.UID]bool{}}
}

// handle sets what happens to the contents of a namespace's snapshots.
func (s *sidecar) handle(namespace string, how *handling) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if how == nil {
		how = &handling{}
	}
	s.handling[namespace] = *how
	s.storage[namespace] = map[string]bool{}
}

// live is how many snapshots the stand-in's storage has of a namespace.
func (s *sidecar) live(namespace string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.storage[namespace])
}

func (s *sidecar) run(ctx context.Context) {
	contents := b.Snapshots.SnapshotV1().VolumeSnapshotContents()
	for ctx.Err() == nil {
		watch, err := contents.Watch(ctx, metav1.ListOptions{})
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		for event := range watch.ResultChan() {
			if content, ok := event.Object.(*snapshotv1.VolumeSnapshotContent); ok {
				s.see(ctx, content)
			}
		}
		watch.Stop()
	}
}

func (s *sidecar) see(ctx context.Context, content *snapshotv1.VolumeSnapshotContent) {
	if content.Spec.Driver == bench.DriverName || content.Spec.Driver == bench.ImpatientDriver {
		return
	}
	namespace := content.Spec.VolumeSnapshotRef.Namespace
	s.mu.Lock()
	defer s.mu.Unlock()
	how, known := s.handling[namespace]
	if !known {
		return
	}
	if content.DeletionTimestamp != nil {
		s.gone[content.UID] = true
		_, marked := content.Annotations["snapshot.storage.kubernetes.io/volumesnapshot-being-deleted"]
		if content.Spec.DeletionPolicy == snapshotv1.VolumeSnapshotContentDelete && marked {
			delete(s.storage[namespace], s.handled[content.UID])
		}
		if content.Spec.DeletionPolicy == snapshotv1.VolumeSnapshotContentRetain || marked {
			go s.patch(ctx, content.Name, `{"metadata":{"finalizers":null}}`)
		}
		return
	}
	if _, done := s.handled[content.UID]; done || how.never {
		return
	}
	handle := fmt.Sprintf("stand-in-%d", len(s.handled))
	s.handled[content.UID] = handle
	go func() {
		time.Sleep(how.after)
		s.mu.Lock()
		gone := s.gone[content.UID]
		if !gone {
			s.storage[namespace][handle] = true
		}
		s.mu.Unlock()
		if gone {
			return
		}
		s.patch(ctx, content.Name, how.status(handle), "status")
	}()
}

func (h handling) status(handle string) string {
	if h.handle != nil {
		handle = *h.handle
	}
	status := map[string]any{"readyToUse": !h.notReady && !h.failed, "creationTime": time.Now().UnixNano()}
	if !h.failed || h.handle != nil {
		status["snapshotHandle"] = handle
	}
	if h.restoreSize != nil {
		status["restoreSize"] = *h.restoreSize
	}
	if h.failed {
		problem := map[string]any{"time": time.Now().UTC().Format(time.RFC3339)}
		if h.message != nil {
			problem["message"] = *h.message
		}
		status["error"] = problem
	}
	text, _ := json.Marshal(map[string]any{"status": status})
	return string(text)
}

func (s *sidecar) patch(ctx context.Context, name, patch string, subresources ...string) {
	contents := b.Snapshots.SnapshotV1().VolumeSnapshotContents()
	if _, err := contents.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...); err != nil && !apierrors.IsNotFound(err) {
		fmt.Println("stand-in:", err)
	}
}
