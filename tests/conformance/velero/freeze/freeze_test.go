package freeze

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"velero-plugin-csi-fastpoll.test/velero/bench"
	"velero-plugin-csi-fastpoll.test/velero/freeze/report"
)

// unfinished is where the samples of a run are until it comes to its end, and of one that never does.
const unfinished = "freeze-windows.unfinished.json"

func TestFreezeWindows(t *testing.T) {
	turns := chosen.turns()
	clock := newProgress(turns)
	fmt.Printf("%d backups of %d pairs with %d strategies, about %s\n", len(turns), len(chosen.pairs), len(chosen.strategies), clock.left().Round(time.Second))
	if deadline, has := t.Deadline(); has && time.Now().Add(clock.left()).After(deadline) {
		t.Fatalf("the run would not be finished in time: give a longer -timeout")
	}
	if err := os.MkdirAll(chosen.out, 0o755); err != nil {
		t.Fatal(err)
	}
	results, err := facts()
	if err != nil {
		t.Fatal(err)
	}
	if results.Handshakes, err = handshakes(chosen); err != nil {
		t.Fatal(err)
	}
	field, err := prepare(context.Background(), chosen)
	if err != nil {
		t.Fatal(err)
	}
	clock = newProgress(turns)
	kept := filepath.Join(chosen.out, unfinished)
	for _, turn := range turns {
		sample, err := field.measure(turn)
		if err != nil {
			if len(results.Samples) > 0 {
				t.Logf("the samples so far: %s", kept)
			}
			t.Fatalf("%s, %d volumes at %s, round %d: %v", turn.strategy.Name, turn.pair.Volumes, turn.pair.Latency, turn.round, err)
		}
		results.Samples = append(results.Samples, sample)
		// Now, since nobody writes them after a signal.
		if err := results.Write(kept); err != nil {
			t.Fatal(err)
		}
		clock.done(sample)
	}
	if err := results.Write(filepath.Join(chosen.out, report.ResultsFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(kept); err != nil {
		t.Error(err)
	}
}

// facts is what a report says beside the samples: versions and choices, and nothing of this machine but its CPUs.
func facts() (*report.Results, error) {
	kubernetes, err := b.Kube.Discovery().ServerVersion()
	if err != nil {
		return nil, err
	}
	version, err := pluginVersion()
	if err != nil {
		return nil, err
	}
	results := &report.Results{
		Velero: bench.VeleroVersion(), Snapshotter: bench.SnapshotterVersion(), Kubernetes: kubernetes.GitVersion, Plugin: version,
		CPUs: runtime.NumCPU(), SnapshotterQPS: chosen.qps, Rounds: chosen.rounds, LongRounds: chosen.longRounds, LongSeconds: long.Seconds(),
	}
	for _, strategy := range chosen.strategies {
		results.Strategies = append(results.Strategies, strategy.Strategy)
	}
	volumes := 0
	for _, pair := range chosen.pairs {
		if pair.Latency == report.Mix {
			volumes = max(volumes, pair.Volumes)
		}
	}
	if volumes > 0 {
		results.MixSeed = mixSeed
		for _, latency := range mix()[:volumes] {
			results.MixSeconds = append(results.MixSeconds, latency.Seconds())
		}
	}
	return results, nil
}

// pluginVersion is what the binary itself says, "velero-plugin-csi-fastpoll 0.1.0".
func pluginVersion() (string, error) {
	text, err := exec.Command(os.Getenv("PLUGIN_BINARY"), "--version").Output()
	return strings.TrimSpace(string(text)), err
}

// handshakes lets the programs of the strategies take turns.
func handshakes(c choices) (map[string][]float64, error) {
	times := map[string][]float64{}
	for range c.starts {
		for _, builtin := range []bool{true, false} {
			program := plugin
			if builtin {
				program = bench.RunPlugins
			}
			took, err := b.Handshake(builtin)
			if err != nil {
				return nil, err
			}
			times[program] = append(times[program], float64(took)/float64(time.Millisecond))
		}
	}
	return times, nil
}
