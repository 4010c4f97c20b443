package freeze

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"velero-plugin-csi-fastpoll.test/velero/bench"
	"velero-plugin-csi-fastpoll.test/velero/freeze/report"
)

// strategy is one way of waiting: an installation of Velero, and what its backups need.
type strategy struct {
	report.Strategy
	install bench.Install
	// since is the first Velero that has it; empty: all.
	since string
	// asked: only when it is named.
	asked bool
	// look is when it sees a handle that is there after this time, for the estimate of the remaining time alone.
	look func(handle time.Duration) time.Duration
}

const (
	plugin = "velero-plugin-csi-fastpoll"
	slow   = 5 * time.Second
)

// strategies are in the order of the tables' columns. A further one is a few lines here.
var strategies = []strategy{
	{
		Strategy: report.Strategy{Name: "built-in", Title: "Velero's own action as it comes, which looks every 5 s", Process: bench.RunPlugins},
		install:  bench.Install{WithoutPlugin: true},
		look:     every(slow),
	},
	{
		Strategy: report.Strategy{Name: "built-in-fast", Title: "the same with `CSI_SNAPSHOT_EARLY_FREQUENT_POLLING=true`: every second for 10 s", Process: bench.RunPlugins},
		install:  bench.Install{WithoutPlugin: true, Env: map[string]string{"CSI_SNAPSHOT_EARLY_FREQUENT_POLLING": "true"}},
		since:    "1.18.1",
		look:     every(time.Second),
	},
	{
		Strategy: report.Strategy{Name: "ours", Title: "this plugin with `VELERO_CSI_EARLY_FAST_POLL=true` and nothing else set: every second for 10 s", Ours: true, Process: plugin},
		install:  bench.Install{Env: map[string]string{"VELERO_CSI_EARLY_FAST_POLL": "true"}},
		look:     every(time.Second),
	},
	{
		Strategy: report.Strategy{Name: "ours-250ms", Title: "this plugin with `VELERO_CSI_EARLY_INTERVAL=250ms` as well", Ours: true, Process: plugin},
		install:  bench.Install{Env: map[string]string{"VELERO_CSI_EARLY_FAST_POLL": "true", "VELERO_CSI_EARLY_INTERVAL": "250ms"}},
		asked:    true,
		look:     every(250 * time.Millisecond),
	},
}

// every is a look at once and then at each interval.
func every(interval time.Duration) func(time.Duration) time.Duration {
	return func(handle time.Duration) time.Duration { return (handle + interval).Truncate(interval) }
}

func chooseStrategies(list string) ([]strategy, error) {
	names := split(list)
	var found []strategy
	var known []string
	for _, one := range strategies {
		known = append(known, one.Name)
		switch exists := one.since == "" || bench.VeleroAtLeast(one.since); {
		case slices.Contains(names, one.Name) && !exists:
			return nil, fmt.Errorf("FREEZE_STRATEGIES: %s needs Velero %s", one.Name, one.since)
		case slices.Contains(names, one.Name), len(names) == 0 && exists && !one.asked:
			found = append(found, one)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("FREEZE_STRATEGIES: no strategy %q: there are %s", name, strings.Join(known, ", "))
		}
	}
	return found, nil
}

// expected is how long the backup of these volumes keeps the application frozen, by the looks alone.
func (s strategy) expected(latencies []time.Duration) (sum time.Duration) {
	for _, one := range latencies {
		sum += s.look(one)
	}
	return sum
}
