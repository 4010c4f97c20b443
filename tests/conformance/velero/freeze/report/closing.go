package report

import (
	"fmt"
	"strings"
)

// reproduce is the part of the report that tells how it came about and where it ends.
func (r *Results) reproduce() string {
	rounds := plural(r.Rounds, "round")
	if r.LongRounds < r.Rounds {
		rounds += fmt.Sprintf(" (%d of what freezes for more than %g s by its looks alone)", r.LongRounds, r.LongSeconds)
	}
	return fmt.Sprintf(`## How to reproduce

    tests/conformance/bench

needs Go and Rust, no cluster, no root and no container; `+"`tests/conformance/README.md`"+` tells its flags.

* These results: %s, on %s.
* One backup at a time, the strategies taking turns in an order that rotates.
* snapshot-controller and csi-snapshotter may make %d requests per second. Upstream's default is 5, which hides much of
  the difference where there are several volumes: `+"`--snapshotter-qps 5`"+` shows it.
* The storage is a CSI driver that takes exactly as long as it is told.

## What these figures do not show

* Storage of the real kind, whose time varies, and an API server that is far or busy: here both are on one machine.
* The time a real freeze and thaw take, and a hook's way through a kubelet: the hooks here write a stamp and end.
* The default limit of the snapshotter, which adds to every window with several volumes.
* Several backups at once, and data movement.
* CPU time of processes that end is what they had used at the last look, at most 50 ms before their end.
`, rounds, plural(r.CPUs, "CPU"), r.SnapshotterQPS)
}

// Markers around the part of the repository's README that is made here.
const (
	ReadmeBegin = "<!-- freeze-windows:begin -->\n"
	ReadmeEnd   = "<!-- freeze-windows:end -->\n"
)

// ReadmeBlock is the few numbers that matter, as they are in the report, and in the repository's
// README between the markers.
func ReadmeBlock(r *Results) string {
	var text strings.Builder
	latency, volumes := r.reference()
	fmt.Fprintf(&text, "Seconds from freeze to thaw on storage that takes %s per snapshot, median of %s (maximum; a figure alone is of one\n"+
		"backup), Velero %s:\n\n", amount(latency), plural(r.Rounds, "round"), r.Velero)
	r.windows(&text, column{"volumes", func(p Pair) string { return fmt.Sprint(p.Volumes) }}, pairsOf(latency, volumes))

	pair := r.typical()
	fmt.Fprintf(&text, "What the plugin processes cost, for %s (requests per PVC while frozen; CPU and peak memory\n"+
		"of the process that is there during the freeze, from its start to its end):\n\n", plural(pair.Volumes, "volume"))
	var rows [][]string
	cells := func(strategy Strategy, title string, programs ...string) []string {
		row := []string{strategy.Name + ": " + title}
		for _, one := range []struct {
			format string
			of     func(Sample, string) (float64, bool)
		}{{"%.1f", frozen}, {"%.0f", cpu}, {"%.0f", memory}} {
			f := r.over(strategy.Name, pair, together(programs, one.of))
			row = append(row, number(f, f.median, one.format))
		}
		return row
	}
	for _, strategy := range r.Strategies {
		programs := r.programs(strategy)
		for _, program := range programs {
			start := summarize(r.Handshakes[program])
			rows = append(rows, append(cells(strategy, "`"+program+"`", program), number(start, start.median, "%.0f")))
		}
		if len(programs) > 1 {
			rows = append(rows, append(cells(strategy, "both", programs...), ""))
		}
	}
	table(&text, []string{"strategy: process", "API requests", "CPU ms", "peak MiB", "exec → handshake ms"}, rows)
	return text.String()
}

// ReplaceReadmeBlock puts a block between the markers of a text.
func ReplaceReadmeBlock(readme, block string) (string, error) {
	before, rest, begins := strings.Cut(readme, ReadmeBegin)
	_, after, ends := strings.Cut(rest, ReadmeEnd)
	if !begins || !ends {
		return "", fmt.Errorf("no %s … %s", strings.TrimSpace(ReadmeBegin), strings.TrimSpace(ReadmeEnd))
	}
	return before + ReadmeBegin + block + ReadmeEnd + after, nil
}

// PassMark is ours ÷ each other strategy for every pair, for a terminal.
func PassMark(r *Results) string {
	ours, others := r.ours()
	var text strings.Builder
	for _, pair := range r.pairs() {
		fmt.Fprintf(&text, "%-7s %3d %-7s", pair.Latency, pair.Volumes, noun(pair.Volumes, "volume"))
		for _, our := range ours {
			for _, other := range others {
				fmt.Fprintf(&text, "  %s ÷ %s %s", our.Name, other.Name, quotient(ratio(r.window(our.Name, pair), r.window(other.Name, pair))))
			}
		}
		text.WriteString("\n")
	}
	return text.String()
}
