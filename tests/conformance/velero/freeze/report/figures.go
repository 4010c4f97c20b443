package report

import (
	"cmp"
	"slices"
	"time"
)

// figure is one measured thing over the rounds. Count zero: it was not measured.
type figure struct {
	median, max float64
	count       int
}

// summarize takes the middle one, or the mean of the middle two.
func summarize(values []float64) figure {
	if len(values) == 0 {
		return figure{}
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return figure{median: median, max: sorted[len(sorted)-1], count: len(sorted)}
}

// over summarizes something of the samples of one strategy with one pair; `of` says whether a sample has it.
func (r *Results) over(strategy string, pair Pair, of func(Sample) (float64, bool)) figure {
	var values []float64
	for _, sample := range r.Samples {
		if sample.Strategy != strategy || sample.Pair != pair {
			continue
		}
		if value, has := of(sample); has {
			values = append(values, value)
		}
	}
	return summarize(values)
}

func (r *Results) window(strategy string, pair Pair) figure {
	return r.over(strategy, pair, func(s Sample) (float64, bool) { return s.WindowSeconds, true })
}

// ratio is zero when one of the two was not measured.
func ratio(ours, other figure) float64 {
	if ours.count == 0 || other.count == 0 {
		return 0
	}
	return ours.median / other.median
}

func (r *Results) ours() (ours, others []Strategy) {
	for _, strategy := range r.Strategies {
		if strategy.Ours {
			ours = append(ours, strategy)
		} else {
			others = append(others, strategy)
		}
	}
	return ours, others
}

// pairs are all that were measured: by latency, the mix last, then by volumes.
func (r *Results) pairs() []Pair {
	var pairs []Pair
	for _, sample := range r.Samples {
		if !slices.Contains(pairs, sample.Pair) {
			pairs = append(pairs, sample.Pair)
		}
	}
	slices.SortFunc(pairs, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(length(a.Latency), length(b.Latency)), cmp.Compare(a.Volumes, b.Volumes))
	})
	return pairs
}

func length(latency string) time.Duration {
	parsed, err := time.ParseDuration(latency)
	if err != nil {
		return time.Duration(1<<63 - 1)
	}
	return parsed
}

// reference is the latency that was measured with the most numbers of volumes, which are returned with it.
func (r *Results) reference() (latency string, volumes []int) {
	byLatency := map[string][]int{}
	for _, pair := range r.pairs() {
		byLatency[pair.Latency] = append(byLatency[pair.Latency], pair.Volumes)
		if len(byLatency[pair.Latency]) > len(volumes) {
			latency, volumes = pair.Latency, byLatency[pair.Latency]
		}
	}
	return latency, volumes
}

// typical is the pair that a few numbers are shown for: the reference latency with 8 volumes, or with the most.
func (r *Results) typical() Pair {
	latency, volumes := r.reference()
	if slices.Contains(volumes, 8) {
		return Pair{8, latency}
	}
	return Pair{volumes[len(volumes)-1], latency}
}

// programs are the plugin processes that worked for a strategy: its own first, then those beside it.
func (r *Results) programs(strategy Strategy) []string {
	programs := []string{strategy.Process}
	var others []string
	for _, sample := range r.Samples {
		if sample.Strategy != strategy.Name {
			continue
		}
		for program := range sample.Requests {
			if program != strategy.Process && !slices.Contains(others, program) {
				others = append(others, program)
			}
		}
	}
	slices.Sort(others)
	return append(programs, others...)
}

func (s Sample) requests(program string) float64 {
	sum := 0
	for _, count := range s.Requests[program] {
		sum += count
	}
	return float64(sum)
}
