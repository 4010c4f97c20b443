package freeze

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"velero-plugin-csi-fastpoll.test/velero/freeze/report"
)

// choices are what a run can be told, in FREEZE_… variables: flags of `go test` binaries pass through two scripts.
type choices struct {
	// rounds is how often everything is measured, longRounds how often where a backup takes longer than long.
	rounds, longRounds int
	pairs              []report.Pair
	strategies         []strategy
	starts             int
	qps                int
	out                string
}

const (
	// long: in what needs more than a minute by the looks' fixed instants alone, further rounds show what the first
	// one has shown.
	long = time.Minute
	// mixSeed makes the random mix the same in every run.
	mixSeed = 20261201
	most    = 64
)

var (
	allVolumes   = []int{1, 2, 4, 8, 16}
	allLatencies = []string{"1.2s", "0.3s", "1.4s", "3s", "7s", report.Mix}
)

func choose() (c choices, err error) {
	c = choices{rounds: 3, longRounds: 3, starts: 20, qps: 200, out: os.Getenv("FREEZE_OUT")}
	if c.out == "" {
		c.out = filepath.Join(os.Getenv("CONFORMANCE_REPO"), "docs", "benchmarks")
	}
	grid := os.Getenv("FREEZE_GRID")
	if grid == "quick" {
		c.rounds, c.starts = 1, 3
	}
	for variable, into := range map[string]*int{
		"FREEZE_ROUNDS": &c.rounds, "FREEZE_LONG_ROUNDS": &c.longRounds, "FREEZE_SNAPSHOTTER_QPS": &c.qps,
	} {
		if text := os.Getenv(variable); text != "" {
			if *into, err = positive(text); err != nil {
				return c, fmt.Errorf("%s: %w", variable, err)
			}
		}
	}
	c.longRounds = min(c.longRounds, c.rounds)
	if c.pairs, err = choosePairs(grid, os.Getenv("FREEZE_VOLUMES"), os.Getenv("FREEZE_LATENCIES")); err != nil {
		return c, err
	}
	c.strategies, err = chooseStrategies(os.Getenv("FREEZE_STRATEGIES"))
	return c, err
}

func positive(text string) (int, error) {
	number, err := strconv.Atoi(text)
	if err == nil && number < 1 {
		err = fmt.Errorf("%d is not positive", number)
	}
	return number, err
}

// choosePairs: chosen volumes and latencies are multiplied, and so is everything in the full grid. By default every
// number of volumes is measured at the first latency, and the other latencies at 1 and 8.
func choosePairs(grid, volumes, latencies string) ([]report.Pair, error) {
	counts, times := []int{1, 8}, allLatencies[:1]
	for _, word := range split(volumes) {
		count, err := positive(word)
		if err != nil || count > most {
			return nil, fmt.Errorf("FREEZE_VOLUMES: %q is not a number from 1 to %d", word, most)
		}
		counts = append(counts, count)
	}
	if volumes != "" {
		counts = counts[2:]
	} else if latencies == "" {
		counts = allVolumes
	}
	if latencies != "" {
		times = split(latencies)
		for _, word := range times {
			if length, err := time.ParseDuration(word); word != report.Mix && (err != nil || length <= 0) {
				return nil, fmt.Errorf("FREEZE_LATENCIES: %q is neither a duration like 1.2s nor %q", word, report.Mix)
			}
		}
	}
	switch grid {
	case "full":
		return product(allVolumes, allLatencies), nil
	case "quick":
		return product([]int{1, 2}, []string{"0.3s"}), nil
	case "":
		pairs := product(counts, times)
		if volumes == "" && latencies == "" {
			pairs = append(pairs, product([]int{1, 8}, allLatencies[1:])...)
		}
		return pairs, nil
	}
	return nil, fmt.Errorf("FREEZE_GRID: %q is neither full nor quick", grid)
}

func product(volumes []int, latencies []string) []report.Pair {
	var pairs []report.Pair
	for _, latency := range latencies {
		for _, count := range volumes {
			if pair := (report.Pair{Volumes: count, Latency: latency}); !slices.Contains(pairs, pair) {
				pairs = append(pairs, pair)
			}
		}
	}
	return pairs
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// mix are the latencies of the random mix, 0.2 to 7.0 s in tenths.
func mix() []time.Duration {
	source := rand.New(rand.NewPCG(mixSeed, 0))
	times := make([]time.Duration, most)
	for i := range times {
		times[i] = time.Duration(2+source.IntN(69)) * 100 * time.Millisecond
	}
	return times
}

// latencies are what each volume of a pair takes.
func latencies(pair report.Pair) []time.Duration {
	if pair.Latency == report.Mix {
		return mix()[:pair.Volumes]
	}
	// choosePairs has parsed it before.
	length, _ := time.ParseDuration(pair.Latency)
	return slices.Repeat([]time.Duration{length}, pair.Volumes)
}
