package main

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"
)

// snapshot is one storage snapshot. Name is what the sidecar asked for (`snapshot-<VolumeSnapshot UID>`), Handle
// what the storage gave it.
type snapshot struct {
	Name    string    `json:"name"`
	Handle  string    `json:"handle"`
	Volume  string    `json:"volume"`
	Size    int64     `json:"size"`
	Cut     time.Time `json:"cut"`
	ReadyAt time.Time `json:"readyAt"`
	Deleted time.Time `json:"deleted,omitzero"`
}

// storage keeps the live snapshots and the deleted ones too, so that a test can tell "never cut" from "cut and
// deleted again".
type storage struct {
	mu      sync.Mutex
	live    map[string]*snapshot
	deleted []*snapshot
	calls   map[string]int
	counter int
}

func newStorage() *storage {
	return &storage{live: map[string]*snapshot{}, calls: map[string]int{}}
}

// cut makes the snapshot or returns the one of that name: CSI asks for CreateSnapshot to be idempotent by name.
func (s *storage) cut(name, volume string, how behaviour) snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if existing := s.byName(name); existing != nil {
		return *existing
	}
	s.counter++
	now := time.Now()
	made := &snapshot{
		Name: name, Volume: volume, Size: how.SizeBytes, Cut: now, ReadyAt: now.Add(how.NotReady),
		Handle: fmt.Sprintf("cut-%d-of-%s", s.counter, volume),
	}
	s.live[made.Handle] = made
	return *made
}

func (s *storage) find(name string) (snapshot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if existing := s.byName(name); existing != nil {
		return *existing, true
	}
	return snapshot{}, false
}

func (s *storage) delete(handle string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if existing := s.live[handle]; existing != nil {
		existing.Deleted = time.Now()
		s.deleted = append(s.deleted, existing)
		delete(s.live, handle)
	}
}

// called counts the CreateSnapshot calls of a volume.
func (s *storage) called(volume string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[volume]++
}

// report is what the control answers for the volumes under a prefix.
type report struct {
	Live    []snapshot     `json:"live"`
	Deleted []snapshot     `json:"deleted"`
	Calls   map[string]int `json:"calls"`
}

func (s *storage) report(prefix string) report {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := report{Live: []snapshot{}, Deleted: []snapshot{}, Calls: map[string]int{}}
	for _, one := range s.live {
		if strings.HasPrefix(one.Volume, prefix) {
			answer.Live = append(answer.Live, *one)
		}
	}
	for _, one := range s.deleted {
		if strings.HasPrefix(one.Volume, prefix) {
			answer.Deleted = append(answer.Deleted, *one)
		}
	}
	for volume, count := range s.calls {
		if strings.HasPrefix(volume, prefix) {
			answer.Calls[volume] = count
		}
	}
	sort.Slice(answer.Live, func(i, j int) bool { return answer.Live[i].Cut.Before(answer.Live[j].Cut) })
	return answer
}

func (s *storage) byName(name string) *snapshot {
	for _, one := range s.live {
		if one.Name == name {
			return one
		}
	}
	return nil
}
