package report

// madeUp are results with windows as they could be: per volume 5 s, 2.1 s and 2 s, in the second of three rounds a
// tenth of a second more, in the third a second more.
func madeUp(volumes ...int) *Results {
	r := &Results{
		Velero: "v1.0.0", Snapshotter: "v2.0.0", Kubernetes: "v3.0.0", Plugin: "plugin 4.0.0", CPUs: 2, SnapshotterQPS: 200,
		Rounds: 3, LongRounds: 3, LongSeconds: 60,
		Strategies: []Strategy{
			{Name: "slow", Title: "looks seldom", Process: "theirs"},
			{Name: "fast", Title: "looks often", Process: "theirs"},
			{Name: "ours", Title: "looks well", Process: "ours", Ours: true},
		},
		Handshakes: map[string][]float64{"theirs": {60, 50, 70}, "ours": {3, 4, 2}},
	}
	for _, count := range volumes {
		for strategy, each := range map[string]float64{"slow": 5, "fast": 2.1, "ours": 2} {
			for round, more := range []float64{0, 0.1, 1} {
				r.Samples = append(r.Samples, backup(strategy, Pair{count, "1.2s"}, round+1, float64(count)*each+more))
			}
		}
	}
	return r
}

func backup(strategy string, pair Pair, round int, window float64) Sample {
	sample := Sample{Pair: pair, Strategy: strategy, Round: round, WindowSeconds: window, BackupSeconds: window + 1,
		Requests:       map[string]map[string]int{"theirs": {"get things": 3, "create things": pair.Volumes}},
		FrozenRequests: map[string]int{"theirs": pair.Volumes},
		Processes:      map[string]Process{"theirs": {CPUSeconds: 0.1, PeakMiB: 90}},
	}
	if strategy == "ours" {
		sample.Requests["ours"] = map[string]int{"get things": 2 * pair.Volumes}
		sample.FrozenRequests["ours"] = pair.Volumes
		sample.Processes["ours"] = Process{CPUSeconds: 0.01, PeakMiB: 10}
	}
	return sample
}

func without(r *Results, drop func(Sample) bool) *Results {
	var kept []Sample
	for _, sample := range r.Samples {
		if !drop(sample) {
			kept = append(kept, sample)
		}
	}
	r.Samples = kept
	return r
}
