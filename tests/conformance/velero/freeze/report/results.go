// Package report makes tables and a plot of what the freeze benchmark has measured. It measures nothing and reads
// nothing but the results.
package report

import (
	"encoding/json"
	"fmt"
	"os"
)

// Results is everything that a report is made of, and the JSON file.
type Results struct {
	Velero      string `json:"velero"`
	Snapshotter string `json:"snapshotter"`
	Kubernetes  string `json:"kubernetes"`
	Plugin      string `json:"plugin"`
	CPUs        int    `json:"cpus"`
	// SnapshotterQPS is the request limit of snapshot-controller and csi-snapshotter.
	SnapshotterQPS int `json:"snapshotterQPS"`
	// Rounds is how often each pair was measured with each strategy; LongRounds, how often where a backup was
	// expected to take longer than LongSeconds.
	Rounds      int     `json:"rounds"`
	LongRounds  int     `json:"longRounds"`
	LongSeconds float64 `json:"longSeconds"`
	// MixSeed and MixSeconds are the random mix: the latency of the first volume, the second, …
	MixSeed    uint64     `json:"mixSeed,omitempty"`
	MixSeconds []float64  `json:"mixSeconds,omitempty"`
	Strategies []Strategy `json:"strategies"`
	// Handshakes are the times from exec to handshake in milliseconds, by program.
	Handshakes map[string][]float64 `json:"handshakeMilliseconds"`
	Samples    []Sample             `json:"samples"`
}

// Strategy is one way of waiting that is compared.
type Strategy struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Ours are compared with the others.
	Ours bool `json:"ours"`
	// Process is the program that waits.
	Process string `json:"process"`
}

// Pair is what a storage is made to do: how many volumes, and how long each takes ("1.2s", or Mix).
type Pair struct {
	Volumes int    `json:"volumes"`
	Latency string `json:"latency"`
}

// Mix is the latency of the random mix.
const Mix = "mix"

// Sample is one backup.
type Sample struct {
	Pair
	Strategy      string  `json:"strategy"`
	Round         int     `json:"round"`
	WindowSeconds float64 `json:"windowSeconds"`
	BackupSeconds float64 `json:"backupSeconds"`
	// Requests of the whole backup by program and kind, and FrozenRequests, how many of them between the stamps.
	Requests       map[string]map[string]int `json:"requests"`
	FrozenRequests map[string]int            `json:"frozenRequests"`
	// Processes are the plugins' that lived during the freeze, by program.
	Processes map[string]Process `json:"processes"`
}

// Process is what one plugin process has used.
type Process struct {
	CPUSeconds float64 `json:"cpuSeconds"`
	PeakMiB    float64 `json:"peakMiB"`
}

// Read reads a results file and checks that a report can be made of it.
func Read(path string) (*Results, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	results := &Results{}
	if err := json.Unmarshal(text, results); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := results.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return results, nil
}

// Write writes a results file.
func (r *Results) Write(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func (r *Results) check() error {
	known := map[string]bool{}
	for _, strategy := range r.Strategies {
		known[strategy.Name] = true
	}
	if len(r.Samples) == 0 {
		return fmt.Errorf("no samples")
	}
	for _, sample := range r.Samples {
		if !known[sample.Strategy] {
			return fmt.Errorf("a sample of %q, which is not among the strategies", sample.Strategy)
		}
		if sample.Volumes < 1 || sample.WindowSeconds <= 0 {
			return fmt.Errorf("a sample with %d volumes and a window of %g s", sample.Volumes, sample.WindowSeconds)
		}
	}
	return nil
}
